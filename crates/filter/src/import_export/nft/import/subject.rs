//! `Subject`: the left side of a match statement.

use serde_json::Value;

use super::names::{self, Names};
use super::unsupported;
use crate::import_export::error::nft::ImportError;
use crate::{Base, Field, Side};

/// The left side of a match.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    /// A field, with the conditions under which packets have it.
    Field(Number),
    /// Type or code of ICMP in version 4 or 6.
    Icmp {
        is_v6: bool,
        is_code: bool,
    },
    Address(Side, Family),
    /// TCP flags under a mask.
    TcpFlags(Option<u8>),
    /// The fragment offset of IPv4.
    FragmentOffset,
    NextHeader,
    Interface,
    Raw {
        base: Base,
        offset: u16,
        bytes: usize,
        mask: Option<u64>,
    },
}

/// A number of nft that is a field of the filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub field: Field,
    pub names: Names,
    pub ether_type: Option<u16>,
    pub protocol: Protocol,
    /// The difference between the value here and the value in nft.
    pub more: u128,
}

/// The protocol that packets with a field have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Any,
    One(u8),
    /// A protocol with ports, which another match names.
    WithPorts,
}

/// The family of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Subject {
    /// Reads the left side of a match.
    pub fn read(left: &Value) -> Result<Self, ImportError> {
        let unknown = || unsupported::expression(left);
        if let Some(key) = left["meta"]["key"].as_str() {
            return Self::meta(key).ok_or_else(unknown);
        }
        if let Some(masked) = left["&"].as_array() {
            let [of, mask] = &masked[..] else { return Err(unknown()) };
            return Self::masked(Self::read(of), of, mask);
        }
        let payload = &left["payload"];
        if payload["base"].is_string() {
            return Self::raw(payload).ok_or_else(unknown);
        }
        let (protocol, field) = (&payload["protocol"], &payload["field"]);
        match (protocol.as_str(), field.as_str()) {
            (Some(protocol), Some(field)) => Self::payload(protocol, field).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }

    fn meta(key: &str) -> Option<Self> {
        let plain = |field, names| Some(Self::Field(Number::plain(field, names)));
        match key {
            "l4proto" => plain(Field::Protocol, names::PROTOCOLS),
            "protocol" => plain(Field::EtherType, names::ETHER_TYPES),
            "nfproto" => plain(Field::EtherType, names::FAMILIES),
            // nft does not count the Ethernet header.
            "length" => Some(Self::Field(Number { more: 14, ..Number::plain(Field::Length, &[]) })),
            "iifname" | "iif" => Some(Self::Interface),
            _ => None,
        }
    }

    fn payload(protocol: &str, field: &str) -> Option<Self> {
        let plain = |field, names| Some(Self::Field(Number::plain(field, names)));
        let (ether_type, family) = match protocol {
            "ip6" => (Some(crate::import_export::conjunction::IPV6), Family::V6),
            _ => (Some(crate::import_export::conjunction::IPV4), Family::V4),
        };
        let of_ip =
            |field, names| Some(Self::Field(Number { ether_type, ..Number::plain(field, names) }));
        match (protocol, field) {
            ("ether", "saddr") => plain(Field::SourceMac, &[]),
            ("ether", "daddr") => plain(Field::DestMac, &[]),
            ("ether", "type") => plain(Field::EtherType, names::ETHER_TYPES),
            ("vlan", "id") => plain(Field::Vlan, &[]),
            ("ip" | "ip6", "saddr") => Some(Self::Address(Side::Source, family)),
            ("ip" | "ip6", "daddr") => Some(Self::Address(Side::Dest, family)),
            ("ip" | "ip6", "dscp") => of_ip(Field::Dscp, names::DSCP),
            ("ip", "ttl") | ("ip6", "hoplimit") => of_ip(Field::Ttl, &[]),
            ("ip", "protocol") => of_ip(Field::Protocol, names::PROTOCOLS),
            ("ip6", "nexthdr") => Some(Self::NextHeader),
            ("tcp", "flags") => Some(Self::TcpFlags(None)),
            ("icmp" | "icmpv6", "type" | "code") => {
                Some(Self::Icmp { is_v6: protocol == "icmpv6", is_code: field == "code" })
            }
            (_, "sport") => Self::port(protocol, Field::SourcePort),
            (_, "dport") => Self::port(protocol, Field::DestPort),
            _ => None,
        }
    }

    fn port(protocol: &str, field: Field) -> Option<Self> {
        let protocol = match protocol {
            "th" => Protocol::WithPorts,
            "tcp" | "udp" | "sctp" | "dccp" | "udplite" => {
                Protocol::One(names::number(names::PROTOCOLS, protocol)? as u8)
            }
            _ => return None,
        };
        Some(Self::Field(Number { protocol, ..Number::plain(field, &[]) }))
    }

    fn masked(
        subject: Result<Self, ImportError>,
        of: &Value,
        mask: &Value,
    ) -> Result<Self, ImportError> {
        let number = mask.as_u64();
        if of["payload"]["protocol"] == "ip" && of["payload"]["field"] == "frag-off" {
            return match number {
                Some(0x1fff) => Ok(Self::FragmentOffset),
                _ => Err(ImportError::FragmentMask),
            };
        }
        match subject? {
            Self::TcpFlags(None) => {
                super::number::flags(mask).map(|mask| Self::TcpFlags(Some(mask)))
            }
            Self::Raw { base, offset, bytes, mask: None } if number.is_some() => {
                Ok(Self::Raw { base, offset, bytes, mask: number })
            }
            _ => Err(ImportError::Mask),
        }
    }

    /// Whole bytes, at most eight.
    fn raw(payload: &Value) -> Option<Self> {
        let base = match payload["base"].as_str()? {
            "ll" => Base::Frame,
            "nh" => Base::Network,
            "th" => Base::Transport,
            _ => return None,
        };
        let (offset, len) = (payload["offset"].as_u64()?, payload["len"].as_u64()?);
        if offset % 8 != 0 || len % 8 != 0 || !(8..=64).contains(&len) {
            return None;
        }
        let offset = u16::try_from(offset / 8).ok()?;
        Some(Self::Raw { base, offset, bytes: len as usize / 8, mask: None })
    }
}

impl Number {
    const fn plain(field: Field, names: Names) -> Self {
        Self { field, names, ether_type: None, protocol: Protocol::Any, more: 0 }
    }
}
