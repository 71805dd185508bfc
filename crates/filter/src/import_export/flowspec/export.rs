//! Rules written as BGP FlowSpec routes (RFC 8955, 8956), in the text that ExaBGP reads.
//!
//! Rule: a router asks routes in an order of their own, so the text is refused where that is not
//! the order of the rules and it matters. A rule becomes a route for each family, and for each
//! prefix. Not here: what a route means (`import::flowspec`).

mod component;

use std::collections::BTreeSet;

use crate::import_export::Error;
use crate::import_export::conjunction::{IPV4, IPV6};
use crate::import_export::flowspec::import::{MOST_BYTES, Misplaced, misplaced};
use crate::import_export::remarks::{fail, line, remarks};
use crate::{Action, Family, Field, Limit, Per, Rule, Ruleset, Test, Unit, Values};
use functions::PassOrDrop;

/// The routes that decide as the rules do.
///
/// # Errors
/// The first rule that routes cannot say.
pub fn export(ruleset: &Ruleset) -> Result<String, Error> {
    if ruleset.default == PassOrDrop::Drop {
        let reason = "what no route matches passes: routes cannot say default = \"drop\"";
        return Err(Error::new("", reason));
    }
    let mut out = Routes::default();
    let mut rules = ruleset.rules.iter().peekable();
    while let Some(rule) = rules.next() {
        let then = then(rule).map_err(|reason| fail(rule, reason))?;
        out.add(rule, &then)?;
        // What is below the rate of a route passes: two rules here, one route there.
        let is_limit = matches!(rule.action, Action::Limit(_));
        if is_limit && rules.next_if(|next| passes_rest(rule, next)).is_none() {
            let is_last = rules.peek().is_none();
            if !is_last {
                return Err(fail(rule, GOES_ON));
            }
        }
    }
    let text = out.text(ruleset);
    match misplaced(&text)? {
        None => Ok(text),
        Some(Misplaced::Same(one, other)) => {
            let (one, other) = (out.rule(&one), out.rule(&other));
            let reason = format!("as a route it is the same as rule {}", one.name);
            Err(fail(other, reason))
        }
        Some(Misplaced::Exchanged(one, other)) => {
            let (one, other) = (out.rule(&one), out.rule(&other));
            let reason = format!(
                "routers ask its route before that of rule {}, which stands in front and decides \
                 otherwise about some of its packets (RFC 8955, section 5.1)",
                one.name
            );
            Err(fail(other, reason))
        }
    }
}

/// Routes as text, with the rules that they are of.
#[derive(Debug, Default)]
struct Routes<'a> {
    text: String,
    names: Vec<(String, &'a Rule)>,
    taken: BTreeSet<String>,
}

impl<'a> Routes<'a> {
    fn add(&mut self, rule: &'a Rule, then: &str) -> Result<(), Error> {
        let all = alternatives(rule).map_err(|reason| fail(rule, reason))?;
        if all.len() > 1 && matches!(rule.action, Action::Limit(_)) {
            let reason = format!("it would be {} routes with a rate each", all.len());
            return Err(fail(rule, reason));
        }
        if self.names.len() + all.len() > MOST_ROUTES {
            return Err(fail(rule, format!("with it, there are more than {MOST_ROUTES} routes")));
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

    /// The rule's name, or with a number behind it.
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
        found.expect("a route of this text").1
    }
}

fn then(rule: &Rule) -> Result<String, String> {
    match &rule.action {
        Action::Pass => Ok("accept".to_owned()),
        Action::Drop => Ok("discard".to_owned()),
        Action::Limit(Limit { rate, unit: Unit::Bits, burst, per: Per::Rule, total: None }) => {
            if rate % 8 != 0 || rate / 8 > MOST_BYTES {
                return Err("rates of routes are whole bytes a second, up to 2^40".to_owned());
            }
            if *burst != Limit::usual_burst(*rate, Unit::Bits) {
                return Err("routes say no burst: leave it out, for the usual one".to_owned());
            }
            Ok(format!("rate-limit {}", rate / 8))
        }
        Action::Limit(_) => Err("routes limit bits, for a whole rule".to_owned()),
        _ => Err("routes have no such action: pass, drop, and limits in bits".to_owned()),
    }
}

/// Whether a rule behind a limit passes what the limit lets through.
fn passes_rest(limit: &Rule, next: &Rule) -> bool {
    next.action == Action::Pass && next.tests == limit.tests
}

/// The components of each route that a rule becomes.
fn alternatives(rule: &Rule) -> Result<Vec<Vec<String>>, String> {
    for test in &rule.tests {
        let what = match test {
            Test::Interface { .. } => "interfaces",
            Test::Payload(_) => "the payload",
            Test::Expression(_) => "tcpdump expressions",
            Test::Is(..) | Test::Address { .. } => continue,
        };
        return Err(format!("routes know nothing of {what}"));
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
        return Err("no IPv4 or IPv6 packet matches it".to_owned());
    }
    Ok(all)
}

/// What a rule says of packets without an IP header that can be read, by their EtherTypes: a route
/// about IPv4 may ask for none of it, but one about IPv6 has a prefix, which asks for addresses.
fn outside(ether_types: Option<&Values>) -> Result<(), String> {
    let ip = Values::new([IPV4, IPV6].map(|it| (it.into(), it.into())));
    match ether_types {
        Some(values) if ip.covers(values) => {
            if values.contains(IPV6.into()) {
                Err(CUT.to_owned())
            } else {
                Ok(())
            }
        }
        _ => Err(OTHERS.to_owned()),
    }
}

const OTHERS: &str = "it is about other packets than IPv4's and IPv6's, too";
const CUT: &str = "it is about IPv6 packets that end within their header, too, which no route with \
                   a prefix matches, and a route needs one to be about IPv6: say `ipv6` instead of \
                   its EtherType";
const GOES_ON: &str = "what is below the limit goes on here, and passes behind a route: \
                       let a rule follow that passes with the same tests, or none at all";
/// They are compared each with each.
const MOST_ROUTES: usize = 4096;

#[cfg(test)]
mod tests;
