//! Numbers: which are drawn, by which thread, how often.
