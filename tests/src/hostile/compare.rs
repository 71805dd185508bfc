//! What a program of ours passes, beside Linux: what the stack accepts without rules, and what
//! equal rules of nft let through, at ingress and at input.

use filter::model::headers::Layer;
use filter::{Field, PacketFields, Reason};

use super::site::{LAST, Numbered, Record, Site, stamp};
use super::{HOST, Hostile, fragments, frame, frame_unlike_nft};
use crate::random::Random;

/// Four hosts that get the same frames, but for the first and the last one.
#[derive(Debug, Default)]
pub struct Sites {
    /// No rules. Frames arrive without their tags, as from the devices of their VLANs.
    plain: Site,
    ingress: Site,
    input: Site,
    /// No rules; only frames that our program passes are sent there.
    ours: Site,
}

/// A frame with what decided about it.
#[derive(Debug)]
pub struct Judged {
    pub number: u16,
    /// The number of the first frame of its packet.
    pub packet: u16,
    pub bytes: Vec<u8>,
    /// What is wrong with it, for messages.
    pub faults: Vec<&'static str>,
    pub passes: bool,
    /// A policy for malformed or fragmented packets decided, and no rule.
    pub by_policy: bool,
    /// Some rule asks for the length of the frame.
    pub by_length: bool,
    /// As the program reads it; no part that it does not read.
    pub layers: Vec<Layer>,
}

/// A difference between our program and Linux.
#[derive(Debug)]
pub struct Case<'a> {
    pub frame: &'a Judged,
    /// Whether the stack, without rules, delivers it.
    pub is_delivered: bool,
    /// Where nft decided otherwise.
    pub hook: &'static str,
}

/// Why our program and nft may differ, and what holds of the frame then.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub holds: fn(&Case<'_>) -> bool,
}

/// What differs, over all frames.
#[derive(Debug, Default)]
pub struct Findings {
    rows: Vec<(Row, u64)>,
    pub unexplained: Vec<String>,
    pub compared: u64,
    pub delivered: u64,
    pub passed: u64,
}

impl Sites {
    /// Replaces the rules at both hooks: the bodies of chains, and the policy. `None` where the
    /// hook has no equal rules.
    ///
    /// # Errors
    /// What nft refuses, in its words.
    pub fn load(&self, policy: &str, ingress: &str, input: Option<&str>) -> Result<(), String> {
        let chain = |family, hook, policy: &str, rules: &str| {
            format!(
                "table {family} rules {{\nchain rules {{\n\
                 type filter hook {hook} priority 0; policy {policy}\n{rules}\n}}\n}}\n"
            )
        };
        let device = "ingress device \"eth0\"";
        self.ingress.load("netdev rules", &chain("netdev", device, policy, ingress))?;
        let (policy, rules) = input.map_or(("accept", ""), |rules| (policy, rules));
        self.input.load("inet rules", &chain("inet", "input", policy, rules))
    }

    /// Sends the frames, and notes what differs.
    pub fn compare(&self, frames: &[Judged], has_input: bool, findings: &mut Findings) {
        let numbered = |frame: &Judged| (frame.number, frame.bytes.clone());
        let all: Vec<Numbered> = frames.iter().map(numbered).collect();
        let passed: Vec<_> = frames.iter().filter(|frame| frame.passes).map(numbered).collect();
        let untagged: Vec<_> = frames.iter().map(|it| (it.number, untagged(&it.bytes))).collect();
        let (plain, ingress) = (self.plain.send(&untagged), self.ingress.send(&all));
        for frame in frames {
            findings.at_ingress(frame, &plain, &ingress);
        }
        if has_input {
            let (input, ours) = (self.input.send(&all), self.ours.send(&passed));
            findings.at_input(frames, &plain, [&ours, &input]);
        }
    }
}

impl Findings {
    pub fn new(rows: impl IntoIterator<Item = Row>) -> Self {
        Self { rows: rows.into_iter().map(|row| (row, 0)).collect(), ..Self::default() }
    }

    /// Frame by frame; what the stack does not accept, whatever the rules, is not compared.
    fn at_ingress(&mut self, frame: &Judged, plain: &Record, nft: &Record) {
        let number = &frame.number;
        let is_delivered = plain.input.contains(number);
        self.compared += 1;
        self.delivered += u64::from(is_delivered);
        self.passed += u64::from(frame.passes);
        let by_policy = !frame.passes && frame.by_policy;
        if is_acceptable(frame, plain) && !by_policy && frame.passes != nft.passed.contains(number)
        {
            self.note(&Case { frame, is_delivered, hook: "ingress" });
        }
    }

    /// Packet by packet: what reaches the host.
    fn at_input(&mut self, frames: &[Judged], plain: &Record, [ours, nft]: [&Record; 2]) {
        let mut rest = frames;
        while let Some(first) = rest.first() {
            let frames = rest.iter().take_while(|frame| frame.packet == first.packet).count();
            let (packet, others) = rest.split_at(frames);
            rest = others;
            let delivers =
                |record: &Record| packet.iter().any(|frame| record.input.contains(&frame.number));
            let [is_delivered, is_ours, is_nft] = [plain, ours, nft].map(delivers);
            let by_policy = packet.iter().any(|frame| !frame.passes && frame.by_policy);
            if is_ours == is_nft || !is_ours && by_policy {
                continue;
            }
            let case = |frame| Case { frame, is_delivered, hook: "input" };
            let explained = packet.iter().find(|frame| self.row(&case(*frame)).is_some());
            self.note(&case(explained.unwrap_or(first)));
        }
    }

    fn row(&self, case: &Case<'_>) -> Option<usize> {
        self.rows.iter().position(|(row, _)| (row.holds)(case))
    }

    fn note(&mut self, case: &Case<'_>) {
        match self.row(case) {
            Some(row) => self.rows[row].1 += 1,
            None => self.unexplained.push(case.to_text()),
        }
    }

    /// Fails on a difference that no row explains, and on a row that no frame met.
    ///
    /// # Panics
    /// In these cases; with the frames.
    pub fn assert_explained(&self, seed: u64) {
        const SHOWN: usize = 10;
        let count = self.unexplained.len();
        let shown = self.unexplained[..count.min(SHOWN)].join("\n");
        assert!(count == 0, "seed {seed}: {count} differences without a reason:\n{shown}");
        let met = |(row, met): &(Row, u64)| (*met == 0).then_some(row.name);
        let never: Vec<_> = self.rows.iter().filter_map(met).collect();
        assert!(never.is_empty(), "seed {seed}: no frame met these rows: {never:?}");
    }

    /// Frames for each row.
    pub fn to_text(&self) -> String {
        let rows = self.rows.iter().map(|(row, met)| format!("{}: {met}", row.name));
        format!(
            "{} compared, {} delivered by the stack, {} passed; differences: {}",
            self.compared,
            self.delivered,
            self.passed,
            rows.collect::<Vec<_>>().join(", ")
        )
    }
}

impl Case<'_> {
    /// Malformed in this way, itself or a packet inside of it.
    pub fn is(&self, oddity: Reason) -> bool {
        self.frame.layers.iter().any(|layer| layer.oddities.contains(&oddity))
    }

    /// What was read of the outermost packet.
    pub fn facts(&self) -> &PacketFields {
        &self.frame.layers[0].fields
    }

    /// Malformed in this way, after an IP header that could be read to its end.
    pub fn is_above_ip(&self, oddity: Reason) -> bool {
        let is = |layer: &Layer| {
            layer.oddities.contains(&oddity) && layer.fields.field(Field::Protocol).is_some()
        };
        self.frame.layers.iter().any(is)
    }

    fn to_text(&self) -> String {
        let Judged { bytes, faults, passes, layers, number, .. } = self.frame;
        let odd: Vec<_> = layers.iter().map(|layer| &layer.oddities).collect();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let ours = if *passes { "passes" } else { "drops" };
        format!(
            "{}: ours {ours} frame {number}, nft does not; delivered: {}, {faults:?}, {odd:?}\n\
             {hex}",
            self.hook, self.is_delivered
        )
    }
}

/// Whether the stack accepts the frame, or another protocol than IP could. IPv4 packets come to
/// input when they are whole, and when their options were read.
fn is_acceptable(frame: &Judged, plain: &Record) -> bool {
    let bytes = untagged(&frame.bytes);
    let record = match bytes[12..] {
        [8, 0, 0x45, _, _, _, _, _, high, low, ..] if (high & 0x3f, low) != (0, 0) => {
            &plain.prerouting
        }
        [8, 0, ..] => &plain.input,
        [0x86, 0xdd, ..] => &plain.prerouting,
        _ => &plain.ingress,
    };
    record.contains(&frame.number)
}

/// The frame without its VLAN tags.
fn untagged(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while bytes.len() >= 18 && is_tag(&bytes, 12) {
        bytes.drain(12..16);
    }
    bytes
}

/// A packet to the host of the `two-hosts` topology: a hostile frame, or several with fragments,
/// each with a number of its own after `number`; and what is wrong with it.
pub fn packet(random: &mut Random, number: &mut u16) -> (Vec<Numbered>, Vec<&'static str>) {
    let first = next(*number);
    let alone = |frame: Hostile| (vec![frame.bytes], frame.faults);
    let (frames, faults) = match random.below(10) {
        0 => (fragments(random, &HOST, first), vec!["fragments"]),
        1 => alone(frame_unlike_nft(random, &HOST, first)),
        _ => alone(frame(random, &HOST, first)),
    };
    let mut stamped = |mut bytes: Vec<u8>| {
        *number = next(*number);
        stamp(&mut bytes, *number);
        (*number, bytes)
    };
    (frames.into_iter().map(&mut stamped).collect(), faults)
}

fn next(number: u16) -> u16 {
    if number + 1 == LAST { 1 } else { number + 1 }
}

/// Rows for what our programs and nft read differently on purpose, as `docs/filter.md` lists them.
pub const READING: [Row; 5] = [
    Row {
        name: "second tag",
        holds: |case| is_tag(&case.frame.bytes, 12) && is_tag(&case.frame.bytes, 16),
    },
    Row {
        name: "authentication",
        holds: |case| case.facts().field(Field::Extensions).is_some_and(|bits| bits & 16 != 0),
    },
    Row { name: "later fragment", holds: |case| case.is(Reason::LaterFragment) },
    Row { name: "truncated above IP", holds: |case| case.is_above_ip(Reason::Truncated) },
    // The stack refuses it after the hooks of nft, in `ipv6_destopt_rcv()` and the like.
    Row { name: "extension headers that are cut", holds: |case| is_chain_cut(&case.frame.bytes) },
];
/// Whether the EtherType at this place is that of a VLAN tag.
pub fn is_tag(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8]))
}

/// Whether an IPv6 extension header ends after its packet.
fn is_chain_cut(bytes: &[u8]) -> bool {
    let bytes = untagged(bytes);
    let [0x86, 0xdd] = bytes[12..14] else { return false };
    let Some(ip) = bytes.get(14..54) else { return false };
    let end = match (u16::from_be_bytes([ip[4], ip[5]]), ip[6]) {
        (0, 0) => bytes.len(),
        (length, _) => 54 + usize::from(length),
    };
    let (mut next, mut at) = (ip[6], 54);
    while matches!(next, 0 | 43 | 44 | 51 | 60) {
        let Some(&[kind, length, high, low, ..]) = bytes.get(at..end.min(at + 8)) else {
            return true;
        };
        if next == 44 && (high, low & 0xf8) != (0, 0) {
            return false;
        }
        let length = match next {
            44 => 8,
            51 => (usize::from(length) + 2) * 4,
            _ => (usize::from(length) + 1) * 8,
        };
        (next, at) = (kind, at + length);
        if at > end {
            return true;
        }
    }
    false
}
