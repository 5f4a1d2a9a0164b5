//! Tokenizer facade, token-to-bytes table, incremental detokeniser, stop matching.
