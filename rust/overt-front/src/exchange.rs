//! One HTTP answer: its choices, its frames and the bytes that wait for the connection.

use std::sync::Arc;
use std::time::Instant;

use overt_link::{Finish, Logprobs, PromptLogprobs, Row, Started};
use overt_parse::Events;
use overt_wire::{
    Head, Options, Protocol, TokenLogprobs, Usage, Writer, chunk, error_body, writer,
};

use crate::adapted::Adapted;
use crate::choice::{Choice, Scratch};
use crate::error::RequestError;
use crate::form::Form;
use crate::generation::Generation;
use crate::metrics::Stats;
use crate::model::ServedModel;
use crate::telling::Speller;

pub(crate) struct Exchange {
    pub(crate) generation: Arc<Generation>,
    protocol: Protocol,
    head: Head,
    writer: Box<dyn Writer>,
    choices: Vec<Choice>,
    /// Prompts that the answer tells of.
    prompts: Vec<Told>,
    live: usize,
    usage: Usage,
    /// Fields that were changed for the prompt's sake, until the head tells them.
    adapted: Vec<Adapted>,
    /// Bytes nobody took yet.
    outbox: Vec<u8>,
    chunked: bool,
    arrived: Instant,
    /// The client has the status line: later errors are frames.
    head_sent: bool,
    /// The status, when it is not 200; set before the head only.
    status: u16,
    pub(crate) ended: bool,
    /// Listed among the ready.
    pub(crate) listed: bool,
    /// The connection takes no bytes now. Never so once ended: what is said last leaves at once, and the request
    /// with it.
    blocked: bool,
    /// When the engine was asked.
    pub(crate) sent: Option<Instant>,
    /// Since when the engine is told to hold.
    pub(crate) lagging: Option<Instant>,
}

/// A prompt that the answer tells of.
struct Told {
    tokens: Vec<u32>,
    /// Its text, where it is echoed.
    echo: String,
    /// Log probabilities of its tokens from the second on, as far as they came.
    logprobs: Vec<Logprobs>,
    /// Its entries before an answer, once they are written.
    entries: Option<Arc<[TokenLogprobs]>>,
}

impl Told {
    /// What is told of its tokens before an answer: the same before every choice.
    fn entries(
        &mut self,
        speller: &Speller,
        model: &ServedModel,
        alternatives: Option<u32>,
    ) -> Arc<[TokenLogprobs]> {
        let made = self.entries.get_or_insert_with(|| {
            let Some(alternatives) = alternatives else { return Arc::default() };
            let mut entries =
                speller.echo(&model.tokenizer, &self.tokens, &self.echo, &self.logprobs);
            for entry in &mut entries {
                entry.top.truncate(alternatives as usize);
            }
            entries.into()
        });
        Arc::clone(made)
    }
}

/// What leaves an exchange in one write.
pub(crate) struct Taken {
    pub(crate) ended: bool,
    /// The status with the first bytes, 0 with later ones.
    pub(crate) status: u16,
    /// Fields that were changed, with the first bytes.
    pub(crate) adapted: Vec<Adapted>,
}

impl Exchange {
    pub(crate) fn new(
        generation: Arc<Generation>,
        protocol: Protocol,
        head: Head,
        chunked: bool,
    ) -> Self {
        Self {
            chunked: chunked && generation.stream,
            // Until the prompts are counted there are no choices, only errors to write.
            writer: make_writer(&generation, protocol, head.clone(), 0),
            generation,
            protocol,
            head,
            choices: Vec::new(),
            prompts: Vec::new(),
            live: 0,
            usage: Usage::default(),
            adapted: Vec::new(),
            outbox: Vec::new(),
            arrived: Instant::now(),
            head_sent: false,
            status: 200,
            ended: false,
            listed: false,
            blocked: false,
            sent: None,
            lagging: None,
        }
    }

    /// The request is on its way to the engine.
    pub(crate) fn begin(
        &mut self,
        choices: Vec<Choice>,
        prompt_tokens: u64,
        adapted: Vec<Adapted>,
        form: &Form,
    ) {
        self.sent = Some(Instant::now());
        self.live = choices.len();
        let count = u32::try_from(choices.len()).unwrap_or(u32::MAX);
        let count = count.saturating_mul(self.copies());
        let mut head = self.head.clone();
        head.extra = extra(&self.generation, &adapted);
        self.adapted = adapted;
        self.writer = make_writer(&self.generation, self.protocol, head, count);
        self.writer.custom_tools(&form.custom);
        self.choices = choices;
        self.usage.prompt_tokens = prompt_tokens;
        self.writer.usage(&self.usage);
    }

    /// Times that each made choice is answered.
    fn copies(&self) -> u32 {
        self.generation.told() / self.generation.made()
    }

    /// The answer tells of its prompts.
    pub(crate) fn keep_prompts(&mut self, prompts: Vec<Vec<u32>>, echoes: Vec<String>) {
        for (index, prompt) in (0..).zip(&prompts) {
            self.writer.prompt_tokens(index, prompt);
        }
        let echoes = echoes.into_iter().chain(std::iter::repeat_with(String::new));
        self.prompts = prompts
            .into_iter()
            .zip(echoes)
            .map(|(tokens, echo)| Told { tokens, echo, logprobs: Vec::new(), entries: None })
            .collect();
    }

    /// The answer tells its prompt's text.
    pub(crate) fn prompt_text(&mut self, text: &str) {
        self.writer.prompt_text(text);
    }

    /// More of a prompt's log probabilities, in order.
    pub(crate) fn prompt_logprobs(&mut self, told: &PromptLogprobs) {
        if let Some(prompt) = self.prompts.get_mut(told.prompt as usize) {
            prompt.logprobs.extend_from_slice(&told.tokens);
        }
    }

    pub(crate) fn prompt_tokens(&self) -> u64 {
        self.usage.prompt_tokens
    }

    pub(crate) fn started(&mut self, started: &Started) {
        let first_of_prompt = started.choice.is_multiple_of(self.generation.made());
        // A prompt counts once, whatever n is.
        if first_of_prompt {
            self.usage.cached_tokens += u64::from(started.cached_tokens);
        }
    }

    /// One token: detokenise, parse, frame. Whether its choice is over, though the engine would go on.
    pub(crate) fn token(
        &mut self,
        row: &Row,
        now: Instant,
        model: &ServedModel,
        scratch: &mut Scratch,
        stats: &mut Stats,
    ) -> bool {
        let Some(choice) = self.choices.get_mut(row.choice as usize) else { return false };
        if choice.done || self.ended {
            return false;
        }
        let echo_alone = self.generation.max_tokens == Some(0);
        if !echo_alone {
            self.usage.completion_tokens += 1;
            stats.generation_tokens += 1;
        }
        match choice.last_token.replace(now) {
            Some(last) => stats.inter_token.add(now - last),
            None if self.usage.completion_tokens == 1 => {
                stats.ttft.add(now.saturating_duration_since(self.arrived));
            }
            None => {}
        }
        if !choice.begun {
            choice.begun = true;
            self.begin_choice(row.choice, model);
        }
        let copies = row.choice * self.copies()..(row.choice + 1) * self.copies();
        let Some(choice) = self.choices.get_mut(row.choice as usize) else { return false };
        if echo_alone {
            choice.done = true;
        } else {
            let before = choice.reasoning_tokens();
            choice.push(row, &self.generation, scratch);
            if let (Some(before), Some(after)) = (before, choice.reasoning_tokens()) {
                *self.usage.reasoning_tokens.get_or_insert(0) += after - before;
            }
            self.writer.usage(&self.usage);
            for copy in copies.clone() {
                self.writer.tokens(copy, &[row.token]);
                if !scratch.events.is_empty() || !scratch.told.is_empty() {
                    self.writer.events(copy, &scratch.events, &scratch.told, &mut self.outbox);
                }
            }
        }
        let over = choice.over && row.finish.is_none();
        if let Some(finish) = row.finish.or(over.then_some(Finish::Complete)) {
            let finish = if echo_alone { Finish::Length } else { finish };
            let (finish, reason) = choice.outcome(finish, &self.generation);
            for copy in copies {
                self.writer.finish(copy, finish, reason.as_ref(), &mut self.outbox);
            }
            self.live -= 1;
            if self.live == 0 {
                self.end(model);
            }
        }
        over
    }

    /// The role, or the prompt that is echoed.
    fn begin_choice(&mut self, choice: u32, model: &ServedModel) {
        let copies = choice * self.copies()..(choice + 1) * self.copies();
        let prompt = (choice / self.generation.made()) as usize;
        let speller = self.speller(model);
        let alternatives = self.generation.logprobs;
        let echoing = self.generation.echo;
        let echoed = self.prompts.get_mut(prompt).filter(|_| echoing).map(|told| {
            let mut events = Events::new();
            events.text(&told.echo);
            (events, told.entries(&speller, model, alternatives))
        });
        for copy in copies {
            self.writer.begin(copy, &mut self.outbox);
            if let Some((events, entries)) = &echoed {
                self.writer.events(copy, events, entries, &mut self.outbox);
            }
        }
    }

    fn speller(&self, model: &ServedModel) -> Speller {
        Speller::new(&model.tokenizer, self.protocol, self.generation.skip_special_tokens)
    }

    fn end(&mut self, model: &ServedModel) {
        if let Some(alternatives) = self.generation.prompt_logprobs {
            let speller = self.speller(model);
            for (index, prompt) in (0..).zip(&mut self.prompts) {
                for told in &mut prompt.logprobs {
                    told.top.truncate(alternatives as usize);
                }
                let tokens = speller.prompt(&prompt.tokens, &prompt.logprobs);
                self.writer.prompt_logprobs(index, &tokens, &mut self.outbox);
            }
        }
        if self.generation.picks() {
            let order = self.likeliest();
            self.writer.select(&order);
        }
        self.writer.end(&self.usage, &mut self.outbox);
        self.ended = true;
    }

    /// The `n` likeliest choices of each prompt, the likeliest first.
    fn likeliest(&self) -> Vec<u32> {
        let (n, made) = (self.generation.n as usize, self.generation.made() as usize);
        let mut order = Vec::new();
        for (prompt, choices) in self.choices.chunks(made).enumerate() {
            let mut numbers: Vec<usize> = (0..choices.len()).collect();
            numbers.sort_by(|one, other| {
                choices[*other].likelihood().total_cmp(&choices[*one].likelihood())
            });
            let chosen = numbers.into_iter().take(n).map(|number| prompt * made + number);
            order.extend(chosen.map(|number| u32::try_from(number).unwrap_or(u32::MAX)));
        }
        order
    }

    /// Ends the answer with an error: a status before the head, a frame after it.
    pub(crate) fn fail(&mut self, error: &RequestError) {
        if self.ended {
            return;
        }
        self.ended = true;
        if self.generation.stream && (self.head_sent || !self.outbox.is_empty()) {
            self.writer.error(&error.body, &mut self.outbox);
        } else {
            self.status = error.body.status;
            self.chunked = false;
            self.outbox = error_body(&error.body, self.generation.shape.errors);
        }
    }

    /// The head goes out before the first token. An answer that has ended meanwhile keeps its status.
    /// Returns the fields that were changed, for the head to say so.
    pub(crate) fn head_goes(&mut self) -> Vec<Adapted> {
        self.head_sent |= !self.ended;
        std::mem::take(&mut self.adapted)
    }

    pub(crate) fn has_bytes(&self) -> bool {
        !self.outbox.is_empty() || self.ended
    }

    /// The connection takes no bytes, or does again.
    pub(crate) fn block(&mut self, on: bool) {
        self.blocked = on;
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked && !self.ended
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.outbox.len()
    }

    /// Moves what waits to `out`.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) -> Taken {
        if self.chunked && !self.outbox.is_empty() {
            chunk(&self.outbox, out);
        } else {
            out.extend_from_slice(&self.outbox);
        }
        self.outbox.clear();
        let status = if self.head_sent { 0 } else { self.status };
        self.head_sent = true;
        Taken { ended: self.ended, status, adapted: std::mem::take(&mut self.adapted) }
    }
}

/// JSON members of the whole answer: the caller's own, and the report on the request's fields.
fn extra(generation: &Generation, adapted: &[Adapted]) -> String {
    let mut extra = generation.extra.clone();
    let Some(report) = &generation.report else { return extra };
    if !extra.is_empty() {
        extra.push(',');
    }
    extra.push_str("\"overt\":{\"effects\":[");
    extra.push_str(&report.effects);
    for (index, one) in adapted.iter().enumerate() {
        if index > 0 || !report.effects.is_empty() {
            extra.push(',');
        }
        extra.push_str(&one.told().to_string());
    }
    extra.push(']');
    if !report.more.is_empty() {
        extra.push(',');
        extra.push_str(&report.more);
    }
    extra.push('}');
    extra
}

fn make_writer(
    generation: &Generation,
    protocol: Protocol,
    head: Head,
    choices: u32,
) -> Box<dyn Writer> {
    let options = Options {
        include_usage: generation.include_usage,
        logprobs: generation.logprobs.is_some(),
        tokens_as_ids: generation.tokens_as_ids,
        continuous_usage: generation.continuous_usage,
        token_ids: generation.token_ids,
        obfuscation: generation.obfuscation,
        functions: generation.functions,
        shape: generation.shape,
    };
    writer(protocol, generation.stream, head, options, choices, generation.told())
}
