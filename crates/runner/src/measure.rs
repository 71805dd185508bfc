//! How fast the program runs: rounds over the first packets of the capture, program alone.

use std::time::Instant;

use report::Samples;

use crate::arm::{Arm, Kernel, Vm};
use crate::error::Result;
use crate::input::Played;
use crate::interrupt::Interrupt;
use crate::results::Rates;
use crate::setup::Setup;

/// Nanoseconds a packet, one sample a round; `None` without packets.
pub fn rates(arm: &mut Arm, setup: &Setup<'_>, packets: &[Played]) -> Result<Option<Rates>> {
    if packets.is_empty() || setup.callbacks.interrupt.has_come() {
        return Ok(None);
    }
    let mut samples = Vec::new();
    for _ in 0..setup.options.repeat {
        let sample = match arm {
            Arm::Vm(vm) => engine_round(vm, packets, &setup.callbacks.interrupt)?,
            Arm::Kernel(kernel) => kernel_round(kernel, packets, &setup.callbacks.interrupt)?,
        };
        // An interrupted round is not a measurement.
        let Some(sample) = sample else { return Ok(None) };
        samples.push(sample);
    }
    Ok(Some(Rates::new(packets.len(), Samples::new(samples)?.stats())))
}

/// The clock is read once a round: a look costs as much as a small program. Putting the packet
/// into its buffer is measured too, and taken off again.
fn engine_round(vm: &mut Vm, packets: &[Played], interrupt: &Interrupt) -> Result<Option<f64>> {
    let start = Instant::now();
    for chunk in packets.chunks(LOOK) {
        for packet in chunk {
            vm.execute(packet)?;
        }
        if interrupt.has_come() {
            return Ok(None);
        }
    }
    let both = start.elapsed();
    let start = Instant::now();
    for packet in packets {
        vm.put(packet)?;
    }
    let net = both.saturating_sub(start.elapsed());
    Ok(Some(net.as_nanos() as f64 / packets.len() as f64))
}

/// Measures in the kernel, because a system call costs more than most programs: the mean over
/// repeated runs of each of some packets.
fn kernel_round(kernel: &Kernel, packets: &[Played], interrupt: &Interrupt) -> Result<Option<f64>> {
    let step = packets.len().div_ceil(SAMPLED);
    let mut sum = 0.0;
    let mut count = 0.0;
    for packet in packets.iter().step_by(step) {
        sum += f64::from(kernel.time(packet, RUNS)?);
        count += 1.0;
        if interrupt.has_come() {
            return Ok(None);
        }
    }
    Ok(Some(sum / count))
}

/// Number of packets after which requests to end the run are checked.
const LOOK: usize = 4096;
/// Packets of the capture that the kernel measures in a round.
const SAMPLED: usize = 256;
/// Runs of each.
const RUNS: u32 = 1000;
