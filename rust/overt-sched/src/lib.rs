//! Scheduler, KV block pool and prefix index: a pure function from state to plan.
