//! The choice of a backend for a layer-4 load balancer: a table of slots.
//!
//! A hash of a packet's flow selects a slot, and the slot names a backend. The table is a function
//! of the set of backends, their weights and the seed of the service, and of nothing else: not of
//! the order of the list, not of earlier tables. Balancers with the same configuration send a flow
//! to the same backend without exchanging a message.
//!
//! `nearest` gives each slot the backend that is nearest to it by rendezvous hashing, `share`
//! limits what a backend takes, `fill` moves what is over a limit to backends with free capacity,
//! `plan` compares two tables. All of it uses integers of fixed width, so machines agree.
//! `docs/balance-table.md` has the reasons and the figures.
//!
//! Not here: the hash of a packet, the maps that hold the table, and what is done with connections
//! that exist when a slot changes its owner.

mod backend;
mod fill;
mod hash;
mod nearest;
mod plan;
mod share;
mod table;

#[cfg(test)]
mod tests;

pub use backend::{Backend, Error, SLOTS};
pub use hash::id;
pub use plan::{Evenness, Plan, evenness, plan};
pub use table::Table;
