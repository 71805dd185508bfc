//! What sits on each interface of this thread's network namespace.

use sys::bpf::{LinkInfo, LinkTarget, ProgInfo};
use sys::errno::ENOENT;
use sys::net::{self, Ifindex, Netlink, XdpMode};

use super::links;
use crate::error::{Error, Result};
use crate::program::Program;

/// An interface and its XDP programs.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The interface.
    pub link: net::Link,
    /// Programs attached to it, by mode.
    pub programs: Vec<Attached>,
}

/// A program on an interface.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Mode of the attachment.
    pub mode: XdpMode,
    /// The program.
    pub program: ProgInfo,
    /// The `bpf_link` that holds it; `None` when it was attached by netlink.
    pub link_id: Option<u32>,
}

/// All interfaces, with and without programs.
pub fn interfaces() -> Result<Vec<Interface>> {
    let found =
        Netlink::open().and_then(|mut netlink| netlink.links()).map_err(Error::from_call)?;
    let bpf_links = bpf_links(&found)?;
    found
        .into_iter()
        .map(|link| {
            let programs = attached(&link, &bpf_links)?;
            Ok(Interface { link, programs })
        })
        .collect()
}

/// One interface, with what runs on it now.
pub fn interface(ifindex: Ifindex) -> Result<Interface> {
    let found = Netlink::open().and_then(|mut netlink| netlink.link_by_index(ifindex));
    let link = found.map_err(Error::from_call)?;
    let programs = attached(&link, &bpf_links(std::slice::from_ref(&link))?)?;
    Ok(Interface { link, programs })
}

/// All there are, if any of these interfaces has a program.
fn bpf_links(found: &[net::Link]) -> Result<Vec<LinkInfo>> {
    if found.iter().all(|link| link.xdp.is_empty()) {
        return Ok(Vec::new());
    }
    links()
}

/// A program that no longer exists is left out.
fn attached(link: &net::Link, bpf_links: &[LinkInfo]) -> Result<Vec<Attached>> {
    let mut all = Vec::new();
    for (mode, id) in link.xdp.programs() {
        let program = match Program::from_id(id).and_then(|program| program.info()) {
            Err(error) if error.errno() == Some(ENOENT) => continue,
            other => other?,
        };
        let target = LinkTarget::Xdp { ifindex: link.ifindex.0 };
        let held = bpf_links.iter().find(|one| one.target == target && one.prog_id == id);
        all.push(Attached { mode, program, link_id: held.map(|one| one.id) });
    }
    Ok(all)
}
