//! IPv4 (RFC 791).

use serde::{Deserialize, Serialize};

use super::hex;
use crate::stream::build::{Builder, Cover, Names, Network, Slot};
use crate::stream::error::{Error, Reason};
use crate::stream::value::Value;

/// The IPv4 header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ipv4 {
    pub src: Option<Value>,
    pub dst: Option<Value>,
    /// 64 unless given.
    pub ttl: Option<Value>,
    /// Derived from the next layer unless given.
    pub protocol: Option<Value>,
    /// 0 unless given. `tos` sets the same bits together with those of `ecn`.
    pub dscp: Option<Value>,
    pub ecn: Option<Value>,
    pub tos: Option<Value>,
    /// Identification, 0 unless given.
    pub id: Option<Value>,
    pub dont_fragment: Option<Value>,
    pub more_fragments: Option<Value>,
    /// In units of 8 bytes, 0 unless given. After another value only bytes may follow.
    pub fragment_offset: Option<Value>,
    /// Hexadecimal, at most 40 bytes; padded with zeros to a multiple of four.
    pub options: Option<String>,
    /// 4 unless given.
    pub version: Option<Value>,
    /// In units of 4 bytes; derived from the options unless given.
    pub header_length: Option<Value>,
    /// Derived from the frame's size unless given.
    pub total_length: Option<Value>,
    /// Correct unless given as `broken` or a number.
    pub checksum: Option<Value>,
}

impl Ipv4 {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(20);
        self.options(b)?;
        let words = (b.end() - b.start()) / 4;
        b.set(Slot::number("version", 0, 4), &self.version, 4)?;
        b.fix(Slot::number("header_length", 4, 4), &self.header_length, words as u128)?;
        b.set(Slot::number("dscp", 8, 6), &self.dscp, 0)?;
        b.set(Slot::number("ecn", 14, 2), &self.ecn, 0)?;
        b.set(Slot::number("tos", 8, 8), &self.tos, 0)?;
        b.length(Slot::number("total_length", 16, 16), &self.total_length, b.start())?;
        b.set(Slot::number("id", 32, 16), &self.id, 0)?;
        b.set(Slot::number("dont_fragment", 49, 1), &self.dont_fragment, 0)?;
        b.set(Slot::number("more_fragments", 50, 1), &self.more_fragments, 0)?;
        b.set(Slot::number("fragment_offset", 51, 13), &self.fragment_offset, 0)?;
        b.set(Slot::number("ttl", 64, 8), &self.ttl, 64)?;
        b.require(Slot::v4("src", 12), &self.src)?;
        b.require(Slot::v4("dst", 16), &self.dst)?;
        b.checksum(Slot::number("checksum", 80, 16), &self.checksum, Cover::Header, false)?;
        b.named(Names::V4, Slot::number("protocol", 72, 8), &self.protocol)?;
        if Builder::is_other_than_zero(&self.fragment_offset) {
            b.only_data();
        }
        let at = b.start();
        b.enter_network(Network {
            is_v6: false,
            source: at + 12,
            destination: at + 16,
            len: 4,
            last_hop: None,
        });
        Ok(())
    }

    fn options(&self, b: &mut Builder) -> Result<(), Error> {
        let Some(text) = &self.options else { return Ok(()) };
        let mut options = hex(text).map_err(|reason| b.error("options", reason))?;
        if options.len() > 40 {
            let (len, max) = (options.len(), 40);
            return Err(b.error("options", Reason::OptionsTooLong { len, max }));
        }
        options.resize(options.len().next_multiple_of(4), 0);
        b.append(&options);
        Ok(())
    }
}
