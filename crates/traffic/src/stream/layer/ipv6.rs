//! IPv6 (RFC 8200).

use serde::{Deserialize, Serialize};

use super::Layer;
use crate::stream::build::{Builder, Names, Network, Slot};
use crate::stream::error::Error;
use crate::stream::value::Value;

/// The IPv6 header; extension headers are layers of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ipv6 {
    pub src: Option<Value>,
    pub dst: Option<Value>,
    /// 64 unless given; 255 before a neighbor solicitation.
    pub hop_limit: Option<Value>,
    /// Derived from the next layer unless given.
    pub next_header: Option<Value>,
    /// 0 unless given. `traffic_class` sets the same bits together with those of `ecn`.
    pub dscp: Option<Value>,
    pub ecn: Option<Value>,
    pub traffic_class: Option<Value>,
    /// 20 bits, 0 unless given.
    pub flow_label: Option<Value>,
    /// 6 unless given.
    pub version: Option<Value>,
    /// Derived from the frame's size unless given.
    pub payload_length: Option<Value>,
}

impl Ipv6 {
    pub(super) const LEN: usize = 40;
    const HOP_LIMIT: Slot = Slot::number("hop_limit", 56, 8);

    pub(super) fn build(&self, b: &mut Builder, after: Option<&Layer>) -> Result<(), Error> {
        b.grow(Self::LEN);
        let at = b.start();
        b.set(Slot::number("version", 0, 4), &self.version, 6)?;
        b.set(Slot::number("dscp", 4, 6), &self.dscp, 0)?;
        b.set(Slot::number("ecn", 10, 2), &self.ecn, 0)?;
        b.set(Slot::number("traffic_class", 4, 8), &self.traffic_class, 0)?;
        b.set(Slot::number("flow_label", 12, 20), &self.flow_label, 0)?;
        b.length(Slot::number("payload_length", 32, 16), &self.payload_length, at + Self::LEN)?;
        let solicits = matches!(after, Some(Layer::NeighbourSolicitation(_)));
        b.set(Self::HOP_LIMIT, &self.hop_limit, if solicits { 255 } else { 64 })?;
        b.require(Slot::v6("src", 8), &self.src)?;
        b.require(Slot::v6("dst", 24), &self.dst)?;
        b.named(Names::V6, Slot::number("next_header", 48, 8), &self.next_header)?;
        b.enter_network(Network {
            is_v6: true,
            source: at + 8,
            destination: at + 24,
            len: 16,
            last_hop: None,
        });
        Ok(())
    }
}
