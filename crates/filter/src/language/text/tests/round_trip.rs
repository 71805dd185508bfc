//! What is shown parses to an equal rule, for any rule; and no text makes the parser panic.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;

use super::scope;
use crate::{
    Action, Addresses, Base, Expression, Field, Limit, Payload, Per, Redirect, Rule, Side,
    SynProxy, Test, Total, Unit, Values,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_shown_is_read(rule in rule()) {
        let text = rule.to_string();
        let read = Rule::parse(&text, &scope());
        prop_assert_eq!(read.as_ref(), Ok(&rule), "{}", text);
    }

    #[test]
    fn words_in_any_order_never_panic(words in prop::collection::vec(select(WORDS), 0..12)) {
        let text = words.join(" ");
        if let Err(error) = Rule::parse(&text, &scope()) {
            prop_assert!(error.at <= text.len() && !error.reason.is_empty());
        }
    }

    #[test]
    fn letters_in_any_order_never_panic(text in "\\PC{0,40}") {
        let _ = Rule::parse(&text, &scope());
        let _ = Rule::parse(&format!("drop {text}"), &scope());
    }
}

fn rule() -> impl Strategy<Value = Rule> {
    let name = prop::option::of("[a-z0-9_.-]{1,63}");
    (name, prop::collection::vec(test(), 0..5), action()).prop_map(|(name, tests, action)| {
        let mut rule = Rule { name: String::new(), tests, action };
        rule.name = name.unwrap_or_else(|| rule.derived_name());
        rule
    })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Pass),
        Just(Action::Drop),
        (1..=31_536_000_u64).prop_map(|it| Action::DropFor(Duration::from_secs(it))),
        (100..=31_536_000_000_u64).prop_map(|it| Action::DropFor(Duration::from_millis(it))),
        Just(Action::Count),
        (1..1_u64 << 31).prop_map(|it| Action::Ban(Duration::from_secs(it))),
        (100..=u64::from(u32::MAX)).prop_map(|it| Action::Ban(Duration::from_millis(it))),
        (1_u32..100).prop_map(|it| Action::Ban(Duration::from_hours(it.into()))),
        (1..=u32::MAX).prop_map(|one_in| Action::Sample { one_in }),
        any::<u32>().prop_map(Action::Mark),
        any::<u32>().prop_map(|it| Action::Redirect(Redirect::Cpu(it))),
        interface().prop_map(|it| Action::Redirect(Redirect::Interface(it))),
        Just(Action::Redirect(Redirect::Socket)),
        amount().prop_map(|above| Action::SynProxy(SynProxy { above: above - 1 })),
        limit().prop_map(Action::Limit),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    let per = prop_oneof![
        Just(Per::Rule),
        Just(Per::DestPort),
        Just(Per::Flow),
        (0..=32_u8, 0..=128_u8).prop_map(|(v4, v6)| Per::Source { v4, v6 }),
        (0..=32_u8, 0..=128_u8).prop_map(|(v4, v6)| Per::Dest { v4, v6 }),
        Just(Per::Source { v4: 32, v6: 128 }),
    ];
    let unit = select(vec![Unit::Packets, Unit::Bits]);
    let total = (amount(), amount()).prop_map(|(rate, burst)| Total { rate, burst });
    let total = prop::option::of(total);
    (amount(), unit, amount(), per, total).prop_map(|(rate, unit, burst, per, total)| Limit {
        rate,
        unit,
        burst,
        per,
        total,
    })
}

/// At least 1; many of them round.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![1..=u64::MAX, (1_u64..2000, 0..15_u32).prop_map(|(n, zeros)| n * 10_u64.pow(zeros))]
}

fn interface() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,4}[0-9]{1,3}",
        select(vec!["cpu", "socket", "not", "{", "any", "a\"b\\"]).prop_map(Into::into)
    ]
}

fn test() -> impl Strategy<Value = Test> {
    prop_oneof![
        4 => field().prop_flat_map(|field| (Just(field), values(field)))
            .prop_map(|(field, values)| Test::Is(field, values)),
        1 => select(vec![Field::Source4, Field::Source6])
            .prop_map(|field| Test::Is(field, Values::range(0_u8, field.highest()))),
        1 => select(vec![1_u8, 6, 17, 58])
            .prop_map(|number| Test::Is(Field::Protocol, Values::one(number))),
        3 => address(),
        1 => (prop::collection::vec(interface(), 0..3), any::<bool>())
            .prop_map(|(names, negated)| Test::Interface { names, negated }),
        1 => payload().prop_map(Test::Payload),
        1 => "\\PC{0,20}".prop_filter("refused", |text| text != "wrong").prop_map(|text| {
            let program = (scope().compile)(&text).unwrap();
            Test::Expression(Expression { text, program })
        }),
    ]
}

fn field() -> impl Strategy<Value = Field> {
    let address = |field: &Field| {
        matches!(field, Field::Source4 | Field::Dest4 | Field::Source6 | Field::Dest6)
    };
    select(Field::ALL.into_iter().filter(|field| !address(field)).collect::<Vec<_>>())
}

/// Any sets; of narrow fields such that bits and types have something to show.
fn values(field: Field) -> impl Strategy<Value = Values> {
    let highest = field.highest();
    let number = prop_oneof![
        0..=highest,
        0..=highest.min(0x1_0000),
        select(vec![0, 1, 0xff, 0x100, highest - 1, highest]).prop_map(move |it| it.min(highest)),
    ];
    let ranges = prop::collection::vec((number.clone(), number), 0..5);
    let ranges = ranges
        .prop_map(|ranges| Values::new(ranges.into_iter().map(|(a, b)| (a.min(b), a.max(b)))));
    let masked = (any::<u16>(), any::<u16>());
    let masked = masked.prop_map(move |(mask, value)| match highest {
        0..=0xff => Values::masked(mask, value, highest as u16),
        _ => Values::one(value.min(highest as u16)),
    });
    prop_oneof![ranges, masked, Just(Values::range(0_u8, highest))]
}

fn address() -> impl Strategy<Value = Test> {
    let v4 = prop::collection::vec((any::<u32>(), 0..=32_u8), 0..4).prop_map(|prefixes| {
        Values::new(prefixes.into_iter().map(|(address, length)| {
            let mask = packet::mask4(length);
            ((address & mask).into(), (address | !mask).into())
        }))
    });
    let v6 = prop::collection::vec((any::<u128>(), any::<u128>()), 0..3)
        .prop_map(|ranges| Values::new(ranges.into_iter().map(|(a, b)| (a.min(b), a.max(b)))));
    let unnamed = (v4, v6).prop_map(|(v4, v6)| Addresses { v4, v6, ..Addresses::default() });
    let set = |name: &str| Arc::clone(&scope().sets.set(name).unwrap().addresses);
    let named = select(vec!["office", "good"]).prop_map(set);
    let both = unnamed.clone().prop_map(move |own| {
        let mut sets = vec![set("good")];
        if own.v6.is_empty() {
            sets.push(set("office"));
        }
        Arc::new(if own.is_empty() && sets.len() == 1 { own } else { own.with(&sets) })
    });
    let side = select(vec![Side::Source, Side::Dest]);
    (side, prop_oneof![4 => unnamed.prop_map(Arc::new), 1 => named, 1 => both], any::<bool>())
        .prop_map(|(side, addresses, negated)| Test::Address { side, addresses, negated })
}

fn payload() -> impl Strategy<Value = Payload> {
    let from = select(vec![Base::Frame, Base::Network, Base::Transport]);
    let bytes = prop::collection::vec((any::<u8>(), any::<u8>()), 1..=Payload::LONGEST);
    let flags = (any::<bool>(), any::<bool>());
    (from, any::<u16>(), bytes, flags).prop_map(|(from, offset, bytes, (whole, negated))| {
        let mask: Vec<_> = bytes.iter().map(|it| if whole { 0xff } else { it.0 }).collect();
        let value = bytes.iter().zip(&mask).map(|(it, mask)| it.1 & mask).collect();
        Payload { from, offset, mask, value, negated }
    })
}

const WORDS: &[&str] = &[
    "drop",
    "pass",
    "limit",
    "1000pps",
    "burst",
    "7",
    "per",
    "source/24",
    "ban",
    "60s",
    "250ms",
    "sample",
    "1/9",
    "mark",
    "redirect",
    "cpu",
    "socket",
    "synproxy",
    "above",
    "tcp",
    "udp",
    "icmp",
    "dport",
    "sport",
    "{",
    "}",
    "{22,80}",
    "{22,",
    "<",
    ">=",
    "=",
    "!=",
    "not",
    "any",
    "from",
    "to",
    "10.0.0.0/8",
    "@office",
    "@",
    "::",
    "-",
    "1-2",
    "2-1",
    "type",
    "code",
    "echo-request",
    "3/3",
    "flags",
    "syn/ack",
    "none",
    "payload",
    "transport+8",
    "0xff",
    "0x",
    "expr",
    "\"udp\"",
    "in",
    "eth0",
    "as",
    "name:",
    ":",
    "fragment",
    "extension",
    "vlan",
    "65536",
    "from-mac",
    "02:00:00:00:00:01",
    "/",
    ",",
    "!",
];
