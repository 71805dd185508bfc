//! Rules and frames that have much to do with each other, from a seed.

use filter::{Rule, Ruleset, Scope};

/// xorshift64*.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Rules of many kinds; one in ten does not decide.
pub fn rules(random: &mut Random, count: usize) -> Ruleset {
    let scope = Scope::default();
    let rules = (0..count).map(|number| {
        let text = format!("r{number}: {}", rule(random));
        Rule::parse(&text, &scope).unwrap_or_else(|error| panic!("{text}: {error}"))
    });
    Ruleset { rules: rules.collect(), ..Ruleset::default() }
}

fn rule(random: &mut Random) -> String {
    let mut text = match random.below(10) {
        0 => "count",
        1..=4 => "pass",
        _ => "drop",
    }
    .to_owned();
    let protocol = ["", " udp", " tcp"][random.below(3) as usize];
    text.push_str(protocol);
    let from = random.chance(70);
    if from {
        text.push_str(&format!(" from {}", network(random)));
    }
    if !from || random.chance(30) {
        let not = if from && random.chance(10) { "not " } else { "" };
        text.push_str(&format!(" to {not}{}", network(random)));
    }
    if !protocol.is_empty() && random.chance(60) {
        let port = random.below(40);
        match random.below(3) {
            0 => text.push_str(&format!(" dport {port}")),
            1 => text.push_str(&format!(" dport {port}-{}", port + random.below(6))),
            _ => text.push_str(&format!(" sport {{{port}, {}}}", port + 7)),
        }
    }
    text
}

fn network(random: &mut Random) -> String {
    let [a, b, c] = [random.below(40), random.below(80), random.below(80)];
    match random.below(8) {
        0 => format!("10.{a}.{b}.0/24"),
        1 => format!("10.{a}.0.0/16"),
        2 => format!("2001:db8:{a}::/48"),
        3 => format!("2001:db8:{a}::{b}:{c}"),
        _ => format!("10.{a}.{b}.{c}"),
    }
}

/// IPv4 and IPv6, UDP and TCP, and a few of neither.
pub fn frames(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| frame(random)).collect()
}

fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame = vec![2; 12];
    let [from, to] = std::array::from_fn(|_| {
        [random.below(40) as u8, random.below(80) as u8, random.below(80) as u8]
    });
    let mut transport = vec![0, random.below(50) as u8, 0, random.below(50) as u8];
    let protocol = if random.chance(50) { 17 } else { 6 };
    if protocol == 17 {
        transport.extend([0, 26, 0, 0]);
        transport.extend([0xab; 18]);
    } else {
        transport.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 0, 9, 0, 0, 0, 0]);
    }
    match random.below(10) {
        0 => frame.extend([0x08, 0x06].into_iter().chain([0; 46])),
        1..=4 => {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, transport.len() as u8, protocol, 64]);
            for [net, high, low] in [from, to] {
                let mut address = [0x20, 1, 0x0d, 0xb8, 0, net, 0, 0, 0, 0, 0, 0, 0, high, 0, low];
                address[15] = low;
                frame.extend(address);
            }
            frame.extend(transport);
        }
        _ => {
            let length = 20 + transport.len() as u8;
            frame.extend([0x08, 0, 0x45, 0, 0, length, 0, 1, 0, 0, 64, protocol, 0, 0]);
            for [net, high, low] in [from, to] {
                frame.extend([10, net, high, low]);
            }
            frame.extend(transport);
        }
    }
    frame
}
