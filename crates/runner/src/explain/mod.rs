//! The path of one packet through the program, in words.
//!
//! Rule: the packets before it run unwatched, so that it meets the maps as it would. Only the
//! engine can be watched; the kernel keeps its path to itself.

mod branch;
mod calls;
mod changes;
mod member;
mod path;
mod recorder;
#[cfg(test)]
mod tests;
mod words;

use std::sync::{Arc, Mutex, PoisonError};

use packet::dissect::dissect;
use vm::Run;

use self::recorder::Recorder;
pub use self::words::{Words, number};
use crate::arm::Vm;
use crate::error::{Error, Result};
use crate::input::{Capture, Played};
use crate::results::Explanation;
use crate::setup::Setup;

pub fn run(setup: &Setup<'_>, mut capture: Capture<'_>, number: u64) -> Result<Explanation> {
    let mut vm = Vm::observable(setup)?;
    let mut played = 0;
    while let Some(packet) = capture.next()? {
        played = packet.number;
        if packet.number >= number {
            return explain(setup, &mut vm, &packet);
        }
        if vm.run(&packet)?.is_interrupted() {
            break;
        }
    }
    Err(match capture.interrupted() {
        true => Error::Stopped { packet: played, wanted: number },
        false => Error::NoPacket { packets: played, wanted: number },
    })
}

fn explain(setup: &Setup<'_>, vm: &mut Vm, packet: &Played) -> Result<Explanation> {
    let recorder = Recorder::new(Words::new(&setup.spec, vm.maps().to_vec()));
    let recorder = Arc::new(Mutex::new(recorder));
    let _of_packets_before = vm.log();
    vm.worker().set_hook(Some(Box::new(Arc::clone(&recorder))));
    let run = vm.run(packet)?;
    vm.worker().set_hook(None);
    let recorder = Arc::into_inner(recorder).expect("the engine returns the hook that it had");
    let recorder = recorder.into_inner().unwrap_or_else(PoisonError::into_inner);
    let recorded = recorder.finish(run.fault.as_deref());
    let maps = recorded.values.finish(&recorded.words);
    Ok(Explanation {
        object: setup.name.clone(),
        program: setup.program.name.clone(),
        packet: packet.number,
        summary: dissect(&packet.input.packet).summary,
        before_bytes: packet.input.packet.len(),
        after_bytes: run.packet.len(),
        path: recorded.path,
        left_out: recorded.left_out,
        verdict: run.verdict.name(),
        code: run.code,
        went: went(&run),
        log: vm.log(),
        fields: changes::fields(&packet.input.packet, &run.packet),
        fault: run.fault.map(|fault| fault.to_string()),
        maps,
    })
}

/// Where copies went, and why others did not.
fn went(run: &Run) -> Vec<String> {
    let outputs = run.outputs.iter().map(|output| format!("to {}", output.port));
    let losses = run.losses.iter().map(|loss| {
        let port = loss.port.map(|port| format!(" on the way to {port}"));
        format!("lost: {}{}", loss.reason, port.unwrap_or_default())
    });
    outputs.chain(losses).collect()
}

/// A source file as compilers call it, without the `./` in front.
pub fn file_name(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}
