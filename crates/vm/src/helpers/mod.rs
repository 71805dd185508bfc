//! The functions that a program may call: helpers by number, kfuncs by name.
//!
//! Rule: one file a topic, each with a table of rows; a function that is in no table fails at
//! load with its name. A helper reads and writes memory only through the worker's `Memory`;
//! what the kernel's verifier would have refused (a bad pointer, a bad constant) is a `Fault`,
//! what the kernel answers at run time is an `Errno` in r0.

mod map;
mod packet;
mod redirect;

use spec::asm::Helper;

use crate::fault::{Cause, Fault};
use crate::memory::Refused;
use crate::worker::Worker;

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

const HELPERS: &[&[HelperRow]] = &[map::HELPERS, packet::HELPERS, redirect::HELPERS];
const KFUNCS: &[&[KfuncRow]] = &[packet::KFUNCS];

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

/// An argument that the kernel's verifier would not let through. `argument` counts from 1.
#[cold]
pub(crate) fn bad_argument(function: &str, argument: u8, why: impl Into<String>) -> Box<Fault> {
    Fault::new(Cause::Argument { function: function.to_owned(), argument, why: why.into() })
}

impl Worker {
    /// Turns a refused access to a helper's argument into a fault that explains it.
    #[cold]
    pub(crate) fn bad_memory(
        &self,
        function: &str,
        argument: u8,
        (address, len, write): (u64, usize, bool),
    ) -> impl Fn(Refused) -> Box<Fault> {
        let why = self.memory.explain(address, len, write);
        let function = function.to_owned();
        move |Refused| bad_argument(&function, argument, why.clone())
    }
}
