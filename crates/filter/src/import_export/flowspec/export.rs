//! Rules written as BGP FlowSpec routes (RFC 8955, 8956), in the text that ExaBGP reads.
//!
//! Rule: routers evaluate routes in the order of RFC 8955. Where that differs from the order of the
//! rules and leads to other decisions, the export fails. A rule becomes one route per family and
//! prefix. Not here: the meaning of a route (`import`).

mod component;

use std::collections::BTreeSet;

use crate::import_export::Error;
use crate::import_export::conjunction::{IPV4, IPV6};
use crate::import_export::error::flowspec::ExportError;
use crate::import_export::flowspec::import::{MAX_RATE, Misplaced, misplaced};
use crate::import_export::remarks::{fail, line, remarks};
use crate::{Action, Family, Field, Limit, Per, Rule, Ruleset, Test, Unit, Values};
use functions::PassOrDrop;

/// Routes that make the same decisions as the rules.
///
/// # Errors
/// The first rule that routes cannot express.
pub fn export(ruleset: &Ruleset) -> Result<String, Error> {
    if ruleset.default == PassOrDrop::Drop {
        return Err(Error::new("", ExportError::DefaultDrop));
    }
    let mut out = Routes::default();
    let mut rules = ruleset.rules.iter().peekable();
    while let Some(rule) = rules.next() {
        let then = then(rule).map_err(|cause| fail(rule, cause))?;
        out.add(rule, &then)?;
        // A route passes packets below its rate: two rules here are one route there.
        let is_limit = matches!(rule.action, Action::Limit(_));
        if is_limit && rules.next_if(|next| passes_rest(rule, next)).is_none() {
            let is_last = rules.peek().is_none();
            if !is_last {
                return Err(fail(rule, ExportError::LimitContinues));
            }
        }
    }
    let text = out.text(ruleset);
    match misplaced(&text)? {
        None => Ok(text),
        Some(Misplaced::Same(one, other)) => {
            let (one, other) = (out.rule(&one), out.rule(&other));
            Err(fail(other, ExportError::SameRoute(one.name.clone())))
        }
        Some(Misplaced::Exchanged(one, other)) => {
            let (one, other) = (out.rule(&one), out.rule(&other));
            Err(fail(other, ExportError::Order(one.name.clone())))
        }
    }
}

/// Routes as text, with the rules that they express.
#[derive(Debug, Default)]
struct Routes<'a> {
    text: String,
    names: Vec<(String, &'a Rule)>,
    taken: BTreeSet<String>,
}

impl<'a> Routes<'a> {
    fn add(&mut self, rule: &'a Rule, then: &str) -> Result<(), Error> {
        let all = alternatives(rule).map_err(|cause| fail(rule, cause))?;
        if all.len() > 1 && matches!(rule.action, Action::Limit(_)) {
            return Err(fail(rule, ExportError::RateOfRoutes(all.len())));
        }
        if self.names.len() + all.len() > MAX_ROUTES {
            return Err(fail(rule, ExportError::TooManyRoutes(MAX_ROUTES)));
        }
        for components in all {
            let name = self.free(&rule.name);
            line(&mut self.text, format_args!("    route {name} {{"));
            line(&mut self.text, format_args!("        match {{ {}}}", components.concat()));
            line(&mut self.text, format_args!("        then {{ {then}; }}\n    }}"));
            self.names.push((name, rule));
        }
        Ok(())
    }

    /// The rule's name, with a number appended if it is taken.
    fn free(&mut self, name: &str) -> String {
        let numbered = (2_usize..).map(|number| format!("{name}-{number}"));
        let mut all = std::iter::once(name.to_owned()).chain(numbered);
        let free = all.find(|name| self.taken.insert(name.clone()));
        free.expect("numbers do not end")
    }

    fn text(&self, ruleset: &Ruleset) -> String {
        let mut text = String::new();
        remarks(&mut text, &ruleset.policies);
        text.push_str("flow {\n");
        text.push_str(&self.text);
        text.push_str("}\n");
        text
    }

    fn rule(&self, route: &str) -> &'a Rule {
        let found = self.names.iter().find(|(name, _)| name == route);
        found.expect("the route is part of this text").1
    }
}

fn then(rule: &Rule) -> Result<String, ExportError> {
    match &rule.action {
        Action::Pass => Ok("accept".to_owned()),
        Action::Drop => Ok("discard".to_owned()),
        Action::Limit(Limit { rate, unit: Unit::Bits, burst, per: Per::Rule, total: None }) => {
            if rate % 8 != 0 || rate / 8 > MAX_RATE {
                return Err(ExportError::Rate);
            }
            if *burst != Limit::usual_burst(*rate, Unit::Bits) {
                return Err(ExportError::Burst);
            }
            Ok(format!("rate-limit {}", rate / 8))
        }
        Action::Limit(_) => Err(ExportError::Limit),
        _ => Err(ExportError::Action),
    }
}

/// Whether the rule after a limit passes the packets below the limit.
fn passes_rest(limit: &Rule, next: &Rule) -> bool {
    next.action == Action::Pass && next.tests == limit.tests
}

/// The components of each route that a rule becomes.
fn alternatives(rule: &Rule) -> Result<Vec<Vec<String>>, ExportError> {
    for test in &rule.tests {
        let what = match test {
            Test::Interface { .. } => "interfaces",
            Test::Payload(_) => "the payload",
            Test::Expression(_) => "tcpdump expressions",
            Test::Is(..) | Test::Address { .. } => continue,
        };
        return Err(ExportError::Field(what));
    }
    let mut all = Vec::new();
    for family in Family::ALL {
        let Some(mut fields) = rule.fields(family, |_| None) else { continue };
        let place = fields.iter().position(|(field, _)| *field == Field::EtherType);
        let ether_types = place.map(|place| fields.swap_remove(place).1);
        let may_be = |number: u16| ether_types.as_ref().is_none_or(|it| it.contains(number.into()));
        match family {
            Family::Ipv4 if may_be(IPV4) => all.extend(component::routes(&fields, false)?),
            Family::Ipv6 if may_be(IPV6) => all.extend(component::routes(&fields, true)?),
            Family::Ipv4 | Family::Ipv6 => {}
            Family::Other => outside(ether_types.as_deref())?,
        }
    }
    if all.is_empty() {
        return Err(ExportError::NoIpPacket);
    }
    Ok(all)
}

/// Whether routes can match the packets without a readable IP header that a rule matches, by their
/// EtherTypes. A route about IPv4 may match no header field, but one about IPv6 has a prefix, which
/// needs addresses.
fn outside(ether_types: Option<&Values>) -> Result<(), ExportError> {
    let ip = Values::new([IPV4, IPV6].map(|it| (it.into(), it.into())));
    match ether_types {
        Some(values) if ip.covers(values) => {
            if values.contains(IPV6.into()) {
                Err(ExportError::TruncatedIpv6)
            } else {
                Ok(())
            }
        }
        _ => Err(ExportError::OtherPackets),
    }
}

/// The most routes of an export; each is compared with each.
const MAX_ROUTES: usize = 4096;

#[cfg(test)]
mod tests;
