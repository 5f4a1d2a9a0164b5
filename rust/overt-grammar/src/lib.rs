//! Structured outputs: what a request may constrain, and the token masks that enforce it.
