//! Probes for attaching, to one end of a veth pair in a namespace that ends with the probe.

use std::os::fd::AsFd;

use spec::ProgramKind;
use spec::asm::{Assembler, Reg::*};
use sys::net::{Ifindex, Netlink, NewVeth, VethEnd, XdpExpect, XdpMode};

use super::{Answer, Unavailable, loading};
use crate::error::{Error, Result};
use crate::link::{Attach, Replace, TcxSide, attach, attach_tcx};
use crate::load::{Binding, Host, LoadOptions};
use crate::program::Program;

pub(super) fn xdp(mode: XdpMode) -> Answer {
    with_veth(|place| {
        let program = program()?;
        place
            .netlink
            .set_xdp(place.ifindex, Some(program.as_fd()), Some(mode), XdpExpect::Nothing)
            .map_err(Error::from_call)?;
        Ok(())
    })
}

pub(super) fn link() -> Answer {
    with_veth(|place| {
        let program = program()?;
        let (ifindex, replace) = (place.ifindex, Replace::No);
        let link = attach(&Attach { ifindex, program: &program, mode: XdpMode::Native, replace })?;
        if link.is_bpf_link() {
            return Ok(());
        }
        let reason = "this kernel has no links for XDP";
        Err(Unavailable::Ignored { call: "bpf(LINK_CREATE)", reason })
    })
}

/// Replaces a program by naming the expected one: a wrong name must fail, the right one succeed.
pub(super) fn expected() -> Answer {
    with_veth(|place| {
        let (old, new) = (program()?, program()?);
        let mut set = |fd: &Program, expect| {
            let mode = Some(XdpMode::Generic);
            place.netlink.set_xdp(place.ifindex, Some(fd.as_fd()), mode, expect)
        };
        set(&old, XdpExpect::Nothing).map_err(Error::from_call)?;
        if set(&old, XdpExpect::Program(new.as_fd())).is_ok() {
            let reason = "this kernel ignores the attribute";
            return Err(Unavailable::Ignored { call: "IFLA_XDP_EXPECTED_FD", reason });
        }
        set(&new, XdpExpect::Program(old.as_fd())).map_err(Error::from_call)?;
        Ok(())
    })
}

pub(super) fn bound() -> Answer {
    with_veth(|place| {
        let binding = Binding::Device(place.ifindex);
        let options = LoadOptions { binding, ..Default::default() };
        loading::load_with(&mut Host::new(), loading::pass(), &options)?;
        Ok(())
    })
}

pub(super) fn tcx() -> Answer {
    with_veth(|place| {
        let mut a = Assembler::new("xway_probe", ProgramKind::TCX_INGRESS);
        a.mov32(R0, 0).exit();
        let program = loading::load(&mut Host::new(), a)?;
        attach_tcx(place.ifindex, &program, TcxSide::Ingress)?;
        Ok(())
    })
}

struct Place {
    netlink: Netlink,
    ifindex: Ifindex,
}

fn with_veth(attempt: impl FnOnce(&mut Place) -> Answer + Send) -> Answer {
    let visit = || {
        let mut netlink = Netlink::open().map_err(Error::from_call)?;
        let end = |name| VethEnd { name, mac: None, netns: None };
        let pair = NewVeth { ends: [end("probe0"), end("probe1")], queues: 1, mtu: 1500 };
        netlink.create_veth(&pair).map_err(Error::from_call)?;
        let ifindex = netlink.link("probe0").map_err(Error::from_call)?.ifindex;
        attempt(&mut Place { netlink, ifindex })
    };
    sys::thread::in_private_network(visit)?
}

fn program() -> Result<Program> {
    loading::load(&mut Host::new(), loading::pass())
}
