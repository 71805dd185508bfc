//! The sink's counters: tables of cases for the tracker, which the program must agree with.

mod checksums;
mod frames;
mod maps;
mod numbers;
mod program;
mod random;
