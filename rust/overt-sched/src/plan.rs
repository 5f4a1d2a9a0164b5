//! What comes out of a step, and what goes back into the scheduler when it has run.

use crate::config::SeqId;

/// One sequence's part of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The sequence.
    pub seq: SeqId,
    /// Its slot of the device's per-sequence tables; `max_num_seqs` is the probe's.
    pub slot: u32,
    /// Offset of its tokens among the step's packed tokens.
    pub query_start: u32,
    /// Its tokens of this step.
    pub query_len: u32,
    /// Its context, this step's tokens included.
    pub seq_len: u32,
    /// Whether its last token's logits are sampled.
    pub sample: bool,
    /// The single input token is not known yet: the device's last-token buffer holds it at `slot`.
    pub input_pending: bool,
    /// Prompt tokens that it read from the prefix cache when it was last admitted.
    pub cached_tokens: u32,
    /// Whether it stands behind the decode rows.
    pub prefill: bool,
    /// Its place among the scheduler's sequences; good while that place holds `seq`.
    pub(crate) index: u32,
}

/// One step: a forward pass over the packed tokens of its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// 0, 1, 2, …
    pub id: u64,
    /// Decode rows first (a running sequence's one token, its newest), then prefill rows (chunks).
    pub rows: Vec<Row>,
    /// Rows that decode.
    pub decode_rows: u32,
    /// Tokens of all rows.
    pub num_tokens: u32,
    /// Slots that got a new sequence: their row of the device's parameter table is written in this step.
    pub new_slots: Vec<(u32, SeqId)>,
    /// The longest context.
    pub max_seq_len: u32,
    /// The longest chunk.
    pub max_query_len: u32,
    /// Rows that sample.
    pub samples: u32,
}

impl Plan {
    /// Empties the plan and keeps its memory.
    pub(crate) fn reset(&mut self) {
        let (mut rows, mut new_slots) =
            (std::mem::take(&mut self.rows), std::mem::take(&mut self.new_slots));
        rows.clear();
        new_slots.clear();
        *self = Self { rows, new_slots, ..Self::default() };
    }

    /// Appends a row behind the tokens of those before it.
    pub(crate) fn push(&mut self, mut row: Row) {
        row.query_start = self.num_tokens;
        self.num_tokens += row.query_len;
        self.decode_rows += u32::from(!row.prefill);
        self.samples += u32::from(row.sample);
        self.max_seq_len = self.max_seq_len.max(row.seq_len);
        self.max_query_len = self.max_query_len.max(row.query_len);
        self.rows.push(row);
    }
}

/// What a row came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowResult {
    /// The row did not sample.
    None,
    /// The sequence goes on with this token.
    Token(u32),
    /// The sequence ended; whether its last token counts does not matter here.
    Finish,
}
