//! Attaching to the traffic-control hooks, before or after the network stack. Linux 6.6.

use std::os::fd::AsFd;

use sys::bpf::uapi::attach_type;
use sys::bpf::{self, LinkCreate};
use sys::net::Ifindex;

use super::Link;
use crate::error::{Error, Result};
use crate::program::Program;

/// Direction of the packets that a tcx program receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcxSide {
    /// Received packets, after XDP.
    Ingress,
    /// Packets that go out.
    Egress,
}

/// Attaches after the existing programs. The program must be loaded as
/// `SEC("tcx/ingress")` or `SEC("tcx/egress")`.
pub fn attach_tcx(ifindex: Ifindex, program: &Program, side: TcxSide) -> Result<Link> {
    let attach_type = match side {
        TcxSide::Ingress => attach_type::TCX_INGRESS,
        TcxSide::Egress => attach_type::TCX_EGRESS,
    };
    let create = LinkCreate { program: program.as_fd(), ifindex: ifindex.0, attach_type, flags: 0 };
    bpf::link_create(&create).map(|fd| Link::bpf(fd, None)).map_err(Error::from_call)
}
