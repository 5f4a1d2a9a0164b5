//! The step arena: a plan as int32 words, laid out for the device.

use crate::config::SeqId;
use crate::scheduler::Scheduler;

/// Names of the header's first words, in order. `flags` is the caller's and is written as 0.
pub const HEADER: &[&str] = &[
    "plan",
    "rows",
    "tokens",
    "decode_rows",
    "slot_updates",
    "max_seq_len",
    "max_query_len",
    "samples",
    "flags",
];

const HEADER_WORDS: usize = 32;
/// Sections begin at multiples of this many words, a cache line.
const ALIGN: usize = 16;

/// Where the word of that name stands, in the header and in the arena.
#[must_use]
pub fn header_index(name: &str) -> Option<usize> {
    HEADER.iter().position(|it| *it == name)
}

/// Why a plan was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArenaError {
    /// The arena, or a section of it, is too small.
    #[error(
        "the step arena has {given} {what}, the step needs {needed}; make the arena with a larger layout"
    )]
    TooSmall {
        /// What there is too little of: `words`, `rows`, `tokens`, `blocks a row`.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// No plan of that number is out.
    #[error("plan {id} is not out; write a plan between its schedule and its complete")]
    UnknownPlan {
        /// The number.
        id: u64,
    },
}

/// Offsets of an arena's sections, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    max_rows: usize,
    max_tokens: usize,
    max_blocks: usize,
    param_columns: usize,
    input_ids: usize,
    positions: usize,
    slot_mapping: usize,
    query_start: usize,
    seq_lens: usize,
    row_slot: usize,
    sample: usize,
    block_tables: usize,
    slot_updates: usize,
    words: usize,
}

/// The layout for steps of at most `max_rows` rows, `max_tokens` tokens and `max_blocks` blocks a row, with
/// `param_columns` words of parameters a slot.
#[must_use]
pub fn layout(
    max_rows: usize,
    max_tokens: usize,
    max_blocks: usize,
    param_columns: usize,
) -> Layout {
    let mut words = HEADER_WORDS;
    let mut section = |size: usize| {
        let offset = words;
        words = (words + size).next_multiple_of(ALIGN);
        offset
    };
    let input_ids = section(max_tokens);
    let positions = section(max_tokens);
    let slot_mapping = section(max_tokens);
    let query_start = section(max_rows + 1);
    let seq_lens = section(max_rows);
    let row_slot = section(max_rows);
    let sample = section(max_rows);
    let block_tables = section(max_rows * max_blocks);
    let slot_updates = section(max_rows * (1 + param_columns));
    Layout {
        max_rows,
        max_tokens,
        max_blocks,
        param_columns,
        input_ids,
        positions,
        slot_mapping,
        query_start,
        seq_lens,
        row_slot,
        sample,
        block_tables,
        slot_updates,
        words,
    }
}

impl Layout {
    /// Words of the whole arena.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// The sections in order: name, offset in words, shape.
    ///
    /// `header` of 32; `input_ids` of `max_tokens`, -1 where the device's last token of the row's slot is the input;
    /// `positions` of `max_tokens`; `slot_mapping` of `max_tokens`, block × block size + offset; `query_start` of
    /// `max_rows + 1`; `seq_lens`, `row_slot` and `sample` (0 or 1) of `max_rows`; `block_tables` of `max_rows` by
    /// `max_blocks`; `slot_updates` of `max_rows` by `1 + param_columns`, the slot and then its parameters.
    #[must_use]
    pub fn sections(&self) -> Vec<(&'static str, usize, Vec<usize>)> {
        let (rows, tokens) = (vec![self.max_rows], vec![self.max_tokens]);
        vec![
            ("header", 0, vec![HEADER_WORDS]),
            ("input_ids", self.input_ids, tokens.clone()),
            ("positions", self.positions, tokens.clone()),
            ("slot_mapping", self.slot_mapping, tokens),
            ("query_start", self.query_start, vec![self.max_rows + 1]),
            ("seq_lens", self.seq_lens, rows.clone()),
            ("row_slot", self.row_slot, rows.clone()),
            ("sample", self.sample, rows),
            ("block_tables", self.block_tables, vec![self.max_rows, self.max_blocks]),
            ("slot_updates", self.slot_updates, vec![self.max_rows, 1 + self.param_columns]),
        ]
    }
}

/// Writes a plan. Only the used part of each section is written: the words behind it keep what they held. `params`
/// fills a slot's parameters for each sequence that got one in this step. Rows of a sequence that was aborted since
/// the plan was made compute nothing of worth, in the dummy block.
///
/// # Errors
/// [`ArenaError`]; the arena's content is then undefined.
pub fn write(
    scheduler: &Scheduler,
    plan_id: u64,
    layout: &Layout,
    params: &mut dyn FnMut(SeqId, &mut [i32]),
    arena: &mut [i32],
) -> Result<(), ArenaError> {
    let plan = scheduler.plan(plan_id).ok_or(ArenaError::UnknownPlan { id: plan_id })?;
    let block_size = scheduler.config.block_size;
    let (rows, tokens) = (plan.rows.len(), plan.num_tokens as usize);
    let most_blocks = plan.max_seq_len.div_ceil(block_size) as usize;
    for (what, given, needed) in [
        ("words", arena.len(), layout.words),
        ("rows", layout.max_rows, rows.max(plan.new_slots.len())),
        ("tokens", layout.max_tokens, tokens),
        ("blocks a row", layout.max_blocks, most_blocks),
    ] {
        if given < needed {
            return Err(ArenaError::TooSmall { what, given, needed });
        }
    }

    arena[..HEADER_WORDS].fill(0);
    let header = [
        // The number's low half: it tells neighbours apart.
        plan.id as u32,
        rows as u32,
        plan.num_tokens,
        plan.decode_rows,
        plan.new_slots.len() as u32,
        plan.max_seq_len,
        plan.max_query_len,
        plan.samples,
        0,
    ];
    copy(&mut arena[..header.len()], &header);

    for (number, row) in plan.rows.iter().enumerate() {
        arena[layout.query_start + number] = word(row.query_start);
        arena[layout.seq_lens + number] = word(row.seq_len);
        arena[layout.row_slot + number] = word(row.slot);
        arena[layout.sample + number] = i32::from(row.sample);

        let (first, len) = (row.seq_len - row.query_len, row.query_len as usize);
        let start = row.query_start as usize;
        let sequence = scheduler.sequences.get(row.index, row.seq);
        let (known, table) = sequence.map_or((&[][..], &[][..]), |it| (&it.tokens, &it.blocks));
        let block = |place: u32| table.get(place as usize).copied().unwrap_or(0);

        let blocks = row.seq_len.div_ceil(block_size);
        let offset = layout.block_tables + number * layout.max_blocks;
        let target = &mut arena[offset..offset + blocks as usize];
        match table.get(..target.len()) {
            Some(table) => copy(target, table),
            None => target.fill(0),
        }

        let ids = &mut arena[layout.input_ids + start..][..len];
        match known.get(first as usize..row.seq_len as usize) {
            Some(known) if !row.input_pending => copy(ids, known),
            _ => ids.fill(if row.input_pending { -1 } else { 0 }),
        }
        for (target, position) in arena[layout.positions + start..][..len].iter_mut().zip(first..) {
            *target = word(position);
        }
        let mapping = &mut arena[layout.slot_mapping + start..][..len];
        for (target, position) in mapping.iter_mut().zip(first..) {
            *target = word(block(position / block_size) * block_size + position % block_size);
        }
    }
    arena[layout.query_start + rows] = word(plan.num_tokens);

    let width = 1 + layout.param_columns;
    let updates = arena[layout.slot_updates..].chunks_exact_mut(width);
    for (update, &(slot, seq)) in updates.zip(&plan.new_slots) {
        update[0] = word(slot);
        params(seq, &mut update[1..]);
    }
    Ok(())
}

fn word(value: u32) -> i32 {
    value.cast_signed()
}

fn copy(target: &mut [i32], source: &[u32]) {
    for (target, source) in target.iter_mut().zip(source) {
        *target = word(*source);
    }
}
