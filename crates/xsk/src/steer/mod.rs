//! Steering of packets to sockets: the redirect program and its map of sockets.
//!
//! ```text
//!            ┌ program ─▶ state: groups of rules, one for each owner
//! interface ─┤                        │ matches
//!  (link)    └────────── xsks: group × queue ─▶ socket      none: the stack
//! ```
//!
//! Rule: nothing is pinned; the kernel holds all state. Every process with a [`Steering`] holds the
//! link, and the program runs exactly as long as one of them does. When a socket is closed, its
//! slot becomes empty, and its packets go to the stack again, also when its process is killed.
//!
//! ```no_run
//! use xsk::steer::{Mode, Options, Steer, Steering};
//!
//! let steer: Steer = "10.1.0.2 udp 1000..1999; ethertype 0x0806".parse()?;
//! let ifindex = sys::net::Netlink::open()?.link("eth0")?.ifindex;
//! let steering = Steering::attach(ifindex, Mode::Auto, &steer, Options::default())?;
//! println!("{} queues, program in {:?} mode", steering.queues(), steering.mode());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attachment;
mod entry;
mod group;
mod ports;
pub mod redirect;
mod rule;
mod shared;
mod steering;

pub use attachment::{Mode, Options};
pub use entry::Entry;
pub use ports::Ports;
pub use rule::Rule;
pub use steering::{Metadata, Steer, Steering};

pub use redirect::{GROUPS, RULES};
