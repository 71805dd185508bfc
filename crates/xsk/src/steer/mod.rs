//! Which packets go to sockets: the redirect program and its map of sockets.
//!
//! ```text
//!            ┌ program ─▶ state: groups of rules, one for each owner
//! interface ─┤                        │ matches
//!  (link)    └────────── xsks: group × queue ─▶ socket      none: the stack
//! ```
//!
//! Rule: nothing is pinned, so the kernel keeps the books. Every process with a [`Steering`] holds
//! the link, and the program runs exactly as long as one of them does; the slot of a socket that is
//! closed empties itself, and its packets go to the stack again. That holds for a process that is
//! killed as for one that ends well. Not here: the sockets.

mod attachment;
mod entry;
mod group;
mod ports;
pub mod redirect;
mod rule;
mod steering;

pub use attachment::{Mode, Options};
pub use entry::Entry;
pub use ports::Ports;
pub use rule::Rule;
pub use steering::{Metadata, Steer, Steering};

pub use redirect::{GROUPS, RULES};
