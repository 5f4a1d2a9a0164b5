//! A slot's row of the device's parameter table: written once at admission, never rebuilt a step.

use overt_link::Params;

/// Names of the columns in order; `*_f32` hold float bits.
pub const COLUMNS: [&str; 12] = [
    "temperature_f32",
    "top_p_f32",
    "top_k",
    "min_p_f32",
    "typical_p_f32",
    "repetition_penalty_f32",
    "frequency_penalty_f32",
    "presence_penalty_f32",
    "seed_lo",
    "seed_hi",
    "choice",
    "greedy",
];

/// Header flag: every row of the step is greedy.
pub const FLAG_ALL_GREEDY: i32 = 1;

/// Header flag: log probabilities of prompt tokens will be asked of the step.
pub const FLAG_PROMPT_LOGPROBS: i32 = 2;

pub(crate) fn is_greedy(params: &Params) -> bool {
    // A search takes what is likeliest; its sequences' own tokens are not looked at.
    params.temperature == 0.0 || params.beam.is_some()
}

/// Writes a slot's row. `choice` is the choice's number within its prompt: equal prompts of one request draw equal streams.
pub(crate) fn write(params: &Params, choice: u32, row: &mut [i32]) {
    let seed = params.seed.to_le_bytes();
    let (low, high) = seed.split_at(4);
    let half = |bytes: &[u8]| i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let values = [
        bits(params.temperature),
        bits(params.top_p),
        i32::try_from(params.top_k).unwrap_or(i32::MAX),
        bits(params.min_p),
        bits(params.typical_p),
        bits(params.repetition_penalty),
        bits(params.frequency_penalty),
        bits(params.presence_penalty),
        half(low),
        half(high),
        i32::try_from(choice).unwrap_or(i32::MAX),
        i32::from(is_greedy(params)),
    ];
    row.copy_from_slice(&values);
}

fn bits(value: f32) -> i32 {
    value.to_bits().cast_signed()
}
