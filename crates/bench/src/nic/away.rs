//! A sender on another host: the command for it, and the wait until it sends.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::field::{FRAME, Field, PORT};
use crate::harness::Harness;
use crate::hook::{ActiveHook, xdp};

/// Prints the command for the other host, and waits for its packets.
///
/// # Errors
/// When none come within two minutes, or the run is interrupted.
pub fn wait(field: &Field, harness: &mut Harness) -> Result<()> {
    harness.ask(&format!(
        "run this on the host of {}, with its card instead of DEV; it ends automatically: {}",
        field.sender,
        command(field)?
    ));
    let set = (xdp::NATIVE.set)(field).or_else(|_| (xdp::GENERIC.set)(field))?;
    let came = come(set.as_ref(), harness)?;
    ensure!(came, "it was interrupted before the other host sent anything");
    Ok(())
}

/// Whether they arrived before an interrupt.
fn come(set: &dyn ActiveHook, harness: &Harness) -> Result<bool> {
    let what = "packets from the other host";
    Ok(lab::until(what, PATIENCE, || {
        let came = set.ended().is_ok_and(|ended| ended > ENOUGH);
        Ok((came || harness.is_interrupted()).then_some(came))
    })?)
}

fn command(field: &Field) -> Result<String> {
    let (from, to) = field.addresses()?;
    let mac = field.receiver.mac()?;
    Ok(format!(
        "xway gen udp {to}:{PORT} --dev DEV --dst-mac {mac} --src {from} --sport {PORT} \
         --size {FRAME} --no-stamp --time {LONGEST}"
    ))
}

/// Time to start the command on the other host.
const PATIENCE: Duration = Duration::from_secs(120);
const ENOUGH: u64 = 1000;
const LONGEST: &str = "10m";
