//! Rows beside the plain ones: packets with VLAN tags, packets whose TTL is used up, and sources
//! that are checked.
//!
//! Rule: a variant is a row of `ours` with one route, and differs from the plain row in what its
//! name states. Not here: connections (`tracked`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::Result;
use functions::route::{Config, IcmpErrors, Nat, Port, Reason, ReversePath, Tags};
use kernel::Object;
use packet::{EtherType, VlanTag};
use traffic::Template;

use super::alone::{Alone, Meets, Outcome};
use super::flood::{Counted, Passage};
use super::frames::Rewrite;
use super::net::Net;
use super::packets::Packets;
use super::way::{Loaded, Memory, Setup, Way};
use crate::harness::{Arm, Value};
use crate::hook::limit;

/// How the packets, or what the router does with them, differ from those of the plain row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Frames come in without a tag and leave with one.
    TagAdded,
    /// They come in with a tag and leave without one.
    TagRemoved,
    /// They come in with a tag and leave with another one.
    TagReplaced,
    /// The TTL of all packets is used up, and each is answered.
    Answered,
    /// The packets of `Answered` with the default limits: nearly all are dropped.
    Limited,
    /// The packets of `Answered`, dropped by a program that does nothing else.
    Dropped,
    /// All packets are dropped by a route.
    Blackhole,
    /// Every other packet is one of `Limited`.
    MixedLimited,
    /// Every other packet is one of `Blackhole`.
    MixedBlackhole,
    /// Packets of many sources, which are not checked.
    SourceUnchecked,
    /// There must be a route to the source.
    SourceLoose,
    /// The route to the source must lead back.
    SourceStrict,
}

impl Variant {
    /// Variants that are measured by test run.
    pub const ALONE: [Self; 9] = [
        Self::TagAdded,
        Self::TagRemoved,
        Self::TagReplaced,
        Self::Answered,
        Self::Limited,
        Self::Blackhole,
        Self::SourceUnchecked,
        Self::SourceLoose,
        Self::SourceStrict,
    ];

    /// Variants that are measured by a flood.
    pub const LIVE: [Self; 8] = [
        Self::TagAdded,
        Self::TagRemoved,
        Self::TagReplaced,
        Self::Answered,
        Self::Limited,
        Self::Dropped,
        Self::MixedLimited,
        Self::MixedBlackhole,
    ];

    /// The end of its row's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TagAdded => "tagged/added",
            Self::TagRemoved => "tagged/removed",
            Self::TagReplaced => "tagged/replaced",
            Self::Answered => "expired/answered",
            Self::Limited => "expired/limited",
            Self::Dropped => "expired/dropped",
            Self::Blackhole => "blackhole",
            Self::MixedLimited => "mixed/limited",
            Self::MixedBlackhole => "mixed/blackhole",
            Self::SourceUnchecked => "reverse-path/off",
            Self::SourceLoose => "reverse-path/loose",
            Self::SourceStrict => "reverse-path/strict",
        }
    }

    /// The tags that frames come in and leave with.
    fn tags(self) -> Result<[Option<VlanTag>; 2]> {
        let [near, far] = [NEAR, FAR].map(|id| VlanTag::new(EtherType::VLAN, id));
        let (near, far) = (near?, far?);
        Ok(match self {
            Self::TagAdded => [None, Some(far)],
            Self::TagRemoved => [Some(near), None],
            Self::TagReplaced => [Some(near), Some(far)],
            _ => [None, None],
        })
    }

    /// Its packets, or every other one of them.
    fn packets<'a>(self, destinations: &'a [IpAddr]) -> Result<Packets<'a>> {
        let plain = Packets::to(destinations);
        let is_ipv6 = destinations.iter().any(IpAddr::is_ipv6);
        Ok(match self {
            Self::TagAdded | Self::TagRemoved | Self::TagReplaced => {
                let [tag, _] = self.tags()?;
                Packets { tag, ..plain }
            }
            Self::Answered | Self::Limited | Self::Dropped | Self::MixedLimited => {
                Packets { ttl: 1, ..plain }
            }
            Self::Blackhole | Self::MixedBlackhole => {
                Packets { destinations: if is_ipv6 { &DARK6 } else { &DARK4 }, ..plain }
            }
            Self::SourceUnchecked | Self::SourceLoose | Self::SourceStrict => {
                Packets { sources: SOURCES, ..plain }
            }
        })
    }

    fn setup(self, net: &Net) -> Result<Setup> {
        let [tag, sent] = self.tags()?;
        let config = match self {
            Self::Answered => Config { icmp_errors: IcmpErrors::UNLIMITED, ..Config::default() },
            Self::SourceLoose => Config { reverse_path: ReversePath::Loose, ..Config::default() },
            Self::SourceStrict => Config { reverse_path: ReversePath::Strict, ..Config::default() },
            _ => Config::default(),
        };
        let ports = match tag {
            None => Vec::new(),
            Some(tag) => vec![Port {
                ifindex: net.vlan.ifindex()?.0,
                mac: Some(net.near.mac()?.0),
                device: net.near.ifindex()?.0,
                tags: Tags::single(tag),
            }],
        };
        let sent = sent.map_or(Tags::NONE, Tags::single);
        let config = Config { nat: Nat::Off, ..config };
        Ok(Setup { config, ports, sent, ..Setup::default() })
    }

    fn outcome(self, net: &Net) -> Result<Outcome> {
        let [_, sent] = self.tags()?;
        let tag = sent.map(VlanTag::to_bytes);
        let macs = |to: [u8; 6], from: [u8; 6]| [to, from].concat();
        Ok(match self {
            Self::Answered => Outcome::Sends(macs(net.sender.mac()?.0, net.near.mac()?.0)),
            Self::Limited => Outcome::DropsMost,
            Self::Blackhole => Outcome::Drops,
            _ => {
                let mut link = macs(net.sink.mac()?.0, net.far.mac()?.0);
                link.extend(tag.as_ref().map_or(&[][..], |tag| tag));
                Outcome::Sends(link)
            }
        })
    }

    /// By test run, without driver, sender and sink.
    pub fn alone<'a>(self, net: &'a Net, destinations: &'a [IpAddr]) -> Result<Alone<'a>> {
        let rewrite = match self {
            // The default limits let a few be answered.
            Self::TagAdded | Self::TagRemoved | Self::Answered | Self::Limited => {
                Rewrite::Beginning
            }
            _ => Rewrite::Nothing,
        };
        Ok(Alone {
            net,
            way: OURS,
            setup: self.setup(net)?,
            meets: Meets::Packets(self.packets(destinations)?),
            rewrite,
            outcome: self.outcome(net)?,
        })
    }

    /// By a flood from the sender.
    pub fn live<'a>(self, net: &'a Net, destinations: &'a [IpAddr], row: String) -> Arm<'a> {
        let mut loaded = None;
        Arm::wide(&row.clone(), move |window| {
            let live = match &mut loaded {
                Some(live) => live,
                empty => empty.insert(self.load(net, destinations)?),
            };
            let span = live.passage(self, net)?.measure(window)?;
            Ok(vec![Value::new(&row, "pps", span.rate())])
        })
    }

    fn load(self, net: &Net, destinations: &[IpAddr]) -> Result<Live> {
        let setup = self.setup(net)?;
        let (spec, name) = OURS.spec(net, &setup)?.unwrap_or_default();
        let router = OURS.start(net, &setup, &spec, name)?;
        let mut streams = vec![net.stream_of(&self.packets(destinations)?)?];
        if matches!(self, Self::MixedLimited | Self::MixedBlackhole) {
            streams.push(net.stream(destinations)?);
        }
        Ok(Live { router, drops: limit::object()?, streams })
    }
}

/// What a flood needs.
struct Live {
    router: Loaded,
    drops: Object,
    streams: Vec<Template>,
}

impl Live {
    fn passage<'a>(&'a self, variant: Variant, net: &'a Net) -> Result<Passage<'a>> {
        let drops = self.drops.program(limit::NAME)?;
        let (program, counted) = match variant {
            Variant::Answered => (self.router.program()?, Counted::Sender(drops)),
            Variant::Limited => {
                (self.router.program()?, Counted::Reason(&self.router, Reason::IcmpLimit))
            }
            Variant::Dropped => (drops, Counted::Router),
            _ => (self.router.program()?, Counted::Sink),
        };
        Ok(Passage { net, program: Some(program), streams: &self.streams, counted })
    }
}

const OURS: Way = Way::Ours(Memory::Followed);
/// VLAN IDs of the tags before and after the router.
const NEAR: u16 = 7;
const FAR: u16 = 5;
/// Sources of packets whose sources are checked: all are in the sender's network.
const SOURCES: u8 = 250;
/// Destinations whose packets a route drops: in networks for measurements and for documentation.
static DARK4: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1))];
static DARK6: [IpAddr; 1] = [IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_have_names_of_their_own() {
        for list in [&Variant::ALONE[..], &Variant::LIVE[..]] {
            let names: BTreeSet<_> = list.iter().map(|variant| variant.name()).collect();
            assert_eq!(names.len(), list.len());
        }
    }

    #[test]
    fn packets_differ_as_the_name_states() {
        let destinations = ["9.1.2.3".parse().unwrap()];
        let packets = |variant: Variant| variant.packets(&destinations).unwrap();
        assert_eq!(packets(Variant::TagReplaced).tag.unwrap().id(), NEAR);
        assert_eq!(packets(Variant::TagAdded).tag, None);
        assert_eq!(packets(Variant::Limited).ttl, 1);
        assert_eq!(packets(Variant::Blackhole).destinations, DARK4);
        assert_eq!(packets(Variant::SourceUnchecked).sources, SOURCES);
    }
}
