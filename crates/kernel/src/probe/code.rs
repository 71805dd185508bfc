//! Helpers and kernel functions: called without arguments, so that the verifier complains. What
//! it complains about tells whether it knows the function.

use spec::asm::{Assembler, Helper};
use spec::{ProgramKind, Verdict};

use super::{Answer, loading, words};
use crate::error::Error;
use crate::load::Host;

/// Words of a verifier that does not offer a function to XDP programs.
const UNKNOWN: &[&str] = &["unknown func", "invalid func", "cannot use helper", "is not allowed"];

pub(super) fn helper(host: &mut Host, helper: Helper) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.call(helper).verdict(Verdict::Pass);
    judge(loading::load(host, a))
}

pub(super) fn kfunc(host: &mut Host, name: &str) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.call_kfunc(name).verdict(Verdict::Pass);
    judge(loading::load(host, a))
}

fn judge<T>(answer: Result<T, Error>) -> Answer {
    match answer {
        Ok(_) => Ok(()),
        Err(error @ Error::Verifier { .. }) => {
            let words = words(&error);
            if UNKNOWN.iter().any(|unknown| words.contains(unknown)) { Err(words) } else { Ok(()) }
        }
        Err(error) => Err(words(&error)),
    }
}
