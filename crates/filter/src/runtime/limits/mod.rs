//! Limits of a loaded program: filled, read and carried over through their maps.

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
