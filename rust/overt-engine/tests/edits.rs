//! What a step is told to change of its rows' logits and to tell of them, and what comes of its answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

mod common;

use overt_engine::{Config, EDITS_HEADER_WORDS, FLAG_PROMPT_LOGPROBS};
use overt_grammar::{Constraint, Options, Source, source};
use overt_link::{Failure, Finish, Logprobs, Params, Refused, Submit, ThinkingBudget, ToEngine};
use overt_sched::arena::header_index;

use common::{END, Server, assert_idle, bytes, config, params, texts};

/// A step's edits, read as the model's side reads them.
#[derive(Debug, Default, PartialEq)]
struct Edits {
    bias: Vec<(i32, i32, f32)>,
    penalty: Vec<(i32, i32, i32)>,
    allowed: Vec<(i32, Vec<i32>)>,
    prompt: Vec<(i32, i32)>,
    prompt_top: i32,
    logprob_rows: Vec<i32>,
    top: i32,
    /// Rows and the tokens that their grammars allow.
    masks: Vec<(i32, Vec<u32>)>,
}

/// The tokens whose bits are set.
fn tokens_of(words: &[i32]) -> Vec<u32> {
    let bits = (0..).zip(words).flat_map(|(at, word)| {
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit)
    });
    bits.collect()
}

fn edits(server: &mut Server, plan: u64) -> Edits {
    let Some(bytes) = server.engine.edits(plan) else { return Edits::default() };
    let words: Vec<i32> =
        bytes.chunks(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect();
    let (header, mut rest) = words.split_at(EDITS_HEADER_WORDS);
    let size = |at: usize| usize::try_from(header[at]).unwrap();
    let mut column = |length: usize| {
        let (column, more) = rest.split_at(length);
        rest = more;
        column.to_vec()
    };
    let (rows, tokens, values) = (column(size(0)), column(size(0)), column(size(0)));
    let float = |bits: i32| f32::from_bits(bits.cast_unsigned());
    let bias = (0..size(0)).map(|at| (rows[at], tokens[at], float(values[at]))).collect();
    let (rows, tokens, counts) = (column(size(1)), column(size(1)), column(size(1)));
    let penalty = (0..size(1)).map(|at| (rows[at], tokens[at], counts[at])).collect();
    let (rows, starts, ids) = (column(size(2)), column(size(2) + 1), column(size(3)));
    let place = |at: usize| usize::try_from(starts[at]).unwrap();
    let allowed =
        (0..size(2)).map(|at| (rows[at], ids[place(at)..place(at + 1)].to_vec())).collect();
    let (positions, targets) = (column(size(4)), column(size(4)));
    let prompt = positions.into_iter().zip(targets).collect();
    let logprob_rows = column(size(6));
    let (rows, words) = (column(size(8)), column(size(8) * size(9)));
    let mask = |at: usize| words[at * size(9)..(at + 1) * size(9)].to_vec();
    let masks = (0..size(8)).map(|at| (rows[at], tokens_of(&mask(at)))).collect();
    assert_eq!(column(0).len(), rest.len(), "nothing is left over");
    Edits {
        bias,
        penalty,
        allowed,
        prompt,
        prompt_top: header[5],
        logprob_rows,
        top: header[7],
        masks,
    }
}

fn bits(value: f32) -> i32 {
    value.to_bits().cast_signed()
}

#[test]
fn plain_rows_need_no_edits() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("p")], 1, params());
    let plan = server.schedule().unwrap();
    assert_eq!(server.engine.edits(plan), None);
}

#[test]
fn biases_and_bans_stand_once_a_token_in_the_rows_that_have_them() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("plain")], 1, params());
    let edited = Params {
        logit_bias: vec![(97, 1.5), (98, -2.0)],
        bad_words: vec![vec![98], vec![99, 100], vec![99, 101]],
        min_tokens: 2,
        stop_token_ids: vec![120],
        allowed_token_ids: Some(vec![97, 99, 100]),
        ..params()
    };
    server.submit(2, vec![bytes("edited")], 1, edited);
    let ban = |token: u32| (1, token.cast_signed(), f32::NEG_INFINITY);
    let plan = server.schedule().unwrap();
    let first = edits(&mut server, plan);
    assert_eq!(first.bias, [ban(98), ban(120), ban(END), (1, 97, 1.5)]);
    assert_eq!(first.allowed, [(1, vec![97, 99, 100])]);
    server.decide(plan, &[97, 99]);
    let plan = server.schedule().unwrap();
    let second = edits(&mut server, plan);
    assert_eq!(second.bias, [ban(98), ban(100), ban(101), ban(120), ban(END), (1, 97, 1.5)]);
    server.decide(plan, &[97, 97]);
    let plan = server.schedule().unwrap();
    assert_eq!(edits(&mut server, plan).bias, [ban(98), (1, 97, 1.5)], "the end is allowed now");
}

#[test]
fn penalties_count_what_was_made_and_know_the_prompt_where_it_repeats() {
    for (repetition_penalty, prompt) in [(1.0, vec![]), (1.2, vec![(0, 112, 0), (0, 113, 0)])] {
        let mut server = Server::new(&config());
        let penalised = Params { repetition_penalty, presence_penalty: 0.5, ..params() };
        server.submit(1, vec![bytes("pqp")], 1, penalised);
        let plan = server.schedule().unwrap();
        assert_eq!(edits(&mut server, plan).penalty, prompt);
        server.decide(plan, &[113]);
        for _ in 0..2 {
            let plan = server.schedule().unwrap();
            server.decide(plan, &[97]);
        }
        let plan = server.schedule().unwrap();
        let mut expected = prompt.clone();
        match expected.get_mut(1) {
            Some(entry) => entry.2 = 1,
            None => expected.push((0, 113, 1)),
        }
        expected.push((0, 97, 2));
        assert_eq!(edits(&mut server, plan).penalty, expected);
    }
}

#[test]
fn log_probabilities_come_back_with_the_tokens_of_those_who_asked() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("a")], 1, Params { logprobs: Some(2), ..params() });
    server.submit(2, vec![bytes("b")], 1, params());
    server.submit(3, vec![bytes("c")], 1, Params { logprobs: Some(0), ..params() });
    let plan = server.schedule().unwrap();
    let asked = edits(&mut server, plan);
    assert_eq!((asked.logprob_rows, asked.top), (vec![0, 2], 2));
    let answers = [
        [bits(-1.0), 2, 120, 97, bits(-0.5), bits(-1.0)],
        [bits(-3.0), 7, 121, 122, bits(-0.1), bits(-0.2)],
    ]
    .concat();
    assert!(server.engine.decide(plan, &[97, 98, 99], &answers[..6], &[]).is_err(), "too few");
    server.engine.decide(plan, &[97, 98, 99], &answers, &[]).unwrap();
    let rows: Vec<_> = server.batches().into_iter().flat_map(|batch| batch.rows).collect();
    let told: Vec<_> = rows.into_iter().map(|row| row.logprobs.map(|told| *told)).collect();
    let first = Logprobs { logprob: -1.0, rank: 2, top: vec![(120, -0.5), (97, -1.0)] };
    let third = Logprobs { logprob: -3.0, rank: 7, top: vec![] };
    assert_eq!(told, [Some(first), None, Some(third)]);
}

#[test]
fn prompts_tell_each_token_once_whatever_the_chunks_and_the_cache() {
    let mut server = Server::new(&Config { max_num_batched_tokens: 20, ..config() });
    let prompt: Vec<u32> = (0..50).collect();
    // The same prompt is in the cache.
    server.submit(1, vec![prompt.clone()], 1, Params { max_tokens: 1, ..params() });
    server.run(50, &[97]);
    server.submit(2, vec![prompt], 2, Params { prompt_logprobs: Some(1), ..params() });
    let (mut targets, mut flagged) = (Vec::new(), Vec::new());
    while let Some(plan) = server.schedule() {
        let flags = server.arena(plan)[header_index("flags").unwrap()];
        flagged.push(flags & FLAG_PROMPT_LOGPROBS != 0);
        let asked = edits(&mut server, plan);
        let rows = server.header(plan, "rows");
        let answers: Vec<i32> = asked
            .prompt
            .iter()
            .flat_map(|(_, target)| [bits(-1.0), 1, *target, bits(-1.0)])
            .collect();
        let inputs = server.section(plan, "input_ids").to_vec();
        for (position, target) in asked.prompt {
            assert_eq!(inputs[usize::try_from(position).unwrap()] + 1, target);
            targets.push(target);
        }
        server.engine.decide(plan, &vec![98; rows], &[], &answers).unwrap();
    }
    assert_eq!(targets, (1..50).collect::<Vec<_>>());
    assert_eq!(flagged[..4], [true, true, true, false]);
    let batches = server.batches();
    let told: Vec<_> = batches.iter().flat_map(|batch| &batch.prompt_logprobs).collect();
    assert_eq!(told.iter().map(|told| told.first).collect::<Vec<_>>(), [1, 21, 41]);
    assert_eq!(told.iter().map(|told| told.tokens.len()).sum::<usize>(), 49);
    assert!(told.iter().all(|told| (told.request, told.prompt) == (2, 0)));
    assert_idle(&batches);
}

#[test]
fn nothing_ends_a_choice_before_its_min_tokens() {
    let mut server = Server::new(&config());
    let params = Params { stop: vec!["ab".into()], min_tokens: 2, max_tokens: 7, ..params() };
    server.submit(1, vec![bytes("p")], 1, params);
    // The "a" that comes too early is no part of a later stop.
    let batches = server.run(1, &bytes("aababab"));
    assert_eq!(texts(&batches)[&(1, 0)], (bytes("aabab"), Some(Finish::StopText(0))));
}

#[test]
fn a_request_that_allows_no_token_fails_by_that_name() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("p")], 1, Params { allowed_token_ids: Some(vec![1]), ..params() });
    server.submit(2, vec![bytes("q")], 1, params());
    let plan = server.schedule().unwrap();
    server.decide(plan, &[-2, 97]);
    let batches = server.run(1, &bytes("a"));
    assert_eq!(batches[0].failed, [(1, Failure::NothingAllowed)]);
    assert_eq!(texts(&batches).len(), 1);
}

#[test]
fn a_character_that_begins_before_the_least_number_and_ends_after_it_may_stop() {
    let mut server = Server::new(&config());
    let params = Params { stop: vec!["é".into()], min_tokens: 1, max_tokens: 7, ..params() };
    server.submit(1, vec![bytes("p")], 1, params);
    let batches = server.run(1, &bytes("éxyz"));
    assert_eq!(texts(&batches)[&(1, 0)], (bytes("é"), Some(Finish::StopText(0))));
}

/// A grammar whose whole output is one of these texts.
fn one_of(texts: &[&str]) -> Option<Box<Source>> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    let options = Options::default();
    Some(Box::new(source(&Constraint::Choice(texts), "guided_choice", &options).unwrap()))
}

#[test]
fn grammars_mask_what_they_do_not_allow_and_end_the_choice() {
    let mut server = Server::new(&config());
    let held = Params { grammar: one_of(&["ab", "ac"]), ..params() };
    server.submit(1, vec![bytes("p")], 1, held);
    server.submit(2, vec![bytes("q")], 1, Params { max_tokens: 2, ..params() });
    let plan = server.schedule().unwrap();
    assert_eq!(edits(&mut server, plan).masks, [(0, vec![97])]);
    server.decide(plan, &[97, 120]);
    let plan = server.schedule().unwrap();
    assert_eq!(edits(&mut server, plan).masks, [(0, vec![98, 99])]);
    server.decide(plan, &[99, 121]);
    assert_eq!(server.schedule(), None);
    let batches = server.batches();
    let texts = texts(&batches);
    assert_eq!(texts[&(1, 0)], (bytes("ac"), Some(Finish::Complete)));
    assert_eq!(texts[&(2, 0)], (bytes("xy"), Some(Finish::Length)));
    assert_idle(&batches);
}

#[test]
fn each_choice_has_a_state_of_its_own() {
    let mut server = Server::new(&config());
    let held = Params { grammar: one_of(&["ab", "cd"]), ..params() };
    server.submit(1, vec![bytes("p")], 2, held);
    let plan = server.schedule().unwrap();
    assert_eq!(edits(&mut server, plan).masks, [(0, vec![97, 99])]);
    server.decide(plan, &[97]);
    let plan = server.schedule().unwrap();
    let masks = edits(&mut server, plan).masks;
    assert_eq!(masks, [(0, vec![98]), (1, vec![97, 99])]);
    server.decide(plan, &[98, 99]);
    let plan = server.schedule().unwrap();
    assert_eq!(edits(&mut server, plan).masks, [(0, vec![100])]);
    server.decide(plan, &[100]);
    let texts = texts(&server.batches());
    assert_eq!(texts[&(1, 0)].0, bytes("ab"));
    assert_eq!(texts[&(1, 1)].0, bytes("cd"));
}

#[test]
fn a_token_that_the_grammar_does_not_allow_fails_its_request_alone() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("p")], 1, Params { grammar: one_of(&["ab"]), ..params() });
    server.submit(2, vec![bytes("q")], 1, Params { max_tokens: 1, ..params() });
    let plan = server.schedule().unwrap();
    server.engine.edits(plan);
    server.decide(plan, &[120, 120]);
    let batches = server.batches();
    let failed: Vec<_> = batches.iter().flat_map(|batch| &batch.failed).collect();
    assert!(matches!(failed[..], [(1, Failure::Grammar(_))]), "{failed:?}");
    assert_eq!(texts(&batches)[&(2, 0)].1, Some(Finish::Length));
}

#[test]
fn a_grammar_that_cannot_be_compiled_is_refused_with_its_field() {
    let server = &mut Server::new(&config());
    let mut broken = one_of(&["a"]).unwrap();
    broken.lark = "start: (".into();
    broken.field = "structured_outputs.grammar".into();
    server.submit(1, vec![bytes("p")], 1, Params { grammar: Some(broken), ..params() });
    assert_eq!(server.schedule(), None);
    let batches = server.batches();
    let refused: Vec<_> = batches.iter().flat_map(|batch| &batch.refused).collect();
    let [(1, Refused::Grammar { param, .. })] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!(param, "structured_outputs.grammar");
}

#[test]
fn a_client_that_leaves_while_its_grammar_is_compiled_costs_nothing() {
    let server = &mut Server::new(&config());
    let held = Params { grammar: one_of(&["ab"]), ..params() };
    let submit = Submit { request: 1, prompts: vec![bytes("p")], n: 1, params: held, probe: false };
    server.tell_quickly(&[ToEngine::Submit(Box::new(submit)), ToEngine::Abort { request: 1 }]);
    assert_eq!(server.schedule(), None);
    assert_eq!(server.engine.remembered(), 0);
}

#[test]
fn thinking_is_closed_when_its_budget_is_spent() {
    let closing = bytes("\n</t>");
    let budget = ThinkingBudget {
        tokens: 2,
        open: true,
        opens: vec!["<t>".into()],
        closes: vec!["</t>".into()],
        closing: closing.clone(),
    };
    let mut server = Server::new(&config());
    let bounded = Params { thinking: Some(Box::new(budget)), max_tokens: 9, ..params() };
    server.submit(1, vec![bytes("p")], 1, bounded);
    let mut made = Vec::new();
    while let Some(plan) = server.schedule() {
        let forced = edits(&mut server, plan).allowed;
        let token = match &forced[..] {
            [(0, ids)] => u32::try_from(ids[0]).unwrap(),
            _ => u32::from(b'z'),
        };
        made.push(token);
        server.decide(plan, &[token.cast_signed()]);
    }
    assert_eq!(made, bytes("zz\n</t>zz"));
}

#[test]
fn an_opener_in_the_answer_is_text() {
    // Before the answer it opens the thinking, whose budget is then spent; within it is quoted.
    for (text, made_of_it) in [
        ("\n<t>bcdefghi", "\n<t>bcd!efghi"),
        ("a<t>bcdefghi", "a<t>bcdefghi"),
        ("<t>b</t>d<t>efghi", "<t>b</t>d<t>efghi"),
    ] {
        let budget = ThinkingBudget {
            tokens: 3,
            open: false,
            opens: vec!["<t>".into()],
            closes: vec!["</t>".into()],
            closing: bytes("!"),
        };
        let mut server = Server::new(&config());
        let most = u32::try_from(made_of_it.len()).unwrap();
        let bounded = Params { thinking: Some(Box::new(budget)), max_tokens: most, ..params() };
        server.submit(1, vec![bytes("p")], 1, bounded);
        let (mut wanted, mut made) = (bytes(text).into_iter(), String::new());
        while let Some(plan) = server.schedule() {
            let forced = edits(&mut server, plan).allowed;
            let token = forced
                .first()
                .map_or_else(|| wanted.next().unwrap(), |(_, ids)| ids[0].cast_unsigned());
            made.push(char::from(u8::try_from(token).unwrap()));
            server.decide(plan, &[token.cast_signed()]);
        }
        assert_eq!(made, made_of_it);
    }
}

#[test]
fn an_ended_choice_makes_room_while_the_others_go_on() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("p")], 2, params());
    let plan = server.schedule().unwrap();
    server.decide(plan, &[97]);
    server.tell(&ToEngine::End { request: 1, choice: 0 });
    let plan = server.schedule().unwrap();
    assert_eq!(server.header(plan, "rows"), 1);
    server.decide(plan, &[98]);
    server.tell(&ToEngine::End { request: 1, choice: 1 });
    assert_eq!(server.schedule(), None);
    assert_eq!(server.engine.remembered(), 0);
    assert_idle(&server.batches());
}
