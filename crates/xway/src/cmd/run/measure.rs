//! How fast the program runs: rounds over the first packets of the capture, program alone.

use std::time::Instant;

use anyhow::Result;
use report::Samples;

use super::Job;
use super::arm::{Arm, Kernel, Vm};
use super::input::Played;
use super::interrupt::Interrupt;
use crate::view::run::Rates;

/// Nanoseconds a packet, one sample a round; `None` without packets.
pub fn rates(arm: &mut Arm, job: &Job<'_>, packets: &[Played]) -> Result<Option<Rates>> {
    if packets.is_empty() || job.interrupt.has_come() {
        return Ok(None);
    }
    let mut samples = Vec::new();
    for _ in 0..job.args.repeat {
        let sample = match arm {
            Arm::Vm(vm) => engine_round(vm, packets, &job.interrupt)?,
            Arm::Kernel(kernel) => kernel_round(kernel, packets, &job.interrupt)?,
        };
        // A round that was cut short is no measurement.
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

/// The kernel measures by itself: a system call costs more than most programs. It takes the
/// mean over so many runs of each of some packets.
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

/// Packets between two looks at signals.
const LOOK: usize = 4096;
/// Packets of the capture that the kernel measures in a round.
const SAMPLED: usize = 256;
/// Runs of each.
const RUNS: u32 = 1000;
