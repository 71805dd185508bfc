//! Text → instructions, by tables, by all committed objects, and by chance.

mod errors;
mod notations;
mod objects;
mod random;
