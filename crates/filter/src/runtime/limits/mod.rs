//! Limits of a loaded program: their maps are filled, read and carried over.

mod bound;
mod carry;
mod fill;
mod seed;
mod state;
#[cfg(test)]
mod tests;

pub use bound::LossBound;
pub use carry::carry;
pub use fill::{Maps, fill_seed};
pub use state::{Fill, Load, Sharing, State};
