//! The sink's accounts: tables for the tracker, and the program held to it on the engine.

mod checksums;
mod frames;
mod maps;
mod numbers;
mod program;
mod random;
