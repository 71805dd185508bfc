//! Both arms on one case, and a description of the first difference.

use super::arms::{Arms, Failure, Fill, Job, Ran, Seen};
use super::case::Case;

/// What comparing a case came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Same,
    /// By the kernel's verifier: nothing to compare.
    Refused(String),
    Differs(String),
}

impl Arms {
    pub fn judge(&self, case: &Case) -> Judgement {
        let (spec, packets, program) = (&case.spec, &case.packets[..], case.entry());
        let (touches, fill) = (&case.touches[..], Fill::NOTHING);
        self.judge_job(&Job { spec, program, packets, touches, fill, ignored: &[] })
    }

    pub fn judge_job(&self, job: &Job<'_>) -> Judgement {
        let kernel = match self.kernel(job) {
            Ok(seen) => seen,
            Err(Failure::Refused(why)) => return Judgement::Refused(why),
            Err(Failure::Other(why)) => return Judgement::Differs(format!("kernel: {why}")),
        };
        match self.engine(job, &kernel) {
            Ok(engine) => difference(&kernel, &engine).map_or(Judgement::Same, Judgement::Differs),
            Err(failure) => Judgement::Differs(format!("engine: {failure}")),
        }
    }
}

/// The first difference: packets in order, then maps.
pub fn difference(kernel: &Seen, engine: &Seen) -> Option<String> {
    for (number, (a, b)) in kernel.runs.iter().zip(&engine.runs).enumerate() {
        if let Some(what) = packet_difference(a, b) {
            return Some(format!("packet {number}: {what}"));
        }
        if a.answers != b.answers {
            let (a, b) = (&a.answers, &b.answers);
            return Some(format!("after packet {number}: kernel answers {a:?}, engine {b:?}"));
        }
    }
    for (a, b) in kernel.maps.iter().zip(&engine.maps) {
        if a == b {
            continue;
        }
        let pair = a.elements.iter().zip(&b.elements).find(|(a, b)| a != b);
        let counts = format!("{} and {} elements", a.elements.len(), b.elements.len());
        let element = pair.map(|(a, b)| format!("kernel {} engine {}", element(a), element(b)));
        return Some(format!("map {}: {}", a.map, element.unwrap_or(counts)));
    }
    None
}

fn packet_difference(kernel: &Ran, engine: &Ran) -> Option<String> {
    if kernel.code != engine.code {
        return Some(format!("kernel returns {:#x}, engine {:#x}", kernel.code, engine.code));
    }
    for (what, a, b) in [
        ("packet", &kernel.packet, &engine.packet),
        ("metadata", &kernel.metadata, &engine.metadata),
    ] {
        if a.len() != b.len() {
            return Some(format!("{what}: kernel {} bytes, engine {}", a.len(), b.len()));
        }
        if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
            return Some(format!("{what} byte {at}: kernel {:#x}, engine {:#x}", a[at], b[at]));
        }
    }
    None
}

fn element((key, value): &(Vec<u8>, Vec<u8>)) -> String {
    format!("{} = {}", hex(key), hex(value))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
