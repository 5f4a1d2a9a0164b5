//! Requests come and go: mail from the API process, admission, holds, aborts.

use std::sync::Arc;

use overt_grammar::CompileError;
use overt_link::{Failure, Params, Refused, Row, Started, Submit};
use overt_sched::{NewSeq, Refusal, SeqId};

use crate::constraint::Constraint;
use crate::engine::Engine;
use crate::inbox::{Mail, Prepared};
use crate::request::Request;

impl Engine {
    pub(crate) fn read_mail(&mut self, now_us: u64) {
        let mut mail = std::mem::take(&mut self.mail);
        self.inbox.take(&mut mail);
        for mail in mail.drain(..) {
            match mail {
                Mail::New { submit, prepared } => self.admit(&submit, *prepared, now_us),
                Mail::Abort(request) => self.remove(request),
                Mail::Hold { request, on } => self.hold(request, on),
                Mail::End { request, choice } => self.end(request, choice),
            }
        }
        self.mail = mail;
    }

    fn admit(&mut self, submit: &Submit, prepared: Prepared, now_us: u64) {
        self.now = now_us;
        let first = self.next_seq;
        // A search begins with one sequence a prompt and grows to n: it has its room from the start.
        let count = submit.prompts.len().saturating_mul(submit.n as usize);
        let most = self.model.most_sequences;
        if count > most {
            let reason =
                format!("it has {count} sequences, and at most {most} can run and wait here");
            self.news.refused.push((submit.request, Refused::Never(reason)));
            return;
        }
        if let Err(refusal) = self.scheduler.check_room(count)
            && !submit.probe
        {
            return self.refuse(submit.request, &refusal);
        }
        let sequences = Request::sequences(submit, first);
        let stop = match prepared.stop {
            Ok(stop) => stop,
            Err(reason) => {
                self.news.refused.push((submit.request, Refused::Never(reason)));
                return;
            }
        };
        let matcher = match prepared.grammar.transpose() {
            Ok(matcher) => matcher,
            Err(CompileError { param, message }) => {
                self.news.refused.push((submit.request, Refused::Grammar { param, message }));
                return;
            }
        };
        let constraint = Constraint::new(matcher, submit.params.thinking.as_deref());
        let request = Request::new(submit, first, &self.model, &stop, &constraint);
        let params = &submit.params;
        let total = sequences.len() as u64;
        for (seq, prompt) in sequences {
            let index = u32::try_from(seq - first).unwrap_or(u32::MAX);
            // A search's sequence number i is of prompt i, and its choices are numbered like anyone's.
            let choice = if request.searches.is_empty() { index } else { index * request.n };
            let whole = request.choices[choice as usize].prompt_asked.is_none();
            let max_tokens = if request.searches.is_empty() { params.max_tokens } else { 1 };
            let mut new = new_sequence(seq, prompt, params, max_tokens, whole);
            new.probe = submit.probe;
            if let Err(refusal) = self.scheduler.add(new, now_us) {
                for added in first..seq {
                    self.scheduler.abort(added);
                    self.owners.remove(&added);
                }
                return self.refuse(submit.request, &refusal);
            }
            self.owners.insert(seq, (submit.request, choice));
            if request.choices[choice as usize].follows {
                self.scheduler.hold(seq, true);
            }
        }
        self.next_seq += total;
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
        if !request.searches.is_empty() {
            for seq in request.live_sequences() {
                self.scheduler.hold(seq, on);
            }
            return;
        }
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

    /// Nothing more is wanted of a choice: its place is free for others.
    fn end(&mut self, id: u64, index: u32) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        let Some(choice) = request.choices.get_mut(index as usize) else { return };
        // A search's choices have no sequences of their own.
        if choice.done || !request.searches.is_empty() {
            return;
        }
        let (seq, leads) = (choice.seq, choice.number == 0 && choice.made == 0);
        self.scheduler.abort(seq);
        self.owners.remove(&seq);
        choice.done = true;
        request.live -= 1;
        if request.live == 0 {
            self.remove(id);
        } else if leads {
            self.release_followers(id, index);
        }
    }

    fn remove(&mut self, id: u64) {
        let Some(request) = self.requests.remove(&id) else { return };
        for seq in request.live_sequences() {
            self.scheduler.abort(seq);
            self.owners.remove(&seq);
        }
        for choice in &request.choices {
            self.owners.remove(&choice.seq);
        }
    }

    /// All texts of a search have their continuations: the next step's texts, or the end.
    pub(crate) fn grow(&mut self, id: u64, prompt: u32) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        let Some(search) = request.searches.get_mut(prompt as usize) else { return };
        if search.advance(&request.params, &self.model) {
            search.beams.clear();
            return self.tell_texts(id, prompt);
        }
        for index in 0..search.beams.len() {
            let seq = self.next_seq;
            self.next_seq += 1;
            search.beams[index].seq = seq;
            let mut new = new_sequence(seq, search.input(index), &request.params, 1, true);
            new.has_room = true;
            if let Err(refusal) = self.scheduler.add(new, self.now) {
                self.remove(id);
                return self.refuse(id, &refusal);
            }
            let choice = prompt * request.n + u32::try_from(index).unwrap_or(u32::MAX);
            self.owners.insert(seq, (id, choice));
            self.scheduler.hold(seq, request.held);
        }
    }

    /// A search is over: its texts are told as its choices' tokens.
    fn tell_texts(&mut self, id: u64, prompt: u32) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        let Some(search) = request.searches.get_mut(prompt as usize) else { return };
        let tells = request.params.logprobs.is_some();
        for (choice, text) in (prompt * request.n..).zip(search.texts()) {
            self.news.started.push(Started {
                request: id,
                choice,
                cached_tokens: search.cached.unwrap_or(0),
            });
            let tokens = text.tokens();
            let last = tokens.len() - 1;
            for (at, (token, told)) in tokens.into_iter().enumerate() {
                self.news.rows.push(Row {
                    request: id,
                    choice,
                    token,
                    finish: (at == last).then_some(text.finish),
                    logprobs: tells.then(|| Box::new(told)),
                });
            }
            request.choices[choice as usize].done = true;
            request.live -= 1;
        }
        // Fewer texts than choices can only be where the vocabulary is smaller than the width.
        let end = ((prompt + 1) * request.n) as usize;
        if request.choices[(prompt * request.n) as usize..end].iter().any(|choice| !choice.done) {
            self.fail_request(id, Failure::NothingAllowed);
        }
    }

    pub(crate) fn fail_request(&mut self, id: u64, failure: Failure) {
        self.remove(id);
        self.news.rows.retain(|row| row.request != id);
        self.news.failed.push((id, failure));
    }
}

fn new_sequence(
    id: SeqId,
    prompt: Arc<[u32]>,
    params: &Params,
    max_tokens: u32,
    read_prefix: bool,
) -> NewSeq {
    NewSeq {
        id,
        prompt,
        max_tokens,
        priority: params.priority,
        key: params.key,
        user: params.user,
        salt: params.salt,
        // What is read from the cache has no logits: a prompt whose log probabilities are wanted is computed.
        read_prefix,
        probe: false,
        has_room: false,
    }
}
