//! `Notes`: what became of a capture's packets on their way into a recording.

use std::collections::BTreeMap;
use std::fmt;

use pcap::LinkType;

/// Counts of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// In the capture, as far as it was read.
    pub packets: u64,
    /// Left out, by reason.
    pub left_out: BTreeMap<Reason, u64>,
    /// Given an Ethernet header.
    pub framed: u64,
    /// Sent as far as they were captured, or with zeros behind that.
    pub cut: u64,
    pub padded: u64,
    /// In which an edit changed something.
    pub edited: u64,
    /// Captured before the one in front of them: sent right behind it.
    pub backwards: u64,
    /// Without a time: sent right behind the one in front of them.
    pub untimed: u64,
    /// Behind a gap that was shortened.
    pub shortened: u64,
    /// Why the capture was not read to its end.
    pub damage: Option<String>,
}

/// Why a packet is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Packets of this link type do not fit into Ethernet.
    LinkType(LinkType),
    /// Nothing that Ethernet can carry, although the link type is known.
    Protocol,
    /// Less than the link's header, or than an Ethernet header.
    Short,
    /// Longer than the MTU, or than a live frame.
    Long,
    /// Captured in part, and not wanted so.
    Cut,
}

impl Notes {
    /// Packets that are not sent.
    pub fn missing(&self) -> u64 {
        self.left_out.values().sum()
    }

    /// What is worth a remark, a line each.
    pub fn lines(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|(reason, count)| (*count, reason.to_string()));
        let others = [
            (self.framed, "given an Ethernet header"),
            (self.cut, "sent only as far as they were captured"),
            (self.padded, "padded with zeros to the length that they had"),
            (self.backwards, "captured before the one in front of them: sent in the file's order"),
            (self.untimed, "without a time: sent right behind the one in front of them"),
            (self.shortened, "sent earlier, behind a gap that was shortened"),
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
    /// Behind a count.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(kind) => write!(f, "left out: {kind} does not map to Ethernet"),
            Self::Protocol => f.write_str("left out: nothing that Ethernet carries"),
            Self::Short => f.write_str("left out: shorter than their header"),
            Self::Long => f.write_str("left out: longer than the MTU or a live frame"),
            Self::Cut => f.write_str("left out: captured only in part"),
        }
    }
}
