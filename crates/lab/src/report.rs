//! Labs as they are shown: hosts with their interfaces and addresses.

use packet::Mac;
use serde::{Serialize, Serializer};

use crate::error::Result;
use crate::gc::{self, LabState};
use crate::host::Host;
use crate::lab::Lab;
use crate::link::LinkOptions;
use crate::topology::Topology;

/// All labs of this machine.
#[derive(Debug, Serialize)]
pub struct Labs {
    /// Labs, sorted by id.
    pub labs: Vec<LabReport>,
}

/// One lab.
#[derive(Debug, Serialize)]
pub struct LabReport {
    /// Id of the lab.
    pub id: String,
    /// Name of its topology; `null` for one that was built in another way.
    pub topology: Option<String>,
    /// The process that made it is running.
    pub running: bool,
    /// It persists after the process that made it.
    pub kept: bool,
    /// Its hosts.
    pub hosts: Vec<HostReport>,
}

/// One host of a lab.
#[derive(Debug, Serialize)]
pub struct HostReport {
    /// Name of the host in the lab.
    pub name: String,
    /// Name of its network namespace, as `ip netns exec` takes it.
    pub netns: String,
    /// Interfaces without loopback; empty for a lab that is not `kept`, which only the process that
    /// made it may enter.
    pub interfaces: Vec<InterfaceReport>,
}

/// One interface of a host.
#[derive(Debug, Serialize)]
pub struct InterfaceReport {
    /// Name of the interface.
    pub name: String,
    /// Ethernet address.
    #[serde(serialize_with = "mac")]
    pub mac: Option<Mac>,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Receive queues.
    pub queues: u32,
    /// Addresses with prefix lengths, in the order in which they were added.
    pub addresses: Vec<String>,
}

/// A lab that was created and kept.
#[derive(Debug, Serialize)]
pub struct CreatedLab {
    /// Id of the lab.
    pub id: String,
    /// Name of its topology.
    pub topology: &'static str,
    /// Drawing of the topology.
    #[serde(skip)]
    pub drawing: &'static str,
    /// Its hosts.
    pub hosts: Vec<HostReport>,
}

/// A lab that was removed.
#[derive(Debug, Serialize)]
pub struct RemovedLab {
    /// Id of the lab.
    pub removed: String,
}

/// Creates a lab that persists after this process.
///
/// # Errors
/// The lab cannot be created, or a host cannot be entered; then nothing remains.
pub fn up(topology: Topology, options: &LinkOptions) -> Result<CreatedLab> {
    let lab = topology.build(options)?;
    // Described before it is kept: a lab that cannot be described is removed again.
    let hosts = lab.hosts().iter().map(HostReport::of).collect::<Result<_>>()?;
    let id = lab.keep()?;
    Ok(CreatedLab { id, topology: topology.name(), drawing: topology.drawing(), hosts })
}

/// Removes a lab that [`up`] created.
///
/// # Errors
/// There is no such lab, it was not kept, or a part of it cannot be removed.
pub fn down(id: &str) -> Result<RemovedLab> {
    Lab::open(id)?.remove()?;
    Ok(RemovedLab { removed: id.to_owned() })
}

/// Describes all labs of this machine.
///
/// # Errors
/// The records of labs cannot be read, or a host cannot be entered.
pub fn labs() -> Result<Labs> {
    let labs = gc::list()?.into_iter().map(LabReport::of).collect::<Result<_>>()?;
    Ok(Labs { labs })
}

impl LabReport {
    fn of(state: LabState) -> Result<Self> {
        let opened = if state.kept { Lab::open(&state.id).ok() } else { None };
        let hosts = match &opened {
            Some(lab) => lab.hosts().iter().map(HostReport::of).collect::<Result<_>>()?,
            None => state.hosts.iter().map(|name| HostReport::named(&state.id, name)).collect(),
        };
        let LabState { id, topology, running, kept, .. } = state;
        Ok(Self { id, topology, running, kept, hosts })
    }
}

impl HostReport {
    /// Describes a host by its interfaces.
    ///
    /// # Errors
    /// The host cannot be entered.
    pub fn of(host: &Host) -> Result<Self> {
        let links = host.netlink()?.links()?;
        let mut interfaces = Vec::new();
        for link in links.iter().filter(|link| !link.loopback) {
            let found = host.interface(&link.name)?;
            let addresses = found.addresses.iter().map(|(ip, prefix)| format!("{ip}/{prefix}"));
            interfaces.push(InterfaceReport {
                addresses: addresses.collect(),
                mac: found.mac,
                mtu: found.mtu,
                queues: link.rx_queues,
                name: found.name,
            });
        }
        let netns = host.netns().name().to_owned();
        Ok(Self { name: host.name().to_owned(), netns, interfaces })
    }

    /// A host of which only the name is known.
    pub fn named(lab: &str, name: &str) -> Self {
        Self { name: name.to_owned(), netns: format!("xw-{lab}-{name}"), interfaces: Vec::new() }
    }
}

fn mac<S: Serializer>(mac: &Option<Mac>, to: S) -> std::result::Result<S::Ok, S::Error> {
    match mac {
        Some(mac) => to.collect_str(mac),
        None => to.serialize_none(),
    }
}
