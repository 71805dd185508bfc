//! The functions that a program may call: helpers by number, kfuncs by name.
//!
//! Rule: one file a topic, each with a table of rows; a function that is in no table fails at
//! load with its name. A helper reads and writes memory only through the worker's `Memory`;
//! what the kernel's verifier would have refused (a bad pointer, a bad constant) is a `Fault`,
//! what the kernel answers at run time is an `Errno` in r0.

mod absent;
mod argument;
mod checksum;
mod control;
mod counter;
mod dynptr;
mod dynptr_kfuncs;
mod field;
mod format;
mod iterate;
mod list;
mod local;
mod lock;
mod log;
mod map;
mod net;
mod number;
mod object;
mod packet;
mod perf;
mod print;
mod probe;
mod processor;
mod queue;
mod redirect;
mod reservations;
mod ringbuf;
mod ringbuf_dynptr;
mod services;
mod string;
mod task;
mod time;
mod timer;
mod transform;
mod tree;
mod user_ringbuf;

use spec::asm::Helper;

use crate::errno::Errno;
use crate::fault::Fault;
use crate::worker::Worker;

pub(crate) use absent::{why_no_helper, why_no_kfunc};
use argument::CHUNK;
pub(crate) use argument::bad_argument;
pub(crate) use local::Local;
pub use log::TraceLine;
pub(crate) use reservations::Reservations;
pub(crate) use services::Services;

/// A call: r1 to r5 in, r0 out.
pub(crate) type Call = fn(&mut Worker, &[u64; 5]) -> Result<u64, Box<Fault>>;

/// One helper.
pub(crate) struct HelperRow {
    pub helper: Helper,
    pub call: Call,
}

/// One kfunc.
pub(crate) struct KfuncRow {
    pub name: &'static str,
    pub call: Call,
}

const fn helper_row(helper: Helper, call: Call) -> HelperRow {
    HelperRow { helper, call }
}

const fn kfunc_row(name: &'static str, call: Call) -> KfuncRow {
    KfuncRow { name, call }
}

const HELPERS: &[&[HelperRow]] = &[
    checksum::HELPERS,
    control::HELPERS,
    counter::HELPERS,
    dynptr::HELPERS,
    lock::HELPERS,
    map::HELPERS,
    net::HELPERS,
    number::HELPERS,
    object::HELPERS,
    packet::HELPERS,
    perf::HELPERS,
    print::HELPERS,
    probe::HELPERS,
    processor::HELPERS,
    queue::HELPERS,
    redirect::HELPERS,
    ringbuf::HELPERS,
    ringbuf_dynptr::HELPERS,
    task::HELPERS,
    time::HELPERS,
    timer::HELPERS,
    user_ringbuf::HELPERS,
];
const KFUNCS: &[&[KfuncRow]] = &[
    control::KFUNCS,
    dynptr_kfuncs::KFUNCS,
    iterate::KFUNCS,
    list::KFUNCS,
    lock::KFUNCS,
    map::KFUNCS,
    net::KFUNCS,
    object::KFUNCS,
    packet::KFUNCS,
    print::KFUNCS,
    string::KFUNCS,
    timer::KFUNCS,
    transform::KFUNCS,
    tree::KFUNCS,
];

/// An error of a kfunc that returns an `int`: the register's upper half is clear.
const fn int(errno: Errno) -> u64 {
    errno.in_r0() & 0xffff_ffff
}

/// The helper of that number, if XDP programs may call it here.
pub(crate) fn helper(number: u32) -> Option<Call> {
    let mut rows = HELPERS.iter().flat_map(|topic| topic.iter());
    rows.find(|row| row.helper.0 == number).map(|row| row.call)
}

/// The kfunc of that name; a flavour behind `___` does not count.
pub(crate) fn kfunc(name: &str) -> Option<Call> {
    let name = name.split("___").next().unwrap_or(name);
    let mut rows = KFUNCS.iter().flat_map(|topic| topic.iter());
    rows.find(|row| row.name == name).map(|row| row.call)
}

#[cfg(test)]
mod tests;
