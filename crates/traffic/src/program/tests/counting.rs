//! Counters, limit, hold and end.
