//! Rules written as text that parses to equal rules.

use std::fmt;

use super::test::FIELDS;
use super::value::{self, Notation};
use super::word::quoted;
use super::{action, address, names, payload};
use crate::{Addresses, Field, Rule, Test, Values};

impl Rule {
    /// The action and the tests as text, without the name.
    pub fn body(&self) -> String {
        let mut words = vec![action::show(&self.action)];
        for (place, one) in self.tests.iter().enumerate() {
            words.push(test(one, &self.tests[..place]));
        }
        words.join(" ")
    }

    /// One of its tests as text.
    ///
    /// # Panics
    /// There is no test with this number.
    pub fn test_text(&self, place: usize) -> String {
        test(&self.tests[place], &self.tests[..place])
    }
}

/// The whole rule, without a name that is derived from the text.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name != self.derived_name() {
            write!(f, "{}: ", self.name)?;
        }
        f.write_str(&self.body())
    }
}

/// A test as text; `before` are the preceding tests.
fn test(test: &Test, before: &[Test]) -> String {
    match test {
        Test::Is(Field::Protocol, values) if named_protocol(values).is_some() => {
            named_protocol(values).map(str::to_owned).unwrap_or_default()
        }
        Test::Is(field, values) => of_field(*field, values, before),
        Test::Address { side, addresses, negated } => {
            let word = if *side == crate::Side::Source { "from" } else { "to" };
            format!("{word} {}", address::show(addresses, *negated))
        }
        Test::Interface { names, negated } => {
            let not = if *negated { "not " } else { "" };
            let list: Vec<_> = names.iter().map(|name| quoted(name, name == "not")).collect();
            match &list[..] {
                [one] => format!("in {not}{one}"),
                _ => format!("in {not}{{{}}}", list.join(", ")),
            }
        }
        Test::Payload(one) => format!("payload {}", payload::show(one)),
        Test::Expression(one) => format!("expr {}", quoted(&one.text, true)),
    }
}

fn of_field(field: Field, values: &Values, before: &[Test]) -> String {
    let full = *values == Values::range(0_u8, field.highest());
    let addresses = |v4: &Values, v6: &Values| {
        let addresses = Addresses { v4: v4.clone(), v6: v6.clone(), ..Addresses::default() };
        address::show(&addresses, false)
    };
    match field {
        Field::Source4 if full => "ipv4".to_owned(),
        Field::Source6 if full => "ipv6".to_owned(),
        // Only imported rules test the addresses of one family.
        Field::Source4 => format!("from {}", addresses(values, &Values::default())),
        Field::Source6 => format!("from {}", addresses(&Values::default(), values)),
        Field::Dest4 => format!("to {}", addresses(values, &Values::default())),
        Field::Dest6 => format!("to {}", addresses(&Values::default(), values)),
        _ => {
            let word = FIELDS.iter().find(|(_, one)| *one == field).map_or("", |(word, _)| word);
            format!("{word} {}", value::show(field, Notation::of(field, before), values))
        }
    }
}

fn named_protocol(values: &Values) -> Option<&'static str> {
    match values.ranges() {
        [(first, last)] if first == last => names::name(names::PROTOCOLS, *first),
        _ => None,
    }
}
