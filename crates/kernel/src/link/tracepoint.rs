//! Attaching to the kernel's own tracepoints, to count what it does with frames.

use std::os::fd::AsFd;

use sys::bpf;

use super::Link;
use crate::error::{Error, Result};
use crate::program::Program;

/// Runs a program of type `raw_tracepoint` at each pass of the tracepoint, on the whole machine.
///
/// # Errors
/// `ENOENT` where the kernel has no tracepoint of that name.
pub fn attach_raw_tracepoint(program: &Program, name: &str) -> Result<Link> {
    let opened = bpf::raw_tracepoint_open(program.as_fd(), name);
    opened.map(|fd| Link::bpf(fd, None)).map_err(Error::from_call)
}
