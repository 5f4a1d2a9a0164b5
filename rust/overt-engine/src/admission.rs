//! Requests come and go: mail from the API process, admission, holds, aborts.

use overt_link::{Failure, Refused, Submit, ToEngine};
use overt_sched::{NewSeq, Refusal};

use crate::engine::Engine;
use crate::request::Request;

impl Engine {
    pub(crate) fn read_mail(&mut self, now_us: u64) {
        let mut mail = std::mem::take(&mut self.mail);
        self.inbox.take(&mut mail);
        for message in mail.drain(..) {
            match message {
                ToEngine::Submit(submit) => self.admit(&submit, now_us),
                ToEngine::Abort { request } => self.remove(request),
                ToEngine::Hold { request, on } => self.hold(request, on),
            }
        }
        self.mail = mail;
    }

    fn admit(&mut self, submit: &Submit, now_us: u64) {
        let first = self.next_seq;
        let count = submit.prompts.len().saturating_mul(submit.n as usize);
        let most = self.model.most_sequences;
        if count > most {
            let reason =
                format!("it has {count} sequences, and at most {most} can run and wait here");
            self.news.refused.push((submit.request, Refused::Never(reason)));
            return;
        }
        if let Err(refusal) = self.scheduler.check_room(count) {
            return self.refuse(submit.request, &refusal);
        }
        let sequences = Request::sequences(submit, first);
        let request = Request::new(submit, first);
        let params = &submit.params;
        for (seq, prompt) in sequences {
            let added = self.scheduler.add(
                NewSeq {
                    id: seq,
                    prompt,
                    max_tokens: params.max_tokens,
                    priority: params.priority,
                    key: params.key,
                    user: params.user,
                    salt: params.salt,
                    read_prefix: true,
                    probe: false,
                },
                now_us,
            );
            if let Err(refusal) = added {
                for added in first..seq {
                    self.scheduler.abort(added);
                    self.owners.remove(&added);
                }
                return self.refuse(submit.request, &refusal);
            }
            let index = u32::try_from(seq - first).unwrap_or(u32::MAX);
            self.owners.insert(seq, (submit.request, index));
            if request.choices[index as usize].follows {
                self.scheduler.hold(seq, true);
            }
        }
        self.next_seq += request.choices.len() as u64;
        self.requests.insert(submit.request, request);
        self.news.admitted.push(submit.request);
    }

    fn refuse(&mut self, request: u64, refusal: &Refusal) {
        let reason = match refusal {
            Refusal::QueueFull { limit } => Refused::QueueFull { limit: *limit },
            other => Refused::Never(other.to_string()),
        };
        self.news.refused.push((request, reason));
    }

    fn hold(&mut self, id: u64, on: bool) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        request.held = on;
        for choice in request.choices.iter().filter(|choice| !choice.done) {
            self.scheduler.hold(choice.seq, on || choice.follows);
        }
    }

    /// Choice 0 of a prompt has its first token: the others may share its blocks now.
    pub(crate) fn release_followers(&mut self, id: u64, leader: u32) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        let held = request.held;
        for choice in request.choices.iter_mut().skip(leader as usize + 1) {
            if choice.number == 0 {
                break;
            }
            choice.follows = false;
            self.scheduler.hold(choice.seq, held);
        }
    }

    fn remove(&mut self, id: u64) {
        let Some(request) = self.requests.remove(&id) else { return };
        for choice in request.choices {
            self.scheduler.abort(choice.seq);
            self.owners.remove(&choice.seq);
        }
    }

    pub(crate) fn fail_request(&mut self, id: u64, failure: Failure) {
        self.remove(id);
        self.news.rows.retain(|row| row.request != id);
        self.news.failed.push((id, failure));
    }
}
