//! ARP for IPv4 over Ethernet (RFC 826).

use serde::{Deserialize, Serialize};

use super::ethernet::Ethernet;
use crate::stream::build::{Builder, Names, Slot};
use crate::stream::error::Error;
use crate::stream::number::Kind;
use crate::stream::value::Value;

/// An ARP request unless `op` is given. Bytes after it are Ethernet padding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Arp {
    /// `request` (the default), `reply` or a number.
    pub op: Option<Value>,
    /// The source address of the frame unless given, also where that one varies.
    pub sender_mac: Option<Value>,
    pub sender_ip: Option<Value>,
    /// 0 unless given.
    pub target_mac: Option<Value>,
    pub target_ip: Option<Value>,
}

impl Arp {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.append(&[0, 1, 8, 0, 6, 4]);
        b.grow(22);
        let op = Slot::new("op", 48, 16, Kind::Names(&[("request", 1), ("reply", 2)]));
        b.set(op, &self.op, 1)?;
        let sender = Slot::mac("sender_mac", 8);
        match self.sender_mac {
            None => b.copy(sender, (b.ethernet() + Ethernet::SOURCE) * 8),
            ref mac => b.set(sender, mac, 0)?,
        }
        b.require(Slot::v4("sender_ip", 14), &self.sender_ip)?;
        b.set(Slot::mac("target_mac", 18), &self.target_mac, 0)?;
        b.require(Slot::v4("target_ip", 24), &self.target_ip)?;
        b.pad();
        b.unnamed(Names::Nothing);
        Ok(())
    }
}
