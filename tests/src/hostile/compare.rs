//! What a program of ours passes, beside Linux: what the stack accepts without rules, and what
//! equal rules of nft let through, at ingress and at input.

use functions::filter::read::Layer;
use functions::filter::{Facts, Field, Reason};

use super::site::{LAST, Numbered, Record, Site, stamp};
use super::{HOST, fragments, frame};
use crate::random::Random;

/// Four hosts that get the same frames, but for the last one.
#[derive(Debug, Default)]
pub struct Sites {
    /// No rules.
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
    /// As the program reads it; no part that it does not read.
    pub layers: Vec<Layer>,
}

/// A difference between our program and Linux.
#[derive(Debug)]
pub struct Case<'a> {
    pub frame: &'a Judged,
    /// Whether the stack, without rules, delivers it.
    pub is_delivered: bool,
    /// Whether nft saw it at all.
    pub is_seen: bool,
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
        let [plain, ingress] = [&self.plain, &self.ingress].map(|site| site.send(&all));
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

    /// Frame by frame. One that the stack does not accept, whatever the rules, is compared only
    /// where our program drops it.
    fn at_ingress(&mut self, frame: &Judged, plain: &Record, nft: &Record) {
        let number = &frame.number;
        let passes = nft.passed.contains(number);
        self.compared += 1;
        self.delivered += u64::from(plain.input.contains(number));
        self.passed += u64::from(frame.passes);
        let is_explained = frame.passes && !is_acceptable(frame, plain)
            || !frame.passes && (frame.by_policy || !plain.ingress.contains(number));
        if frame.passes != passes && !is_explained {
            let is_delivered = plain.input.contains(number);
            let is_seen = plain.ingress.contains(number);
            self.note(&Case { frame, is_delivered, is_seen, hook: "ingress" });
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
            let case = |frame| Case { frame, is_delivered, is_seen: true, hook: "input" };
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
    pub fn facts(&self) -> &Facts {
        &self.frame.layers[0].facts
    }

    /// Malformed in this way, after an IP header that could be read to its end.
    pub fn is_above_ip(&self, oddity: Reason) -> bool {
        let is = |layer: &Layer| {
            layer.oddities.contains(&oddity) && layer.facts.field(Field::Protocol).is_some()
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

/// Whether the stack could accept it: IP with headers that it accepts; frames of VLANs and other
/// protocols, for which there may be a device.
fn is_acceptable(frame: &Judged, plain: &Record) -> bool {
    let is_ip = matches!(frame.bytes[12..14], [8, 0] | [0x86, 0xdd]);
    plain.prerouting.contains(&frame.number) || !is_ip && plain.ingress.contains(&frame.number)
}

/// A packet to the host of the `two-hosts` topology: a hostile frame, or several with fragments,
/// each with a number of its own after `number`; and what is wrong with it.
pub fn packet(random: &mut Random, number: &mut u16) -> (Vec<Numbered>, Vec<&'static str>) {
    let first = next(*number);
    let (frames, faults) = if random.below(10) == 0 {
        (fragments(random, &HOST, first), vec!["fragments"])
    } else {
        let frame = frame(random, &HOST, first);
        (vec![frame.bytes], frame.faults)
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
pub const READING: [Row; 7] = [
    Row { name: "second tag", holds: |case| is_tag(case.frame, 12) && is_tag(case.frame, 16) },
    Row {
        name: "authentication",
        holds: |case| case.facts().field(Field::Extensions).is_some_and(|bits| bits & 16 != 0),
    },
    Row { name: "later fragment", holds: |case| case.is(Reason::LaterFragment) },
    Row { name: "truncated above IP", holds: |case| case.is_above_ip(Reason::Truncated) },
    Row { name: "bad header above IP", holds: |case| case.is_above_ip(Reason::BadHeader) },
    // What the stack delivers is neither.
    Row { name: "truncated", holds: |case| !case.is_delivered && case.is(Reason::Truncated) },
    Row { name: "bad header", holds: |case| !case.is_delivered && case.is(Reason::BadHeader) },
];

fn is_tag(frame: &Judged, at: usize) -> bool {
    matches!(frame.bytes.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8]))
}
