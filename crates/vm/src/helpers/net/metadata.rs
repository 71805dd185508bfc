//! Metadata from the hardware: hash, timestamp, stripped VLAN tag.
//!
//! The results are those given for the ingress interface; without any, those of an interface
//! without metadata.

use super::{context, write};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;
use crate::world::Received;

pub(super) fn hash(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_xdp_metadata_rx_hash";
    context(NAME, args[0])?;
    let Some(hash) = received(processor).and_then(|received| received.hash) else {
        return Ok(Errno::EOPNOTSUPP.in_r0());
    };
    write(processor, NAME, 2, (args[1], &hash.value.to_ne_bytes()))?;
    write(processor, NAME, 3, (args[2], &hash.kind.to_ne_bytes()))?;
    Ok(0)
}

pub(super) fn timestamp(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_xdp_metadata_rx_timestamp";
    context(NAME, args[0])?;
    let Some(timestamp_ns) = received(processor).and_then(|received| received.timestamp_ns) else {
        return Ok(Errno::EOPNOTSUPP.in_r0());
    };
    write(processor, NAME, 2, (args[1], &timestamp_ns.to_ne_bytes()))?;
    Ok(0)
}

/// The protocol is in network order, the tag in host order.
pub(super) fn vlan_tag(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_xdp_metadata_rx_vlan_tag";
    context(NAME, args[0])?;
    let Some(vlan) = received(processor).and_then(|received| received.vlan) else {
        return Ok(Errno::EOPNOTSUPP.in_r0());
    };
    write(processor, NAME, 2, (args[1], &vlan.protocol.to_be_bytes()))?;
    write(processor, NAME, 3, (args[2], &vlan.tci.to_ne_bytes()))?;
    Ok(0)
}

fn received(processor: &Processor) -> Option<&Received> {
    let device = processor.shared.net.devices.at(processor.context.ingress_ifindex)?;
    Some(&device.received)
}
