//! `Notes`: counts of packets that were changed or omitted when a capture was read.

use std::collections::BTreeMap;
use std::fmt;

use pcap::LinkType;

/// Counts of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Packets of the capture that were read.
    pub packets: u64,
    /// Packets that are omitted, by reason.
    pub left_out: BTreeMap<Reason, u64>,
    /// Packets to which an Ethernet header was added, by link type.
    pub framed: BTreeMap<LinkType, u64>,
    /// Truncated packets that are sent as captured.
    pub cut: u64,
    /// Truncated packets that are padded with zeros.
    pub padded: u64,
    /// Packets that an edit changed.
    pub edited: u64,
    /// Packets with an earlier time than the previous one: sent directly after it.
    pub backwards: u64,
    /// Packets without a time: sent directly after the previous one.
    pub untimed: u64,
    /// Packets after a gap that was shortened.
    pub shortened: u64,
    /// Why the capture was not read to its end.
    pub damage: Option<String>,
}

/// Why a packet is omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Packets of this link type do not fit into Ethernet.
    LinkType(LinkType),
    /// The protocol cannot be carried by Ethernet, although the link type is known.
    Protocol,
    /// Shorter than the link header, or than an Ethernet header.
    Short,
    /// Longer than the MTU, or than a live frame.
    Long,
    /// Truncated, and omitted by the options.
    Cut,
}

impl Notes {
    /// Number of omitted packets.
    pub fn missing(&self) -> u64 {
        self.left_out.values().sum()
    }

    /// The counts that are not zero, one per line.
    pub fn lines(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|(reason, count)| (*count, reason.to_string()));
        let others = [
            (self.framed.values().sum(), "given an Ethernet header"),
            (self.cut, "sent only as far as they were captured"),
            (self.padded, "padded with zeros to the length that they had"),
            (self.backwards, "captured before the previous packet: sent in the order of the file"),
            (self.untimed, "without a time: sent directly after the previous packet"),
            (self.shortened, "sent earlier, after a gap that was shortened"),
        ];
        let others = others.into_iter().map(|(count, text)| (count, text.to_owned()));
        let lines = left_out.chain(others).filter(|(count, _)| *count > 0);
        let mut lines: Vec<_> = lines.map(|(count, text)| format!("{count} {text}")).collect();
        lines.extend(self.damage.iter().map(|why| format!("not read to its end: {why}")));
        lines
    }

    pub(super) fn leave_out(&mut self, reason: Reason) {
        *self.left_out.entry(reason).or_default() += 1;
    }
}

impl fmt::Display for Reason {
    /// The text after a count.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(kind) => {
                write!(f, "left out: {kind} does not map to Ethernet: {}", kind.remedy())
            }
            Self::Protocol => f.write_str("left out: not a protocol that Ethernet carries"),
            Self::Short => f.write_str("left out: shorter than their header"),
            Self::Long => f.write_str("left out: longer than the MTU or a live frame"),
            Self::Cut => f.write_str("left out: captured only in part"),
        }
    }
}
