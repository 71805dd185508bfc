//! Tests of a packet: the name of a field, and values.

use super::value::{self, Notation};
use super::word::Word;
use super::words::Words;
use super::{Error, action, address, hint, icmp, names, nearest, payload};
use crate::{Expression, Field, Scope, Side, Test, Values};

/// Reads one test, whose first word was already taken, and adds it to the preceding ones.
pub(super) fn parse(
    word: &Word<'_>,
    words: &mut Words<'_>,
    scope: &Scope,
    tests: &mut Vec<Test>,
) -> Result<(), Error> {
    let test = match word.text.as_ref() {
        _ if word.quoted => return Err(unknown(word, tests)),
        "from" => address::parse(Side::Source, words, &scope.sets)?,
        "to" => address::parse(Side::Dest, words, &scope.sets)?,
        "in" => interfaces(words)?,
        "payload" => Test::Payload(payload::parse(words)?),
        "expr" => expression(words, scope)?,
        "code" => return code(word, words, tests),
        text => match alone(text) {
            Some(test) => test,
            None => of_field(word, words, tests)?,
        },
    };
    tests.push(test);
    Ok(())
}

/// The test that a word alone stands for.
fn alone(word: &str) -> Option<Test> {
    if let Some(number) = names::number(names::PROTOCOLS, word) {
        return Some(Test::Is(Field::Protocol, Values::one(number)));
    }
    let every = |field: Field| Test::Is(field, Values::range(0_u8, field.highest()));
    match word {
        "ipv4" => Some(every(Field::Source4)),
        "ipv6" => Some(every(Field::Source6)),
        "arp" | "lldp" => {
            let number = names::number(names::ETHERTYPES, word)?;
            Some(Test::Is(Field::EtherType, Values::one(number)))
        }
        _ => None,
    }
}

fn of_field(word: &Word<'_>, words: &mut Words<'_>, tests: &[Test]) -> Result<Test, Error> {
    let field = FIELDS.iter().find(|(name, _)| *name == word.text).map(|(_, field)| *field);
    let field = field.ok_or_else(|| unknown(word, tests))?;
    let values = value::parse(field, Notation::of(field, tests), words)?;
    Ok(Test::Is(field, values))
}

fn unknown(word: &Word<'_>, tests: &[Test]) -> Error {
    let text = word.text.as_ref();
    if let Some(Test::Is(field, _)) = tests.last()
        && text.trim_end_matches(',').parse::<u64>().is_ok()
    {
        let name = FIELDS.iter().find(|(_, one)| one == field).map_or("dport", |(name, _)| name);
        let reason = format!("several values must be in braces, such as {name} {{22, 80}}");
        return Error::at(word, reason);
    }
    let known = FIELDS.iter().map(|(name, _)| *name).chain(OTHERS.iter().copied());
    let known = known.chain(names::PROTOCOLS.iter().map(|(name, _)| *name));
    let known = known.chain(action::OPTIONS.iter().copied());
    let near = hint::synonym(text).or_else(|| nearest(text, known));
    if word.is("not") || word.is("!=") {
        let reason = "must follow the name of a field: protocol not tcp, dport not {22, 80}";
        return Error::at(word, reason);
    }
    let reason = match action::ACTIONS.contains(&text) {
        true => "a rule has one action, which is its first word",
        false => "unknown test",
    };
    Error::at(word, reason).hint(near)
}

fn interfaces(words: &mut Words<'_>) -> Result<Test, Error> {
    const EXPECTED: &str = "the name of an interface";
    let negated = words.take("!=") || words.take("not");
    let first = words.expect(EXPECTED)?;
    let mut names = Vec::new();
    if first.is("{") {
        value::items(words, EXPECTED, |word| {
            names.push(action::interface(word)?);
            Ok(())
        })?;
    } else {
        names.push(action::interface(&first)?);
    }
    Ok(Test::Interface { names, negated })
}

fn expression(words: &mut Words<'_>, scope: &Scope) -> Result<Test, Error> {
    let word = words.expect("an expression in quotes")?;
    if !word.quoted {
        return Err(Error::at(&word, "an expression must be in quotes"));
    }
    let text = word.text.clone().into_owned();
    match (scope.compile)(&text) {
        Ok(program) => Ok(Test::Expression(Expression { text, program })),
        Err(reason) => Err(Error::at(&word, reason)),
    }
}

/// `type T code C`: restricts the preceding test of a type.
fn code(word: &Word<'_>, words: &mut Words<'_>, tests: &mut [Test]) -> Result<(), Error> {
    let version = icmp::Version::of(tests);
    let Some(Test::Is(Field::Icmp, values)) = tests.last_mut() else {
        return Err(Error::at(word, "must follow a type: icmp type 3 code 1"));
    };
    let Some(kind) = icmp::whole_type(values) else {
        return Err(Error::at(
            word,
            "must follow a single type; for several, use type {3/1, 11/0}",
        ));
    };
    let negated = words.take("!=") || words.take("not");
    let first = words.expect("a code")?;
    let mut codes = Values::default();
    if first.is("{") {
        value::items(words, "a code", |word| {
            codes = codes.union(&icmp::parse_codes(&word.text, word, kind, version)?);
            Ok(())
        })?;
    } else {
        codes = icmp::parse_codes(&first.text, &first, kind, version)?;
    }
    let others = || values.intersection(&codes.complement(Field::Icmp.highest()));
    *values = if negated { others() } else { codes };
    Ok(())
}

/// Fields, by the words that test them.
pub(super) const FIELDS: &[(&str, Field)] = &[
    ("ifindex", Field::Interface),
    ("queue", Field::Queue),
    ("length", Field::Length),
    ("from-mac", Field::SourceMac),
    ("to-mac", Field::DestMac),
    ("ethertype", Field::EtherType),
    ("vlan", Field::Vlan),
    ("inner-vlan", Field::InnerVlan),
    ("ttl", Field::Ttl),
    ("dscp", Field::Dscp),
    ("fragment", Field::Fragment),
    ("extension", Field::Extensions),
    ("protocol", Field::Protocol),
    ("sport", Field::SourcePort),
    ("dport", Field::DestPort),
    ("flags", Field::TcpFlags),
    ("type", Field::Icmp),
];
/// Other words that begin a test or an option.
const OTHERS: &[&str] =
    &["from", "to", "in", "ipv4", "ipv6", "arp", "lldp", "payload", "expr", "as"];
