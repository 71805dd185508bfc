//! Probes for helpers and kernel functions. A program calls them without arguments, which the
//! verifier rejects. Its message shows whether it knows the function.

use spec::asm::{Assembler, Helper};
use spec::{ProgramKind, Verdict};

use super::{Answer, Unavailable, loading};
use crate::error::Error;
use crate::load::Host;

/// Messages of a verifier that does not offer a function to XDP programs.
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
    match answer.map_err(Unavailable::from) {
        Ok(_) => Ok(()),
        Err(Unavailable::Verifier { line })
            if !UNKNOWN.iter().any(|words| line.contains(words)) =>
        {
            Ok(())
        }
        Err(refusal) => Err(refusal),
    }
}
