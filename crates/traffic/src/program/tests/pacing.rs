//! Schedules on a clock that is given.
