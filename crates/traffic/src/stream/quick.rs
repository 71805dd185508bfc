//! `Quick`: common streams from a few values, for flags.

use std::str::FromStr;

use super::file::Stream;
use super::flows::Flows;
use super::layer::{Arp, Ethernet, Icmp, Ipv4, Ipv6, Layer, Payload, Raw, Solicitation};
use super::layer::{Tcp, Udp, Vlan};
use super::size::Sizes;
use super::value::{Pool, Value, Vary};
use crate::stamp::Expect;

/// One stream as given by flags. [`Quick::new`] leaves everything optional out.
#[derive(Clone, Debug, PartialEq)]
pub struct Quick {
    pub protocol: QuickProtocol,
    pub name: String,
    /// Required by [`Stream::template`], like `dst_mac`; [`Stream::address`] sets both.
    pub src_mac: Option<Value>,
    pub dst_mac: Option<Value>,
    /// Source address, IPv4 or IPv6; `dst` must be of the same family.
    pub src: Option<Value>,
    pub dst: Option<Value>,
    pub sport: Option<Value>,
    pub dport: Option<Value>,
    pub ttl: Option<Value>,
    pub dscp: Option<Value>,
    /// Outermost first.
    pub vlans: Vec<Value>,
    pub size: Option<Sizes>,
    pub flows: Option<Flows>,
    /// Bytes after the headers; zeros when `None`.
    pub payload: Option<Payload>,
    /// Checksum of the innermost protocol: `"broken"`, `"none"` or a number; correct when `None`.
    pub checksum: Option<Value>,
    pub stamp: bool,
    pub expect: Expect,
}

/// The innermost protocol of a [`Quick`] stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuickProtocol {
    Udp,
    /// A segment with SYN and the usual options.
    TcpSyn,
    /// Echo requests.
    Icmp,
    /// ARP requests, or neighbor solicitations over IPv6, for the address `dst`.
    Arp,
    /// A whole frame in hexadecimal; of the other settings only size, stamp and name apply.
    Raw(String),
}

impl Quick {
    /// A stream of this protocol with default values.
    pub fn new(protocol: QuickProtocol) -> Self {
        Self {
            protocol,
            name: "quick".into(),
            src_mac: None,
            dst_mac: None,
            src: None,
            dst: None,
            sport: None,
            dport: None,
            ttl: None,
            dscp: None,
            vlans: Vec::new(),
            size: None,
            flows: None,
            payload: None,
            checksum: None,
            stamp: false,
            expect: Expect::Pass,
        }
    }

    /// Converts to a stream as a file describes it. [`Stream::template`] reports missing and
    /// invalid values.
    pub fn stream(&self) -> Stream {
        Stream {
            name: self.name.clone(),
            stamp: self.stamp,
            expect: self.expect,
            size: self.size.clone(),
            flows: self.flows.clone(),
            layers: self.layers(),
            ..Stream::default()
        }
    }

    fn layers(&self) -> Vec<Layer> {
        if let QuickProtocol::Raw(hex) = &self.protocol {
            return vec![Layer::Raw(Raw { hex: Some(hex.clone()), ..Raw::default() })];
        }
        let is_v6 = [&self.src, &self.dst].into_iter().flatten().any(is_v6);
        let mut layers = vec![self.ethernet(is_v6)];
        layers.extend(
            self.vlans
                .iter()
                .map(|id| Layer::Vlan(Vlan { id: Some(id.clone()), ..Vlan::default() })),
        );
        if self.protocol == QuickProtocol::Arp && !is_v6 {
            layers.push(self.arp());
            return layers;
        }
        layers.push(if is_v6 { self.ipv6() } else { self.ipv4() });
        layers.push(self.innermost(is_v6));
        if self.protocol != QuickProtocol::Arp {
            layers.extend(self.payload.clone().map(Layer::Payload));
        }
        layers
    }

    /// ARP requests are broadcast.
    fn ethernet(&self, is_v6: bool) -> Layer {
        let broadcast = match (&self.protocol, is_v6) {
            (QuickProtocol::Arp, false) => Some(Value::from("ff:ff:ff:ff:ff:ff")),
            (QuickProtocol::Arp, true) => Some(Value::from("33:33:00:00:00:01")),
            _ => None,
        };
        let dst = self.dst_mac.clone().or(broadcast);
        Layer::Ethernet(Ethernet { src: self.src_mac.clone(), dst, ethertype: None })
    }

    fn ipv4(&self) -> Layer {
        Layer::Ipv4(Ipv4 {
            src: self.src.clone(),
            dst: self.dst.clone(),
            ttl: self.ttl.clone(),
            dscp: self.dscp.clone(),
            ..Ipv4::default()
        })
    }

    /// Solicitations go to all nodes, since the multicast group of a varying target would vary.
    fn ipv6(&self) -> Layer {
        let asks = self.protocol == QuickProtocol::Arp;
        let dst = if asks { Some(Value::from("ff02::1")) } else { self.dst.clone() };
        Layer::Ipv6(Ipv6 {
            src: self.src.clone(),
            dst,
            hop_limit: self.ttl.clone(),
            dscp: self.dscp.clone(),
            ..Ipv6::default()
        })
    }

    fn arp(&self) -> Layer {
        let (sender_ip, target_ip) = (self.src.clone(), self.dst.clone());
        Layer::Arp(Arp { sender_ip, target_ip, ..Arp::default() })
    }

    fn innermost(&self, is_v6: bool) -> Layer {
        let (src, dst) = (self.sport.clone(), self.dport.clone());
        let checksum = self.checksum.clone();
        match self.protocol {
            QuickProtocol::Udp => Layer::Udp(Udp { src, dst, checksum, length: None }),
            QuickProtocol::TcpSyn => Layer::Tcp(Tcp { checksum, ..Tcp::syn(src, dst) }),
            QuickProtocol::Icmp | QuickProtocol::Raw(_) => {
                let echo = Icmp { checksum, ..Icmp::default() };
                if is_v6 { Layer::Icmpv6(echo) } else { Layer::Icmp(echo) }
            }
            QuickProtocol::Arp => Layer::NeighbourSolicitation(Solicitation {
                target: self.dst.clone(),
                link: self.src_mac.clone(),
                checksum,
            }),
        }
    }
}

fn is_v6(value: &Value) -> bool {
    let text = match value {
        Value::Constant(atom) => atom.to_string(),
        Value::Vary(Vary { pool: Pool::Range(text), .. }) => text.clone(),
        Value::Vary(Vary { pool: Pool::List(list), .. }) => {
            list.iter().map(ToString::to_string).collect()
        }
    };
    text.contains(':')
}

/// Text that is not a [`QuickProtocol`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown protocol \"{text}\"; expected udp, tcp-syn, icmp, arp or raw:HEX")]
pub struct UnknownQuickProtocol {
    pub text: String,
}

impl FromStr for QuickProtocol {
    type Err = UnknownQuickProtocol;

    fn from_str(text: &str) -> Result<Self, UnknownQuickProtocol> {
        match text {
            "udp" => Ok(Self::Udp),
            "tcp-syn" => Ok(Self::TcpSyn),
            "icmp" => Ok(Self::Icmp),
            "arp" => Ok(Self::Arp),
            _ => match text.strip_prefix("raw:") {
                Some(hex) => Ok(Self::Raw(hex.to_owned())),
                None => Err(UnknownQuickProtocol { text: text.to_owned() }),
            },
        }
    }
}
