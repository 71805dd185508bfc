//! The functions that a program may call: helpers by number, kfuncs by name.
//!
//! Rule: one file per topic, each with a table of rows; a function that is in no table fails at
//! load with its name. A helper reads and writes memory only through the processor's `Memory`.
//! What the kernel's verifier would have refused (an invalid pointer or constant) is a `Fault`;
//! an error that the kernel returns at run time is an `Errno` in r0.

mod absent;
mod checksum;
mod cleanup;
mod control;
mod counter;
mod cpu;
mod dynptr;
mod dynptr_kfuncs;
mod field;
mod format;
mod iterate;
mod list;
mod lock;
mod map;
mod net;
mod number;
mod object;
mod packet;
mod perf;
mod print;
mod probe;
mod queue;
mod redirect;
mod release;
mod ringbuf;
mod ringbuf_dynptr;
mod string;
mod task;
mod time;
mod timer;
mod transform;
mod tree;
mod user_ringbuf;

use spec::asm::Helper;

use crate::code::CallTable;
use crate::errno::Errno;

use crate::error::Unavailable;
use crate::processor::{CHUNK, Call, bad_argument};
pub(crate) use cleanup::end_run;
pub(crate) use timer::{run_due_timers, run_timers};

/// The functions of all topics.
pub(crate) static FUNCTIONS: CallTable<Call> = CallTable { helper, kfunc };

/// One helper.
struct HelperRow {
    helper: Helper,
    call: Call,
}

/// One kfunc.
struct KfuncRow {
    name: &'static str,
    call: Call,
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
    cpu::HELPERS,
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

/// An error of a kfunc that returns an `int`: the upper half of r0 is zero.
const fn int(errno: Errno) -> u64 {
    errno.in_r0() & 0xffff_ffff
}

fn helper(helper: Helper) -> Result<Call, Unavailable> {
    let mut rows = HELPERS.iter().flat_map(|topic| topic.iter());
    let row = rows.find(|row| row.helper == helper);
    row.map(|row| row.call).ok_or_else(|| absent::of_helper(helper))
}

/// The kfunc of that name; a flavor after `___` is ignored.
fn kfunc(name: &str) -> Result<Call, Unavailable> {
    let base = name.split("___").next().unwrap_or(name);
    let mut rows = KFUNCS.iter().flat_map(|topic| topic.iter());
    let row = rows.find(|row| row.name == base);
    row.map(|row| row.call).ok_or_else(|| absent::of_kfunc(name))
}

/// Every function with its name.
#[cfg(test)]
pub(crate) fn all_functions() -> Vec<(String, Call)> {
    let helpers = HELPERS.iter().flat_map(|topic| topic.iter());
    let kfuncs = KFUNCS.iter().flat_map(|topic| topic.iter());
    let helpers = helpers.map(|row| (format!("helper {}", row.helper.0), row.call));
    helpers.chain(kfuncs.map(|row| (row.name.to_owned(), row.call))).collect()
}
