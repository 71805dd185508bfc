//! Tests of tables, and measurements beside Maglev and rendezvous hashing (ignored by default).

mod measure;
mod peers;
mod sets;
mod tables;

use super::*;
