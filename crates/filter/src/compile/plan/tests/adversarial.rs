//! Rules that make tables grow, and big ones; sizes are promised, not time.

use std::sync::Arc;

use super::super::random::Random;
use super::rulesets::{drop, matches, plan, planned, prefix4, prefix6, rule};
use crate::compile::plan::{FamilyPlan, NO_RULE, Plan};
use crate::{Action, Addresses, Family, Field, PacketFields, Rule, Ruleset, Side, Test, Values};

fn port(number: u16) -> Test {
    Test::Is(Field::DestPort, Values::one(number))
}

fn packet4(source: u32, dest: u32, source_port: u16, dest_port: u16) -> PacketFields {
    let mut packet = PacketFields::default();
    packet.set(Field::Source4, source).set(Field::Dest4, dest).set(Field::Protocol, 6_u8);
    packet.set(Field::SourcePort, source_port).set(Field::DestPort, dest_port);
    packet
}

/// Packets that some rule was made for, and others, are decided as by the first rule that matches.
fn agree(ruleset: &Ruleset, plan: &Plan, packets: impl IntoIterator<Item = PacketFields>) {
    for packet in packets {
        let first = ruleset.rules.iter().position(|rule| matches(rule, &packet));
        let first = first.map_or(NO_RULE, |number| number as u32);
        assert_eq!(planned(plan, ruleset, &packet).0, first, "{packet:?}");
    }
}

fn v4(plan: &Plan) -> &FamilyPlan {
    plan.family(Family::Ipv4)
}

/// In one table, these would need a state for each pair.
#[test]
fn half_on_the_source_half_on_the_dest() {
    let host = |number: u32| number.wrapping_mul(0x9e37_79b1);
    let ruleset = drop((0..10_000).map(|number| {
        let side = if number % 2 == 0 { Side::Source } else { Side::Dest };
        vec![prefix4(side, host(number), 32)]
    }));
    let plan = plan(&ruleset);
    assert_eq!(v4(&plan).tables.len(), 2);
    assert!(v4(&plan).bytes() < 1 << 20, "{}", v4(&plan).bytes());
    let packets = (0..100).map(|number| packet4(host(number * 10), host(number * 77), 1, 2));
    agree(&ruleset, &plan, packets);
}

#[test]
fn all_pairs() {
    let ruleset = drop((0..10_000).map(|number| {
        let [source, dest] = [number / 100, number % 100].map(|host| 0x0a00_0000 + host * 3);
        vec![prefix4(Side::Source, source, 32), prefix4(Side::Dest, dest, 32)]
    }));
    let plan = plan(&ruleset);
    assert_eq!(v4(&plan).tables.len(), 1);
    assert!(v4(&plan).bytes() < 200_000, "{}", v4(&plan).bytes());
    let mut random = Random(3);
    let host = |random: &mut Random| 0x0a00_0000 + random.below(310) as u32;
    let packets = (0..150).map(|_| packet4(host(&mut random), host(&mut random), 1, 2));
    agree(&ruleset, &plan, packets.collect::<Vec<_>>());
}

/// Every prefix of an address, each with a port of its own, so that none hides the next.
#[test]
fn nested_prefixes() {
    let ruleset = drop((0..3_200_u32).map(|number| {
        let length = 32 - number % 32;
        vec![prefix4(Side::Source, 0xc0a8_0101 ^ (number / 32) << 4, length), port(number as u16)]
    }));
    let plan = plan(&ruleset);
    let mut random = Random(4);
    let packets = (0..150).map(|_| {
        let source = 0xc0a8_0101 ^ (random.next() as u32 >> random.below(32));
        packet4(source, 1, 1, random.below(3_300) as u16)
    });
    agree(&ruleset, &plan, packets.collect::<Vec<_>>());
    assert!(v4(&plan).tables.len() <= 4, "{}", v4(&plan).tables.len());
}

/// Ranges in ranges: lists as long as the rules are many.
#[test]
fn nested_ranges() {
    let ruleset = drop((0..4_000_u16).map(|number| {
        let range = Values::range(number, 20_000 - number);
        vec![Test::Is(Field::SourcePort, range), port(number)]
    }));
    let plan = plan(&ruleset);
    let mut random = Random(5);
    let packets =
        (0..150).map(|_| packet4(1, 2, random.below(21_000) as u16, random.below(4_100) as u16));
    agree(&ruleset, &plan, packets.collect::<Vec<_>>());
    assert!(v4(&plan).bytes() < 16 << 20, "{}", v4(&plan).bytes());
}

#[test]
fn every_port() {
    let ruleset = drop((0..=u16::MAX).rev().map(|number| vec![port(number)]));
    let plan = plan(&ruleset);
    let [table] = &v4(&plan).tables[..] else { panic!("one table") };
    assert_eq!(table.bytes(), 4 << 16);
    agree(&ruleset, &plan, (0..5).map(|number| packet4(1, 2, 3, number * 13_000)));
}

/// As people write them: prefixes of both sides, protocols, ports and ranges of ports.
fn mixed(count: usize, seed: u64) -> Ruleset {
    let mut random = Random(seed);
    let rules = (0..count).map(|number| {
        let mut tests = Vec::new();
        for (side, share) in [(Side::Source, 70), (Side::Dest, 80)] {
            if random.below(100) < share {
                let address = 0x0a00_0000 | random.next() as u32 & 0x000f_ffff;
                let length = random.one_of(&[32, 32, 32, 24, 24, 28, 16, 20]);
                tests.push(prefix4(side, address, length));
            }
        }
        let protocol = random.one_of(&[6_u8, 6, 6, 17, 17, 1]);
        if random.below(100) < 85 {
            tests.push(Test::Is(Field::Protocol, Values::one(protocol)));
        }
        if protocol != 1 && random.below(100) < 75 {
            let first = random.one_of(&[22_u16, 25, 53, 80, 443, 8_080, 0, 1_024, 33_000]);
            let first = if random.below(4) == 0 { random.below(50_000) as u16 } else { first };
            let last = first + random.one_of(&[0_u16, 0, 0, 10, 1_000]);
            tests.push(Test::Is(Field::DestPort, Values::range(first, last)));
        }
        if protocol != 1 && random.below(100) < 10 {
            tests.push(Test::Is(Field::SourcePort, Values::range(1_024_u16, u16::MAX)));
        }
        let action = random.one_of(&[0, 1]);
        rule(number, if action == 0 { Action::Drop } else { Action::Pass }, tests)
    });
    let rules: Vec<Rule> = rules.filter(|rule| !rule.tests.is_empty()).collect();
    Ruleset { rules, ..Ruleset::default() }
}

#[test]
fn ten_thousand_mixed_rules() {
    let ruleset = mixed(10_000, 6);
    let plan = plan(&ruleset);
    let mut random = Random(7);
    let address = |random: &mut Random| 0x0a00_0000 | random.next() as u32 & 0x001f_ffff;
    let packets = (0..100).map(|_| {
        let dest_port = random.one_of(&[22, 53, 80, 443, 8_080, 1_500, 40_000]);
        packet4(address(&mut random), address(&mut random), 5_000, dest_port)
    });
    agree(&ruleset, &plan, packets.collect::<Vec<_>>());
    assert!(v4(&plan).tables.len() <= 5, "{}", v4(&plan).tables.len());
    assert!(v4(&plan).bytes() <= 4 << 20, "{}", v4(&plan).bytes());
}

fn big_set(v4: Values, v6: Values) -> Ruleset {
    let addresses =
        Arc::new(Addresses { name: Some("big".to_owned()), v4, v6, ..Addresses::default() });
    drop([vec![Test::Address { side: Side::Source, addresses, negated: false }]])
}

/// A set costs what it holds, not what its prefixes cover: 20 bytes an address and the root.
#[test]
fn a_set_of_many_addresses() {
    let mut random = Random(8);
    let hosts: Vec<u128> = (0..20_000).map(|_| u128::from(random.next() as u32)).collect();
    let ruleset = big_set(Values::new(hosts.iter().map(|host| (*host, *host))), Values::default());
    let plan = plan(&ruleset);
    assert!(v4(&plan).bytes() <= 32 * hosts.len(), "{}", v4(&plan).bytes());
    let sources = hosts.iter().take(500).flat_map(|host| [*host as u32, *host as u32 ^ 1]);
    agree(&ruleset, &plan, sources.map(|source| packet4(source, 1, 2, 3)));
}

#[test]
fn a_set_of_many_networks() {
    let mut random = Random(9);
    let networks: Vec<u128> =
        (0..50_000).map(|_| 0x2000 << 112 | u128::from(random.next() >> 3) << 64).collect();
    let range = |network: &u128| (*network, network | u128::from(u64::MAX));
    let ruleset = big_set(Values::default(), Values::new(networks.iter().map(range)));
    let plan = plan(&ruleset);
    let bytes = plan.family(Family::Ipv6).bytes();
    assert!(bytes <= 40 * networks.len(), "{bytes}");
    let sources = networks.iter().take(500).flat_map(|one| [*one, one + (1 << 64), one - 1]);
    agree(
        &ruleset,
        &plan,
        sources.map(|source| {
            let mut packet = PacketFields::default();
            packet.set(Field::Source6, source).set(Field::Dest6, 1_u8);
            packet
        }),
    );
    let nested = drop((0..=128).map(|length| vec![prefix6(Side::Source, networks[0], length)]));
    assert_eq!(super::rulesets::plan(&nested).family(Family::Ipv6).otherwise, 0);
}
