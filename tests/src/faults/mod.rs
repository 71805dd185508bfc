//! The fault campaign: every system call of a command that changes something, made to fail.
//!
//! A command runs under `ptrace` as users run it. At its n-th system call it is killed, or the call
//! returns an error that the kernel could return there. Afterwards the data path must run the
//! complete old or the complete new state, the next command must repair what is left, and nothing
//! that the command created may remain.
//!
//! Rule: the state is observed from outside: packets through a veth pair, netlink, the pins, and
//! the numbers of all objects that the traced process created. No global totals are compared, so
//! other tests may run at the same time.

mod call;
mod campaign;
mod created;
mod labs;
mod memory;
mod registers;
mod report;
mod scenario;
mod scene;
mod snapshot;
mod trace;

pub use campaign::{Options, run};
pub use report::{Finding, Report, Tally};
pub use scenario::SCENARIOS;
