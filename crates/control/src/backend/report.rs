//! `Tunnels`: which tunnels are opened at an interface, with what was received.

use std::collections::BTreeMap;

use functions::backend::{self, Config};
use functions::stats::{self, Stats};
use serde::Serialize;
use spec::{Map as _, Spec};

use super::{NAME, running};
use crate::Control;
use crate::error::Result;
use crate::record::Record;
use crate::target::Target;

/// The tunnels that are opened at an interface.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tunnels {
    /// Name of the interface.
    pub interface: String,
    /// Mode in which the program runs; `null` if it does not.
    pub mode: Option<&'static str>,
    /// Outer sources that are allowed.
    pub from: Vec<String>,
    /// Inner destinations: addresses of services.
    pub service: Vec<String>,
    /// Outer destinations: addresses of this host.
    pub address: Vec<String>,
    /// UDP port of GUE; 0 for none.
    pub gue_port: u16,
    /// UDP port of Geneve; 0 for none.
    pub geneve_port: u16,
    /// Largest MSS that is announced to clients over IPv4, and over IPv6; `null` for that of the
    /// stack.
    pub mss: Option<[u16; 2]>,
    /// Connections of which a lower MSS was announced.
    pub lowered: u64,
    /// Packets by reason.
    pub packets: BTreeMap<String, u64>,
}

/// Reads which tunnels are opened at an interface.
///
/// # Errors
/// There is no such interface, or the state directory cannot be read.
pub fn show(control: &Control, interface: &str) -> Result<Tunnels> {
    let target = Target::open(control, interface)?;
    let Some((generation, mode)) = running(&target)? else {
        return Ok(Tunnels { interface: interface.to_owned(), ..Tunnels::default() });
    };
    let config = Record::read(&generation)?.and_then(|record| record.backend).unwrap_or_default();
    let spec = Spec::parse(NAME, backend::OBJECT)?;
    let labels = spec.btf.as_ref().and_then(stats::labels).unwrap_or_default();
    let counted = Stats::read(&generation.map(stats::MAP)?, &labels)?;
    let mut packets: BTreeMap<String, u64> = BTreeMap::new();
    for row in counted.rows {
        *packets.entry(row.reason).or_default() += row.count.packets;
    }
    let is_lowering = target.slot.egress(NAME)?.is_some();
    let lowered = generation.map(backend::LOWERED)?.array()?;
    let lowered = lowered.first().map_or(0, |value| sum(value));
    let mss = Some(config.mss()).filter(|_| config.mtu != 0 && is_lowering);
    let Config { from, service, address, gue_port, geneve_port, .. } = config;
    let text = |all: Vec<_>| all.into_iter().map(String::from).collect();
    Ok(Tunnels {
        interface: interface.to_owned(),
        mode: Some(mode.mode().name()),
        from: text(from),
        service: text(service),
        address: text(address),
        gue_port,
        geneve_port,
        mss,
        lowered,
        packets,
    })
}

/// The values of all processors.
fn sum(value: &[u8]) -> u64 {
    let words = value.chunks_exact(8).filter_map(|word| word.first_chunk());
    words.map(|word| u64::from_le_bytes(*word)).sum()
}
