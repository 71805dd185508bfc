//! Programs on the engine, frame by frame against what their templates mean.

mod counting;
mod drawing;
pub mod engine;
mod frames;
mod pacing;
