//! Programs on the engine: every frame is compared with its template.

mod counting;
mod drawing;
pub mod engine;
mod frames;
mod pacing;
