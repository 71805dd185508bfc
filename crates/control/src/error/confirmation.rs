//! Why a change cannot be confirmed, or cannot wait for a confirmation.

use std::time::Duration;

/// Why a change cannot be confirmed, or cannot wait for a confirmation.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmationError {
    /// The running program belongs to a change that is not confirmed yet.
    #[error(
        "a change of {interface} waits for a confirmation ({} s left): confirm it by `xway confirm \
         {interface}`, or end it by `xway confirm --revert {interface}`",
        left.as_secs()
    )]
    Pending { interface: String, left: Duration },
    /// No change waits for a confirmation.
    #[error("no change of {interface} waits for a confirmation")]
    Nothing { interface: String },
    /// Another mode than that of the running program.
    #[error(
        "{interface} runs a program in {running} mode: a change to {asked} mode cannot wait for a \
         confirmation; use --mode {running}, or leave out --confirm"
    )]
    Mode { interface: String, running: &'static str, asked: &'static str },
    /// The program would run on the network card.
    #[error("a program on the network card cannot wait for a confirmation: leave out --confirm")]
    Offload,
    /// The kernel cannot return from this program to the previous one.
    #[error(
        "the new program reads VLAN tags from the device, and this kernel cannot let such a \
         program return to the previous one: leave out --confirm, or what reads tags (`forward`, \
         and rules with `vlan`)"
    )]
    Bound,
    /// The kernel refuses the running program as the one to return to.
    #[error(
        "the running program of {interface} cannot be kept to return to it (program {program}), \
         because {reason}: the kernel lets nothing return to a program that reads VLAN tags from \
         the device; leave out --confirm"
    )]
    NoReturn { interface: String, program: u32, reason: Box<kernel::Error> },
}
