//! Rules written for nftables: a table `netdev xway` with one chain at a device's ingress.
//!
//! Rule: a rule about addresses of both families, or about a field that nft has once per family,
//! becomes two rules. nft applies the rules to malformed packets.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::import_export::Error;
use crate::import_export::error::nft::ExportError;
use crate::import_export::remarks::{fail, line, remarks};
use crate::{Action, Base, Family, Field, Limit, Payload, Per, Rule, Ruleset, Test, Unit, Values};
use functions::PassOrDrop;

/// The script for `nft -f` that makes a device's ingress decide as the rules do.
///
/// # Errors
/// The first rule that nft cannot express.
pub fn export(ruleset: &Ruleset, device: &str) -> Result<String, Error> {
    let mut text = String::new();
    remarks(&mut text, &ruleset.policies);
    let policy = if ruleset.default == PassOrDrop::Drop { "drop" } else { "accept" };
    text.push_str("table netdev xway {\n\tchain ingress {\n");
    let hook = format!("type filter hook ingress device \"{device}\" priority 0; policy {policy};");
    line(&mut text, format_args!("\t\t{hook}"));
    for rule in &ruleset.rules {
        let action = action(&rule.action).map_err(|cause| fail(rule, cause))?;
        let all = matches(rule).map_err(|cause| fail(rule, cause))?;
        if all.len() > 1 && matches!(rule.action, Action::Limit(_)) {
            return Err(fail(rule, ExportError::LimitOfFamilies));
        }
        for tests in all {
            let space = if tests.is_empty() { "" } else { " " };
            line(&mut text, format_args!("\t\t{tests}{space}{action} comment \"{}\"", rule.name));
        }
    }
    text.push_str("\t}\n}\n");
    Ok(text)
}

fn action(action: &Action) -> Result<String, ExportError> {
    match action {
        Action::Pass => Ok("counter accept".to_owned()),
        Action::Drop => Ok("counter drop".to_owned()),
        Action::Count => Ok("counter".to_owned()),
        Action::Limit(Limit { rate, unit: Unit::Packets, burst, per: Per::Rule, total: None }) => {
            Ok(format!("limit rate over {rate}/second burst {burst} packets counter drop"))
        }
        Action::Limit(_) => Err(ExportError::Limit),
        _ => Err(ExportError::Action),
    }
}

/// The matches of a rule, once for each family that nft distinguishes.
fn matches(rule: &Rule) -> Result<Vec<String>, ExportError> {
    let mut others = Vec::new();
    for test in &rule.tests {
        match test {
            Test::Interface { names, negated } => {
                let not = if *negated { "!= " } else { "" };
                let names: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
                others.push(format!("iifname {not}{{ {} }}", names.join(", ")));
            }
            Test::Payload(payload) => others.push(raw(payload)),
            Test::Expression(_) => return Err(ExportError::Expression),
            Test::Is(Field::Interface, _) => return Err(ExportError::InterfaceNumber),
            Test::Is(..) | Test::Address { .. } => {}
        }
    }
    let is_split = rule.tests.iter().any(|test| match test {
        Test::Is(field, _) => is_of_family(*field),
        test => matches!(test, Test::Address { .. }),
    });
    let families = if is_split { &[Family::Ipv4, Family::Ipv6][..] } else { &[Family::Ipv4][..] };
    let mut all = Vec::new();
    for family in families {
        // The interface is matched by its name, so its number does not matter.
        let Some(fields) = rule.fields(*family, |_| Some(1)) else { continue };
        let fields: Vec<_> = fields.iter().map(|(field, values)| (*field, &**values)).collect();
        // nft does not accept the match of a tag after the match of a family.
        let (tags, fields): (Vec<_>, Vec<_>) =
            fields.into_iter().partition(|(field, _)| *field == Field::Vlan);
        let mut words = Vec::new();
        for (field, values) in tags {
            words.extend(field_match(field, values, *family)?);
        }
        if is_split {
            let ether_type = if *family == Family::Ipv4 { 0x0800 } else { 0x86dd };
            let asked = fields.iter().find(|(field, _)| *field == Field::EtherType);
            if asked.is_some_and(|(_, values)| !values.contains(ether_type)) {
                continue;
            }
            words.push(format!("meta protocol {ether_type:#06x}"));
        }
        words.extend(protocols(&fields));
        for (field, values) in fields {
            words.extend(field_match(field, values, *family)?);
        }
        words.extend(others.iter().cloned());
        all.push(words.join(" "));
    }
    Ok(all)
}

/// Whether nft has a field once for each family.
const fn is_of_family(field: Field) -> bool {
    use Field::{Dest4, Dest6, Dscp, Extensions, Fragment, Source4, Source6, Ttl};
    matches!(field, Source4 | Dest4 | Source6 | Dest6 | Ttl | Dscp | Fragment | Extensions)
}

/// The match of the protocols that have the fields.
fn protocols(fields: &[(Field, &Values)]) -> Option<String> {
    let has = |wanted: &[Field]| fields.iter().any(|(field, _)| wanted.contains(field));
    if has(&[Field::TcpFlags]) {
        return Some("meta l4proto 6".to_owned());
    }
    if has(&[Field::Icmp]) {
        return Some("meta l4proto { 1, 58 }".to_owned());
    }
    let ports = has(&[Field::SourcePort, Field::DestPort]);
    ports.then(|| "meta l4proto { 6, 17, 33, 132, 136 }".to_owned())
}

fn field_match(
    field: Field,
    values: &Values,
    family: Family,
) -> Result<Option<String>, ExportError> {
    let is_v4 = family == Family::Ipv4;
    let plain = |number: u128| format!("{number}");
    let hex = |number: u128| format!("{number:#x}");
    let v4 = |number: u128| Ipv4Addr::from_bits(number as u32).to_string();
    let v6 = |number: u128| Ipv6Addr::from_bits(number).to_string();
    if values.covers(&Values::new([(0, field.highest())])) && is_of_family(field) {
        return Ok(None);
    }
    let text = match field {
        Field::Source4 => format!("ip saddr {}", set(values, v4)),
        Field::Dest4 => format!("ip daddr {}", set(values, v4)),
        Field::Source6 => format!("ip6 saddr {}", set(values, v6)),
        Field::Dest6 => format!("ip6 daddr {}", set(values, v6)),
        Field::EtherType => format!("meta protocol {}", set(values, hex)),
        Field::Vlan => format!("vlan id {}", set(values, plain)),
        // nft does not count the Ethernet header.
        Field::Length => {
            let shorter = values.ranges().iter().filter(|(_, last)| *last >= 14);
            let shorter = shorter.map(|(first, last)| (first.saturating_sub(14), last - 14));
            let shorter = Values::new(shorter);
            if shorter.is_empty() {
                return Err(ExportError::NoFrame);
            }
            format!("meta length {}", set(&shorter, plain))
        }
        Field::SourceMac => format!("ether saddr {}", singles(field, values, mac)?),
        Field::DestMac => format!("ether daddr {}", singles(field, values, mac)?),
        Field::Ttl if is_v4 => format!("ip ttl {}", set(values, plain)),
        Field::Ttl => format!("ip6 hoplimit {}", set(values, plain)),
        Field::Dscp if is_v4 => format!("ip dscp {}", singles(field, values, hex)?),
        Field::Dscp => format!("ip6 dscp {}", singles(field, values, hex)?),
        Field::Protocol => format!("meta l4proto {}", set(values, plain)),
        Field::SourcePort | Field::Icmp => format!("th sport {}", set(values, plain)),
        Field::DestPort => format!("th dport {}", set(values, plain)),
        Field::TcpFlags => format!("tcp flags {}", singles(field, values, hex)?),
        Field::Fragment if is_v4 => return fragment(values),
        Field::Interface => return Ok(None),
        Field::Extensions if *values == Values::one(0_u8) => {
            "ip6 nexthdr != { 0, 43, 44, 51, 60 }".to_owned()
        }
        _ => return Err(ExportError::Field),
    };
    Ok(Some(text))
}

fn fragment(values: &Values) -> Result<Option<String>, ExportError> {
    let [whole, first, later] = [0, 1, 2].map(|kind| values.contains(kind));
    let test = match (whole, first, later) {
        (true, true, true) => return Ok(None),
        (true, true, false) => "ip frag-off & 0x1fff == 0",
        (false, false, true) => "ip frag-off & 0x1fff != 0",
        (true, false, false) => "ip frag-off & 0x3fff == 0",
        (false, true, true) => "ip frag-off & 0x3fff != 0",
        (false, true, false) => "ip frag-off & 0x3fff == 0x2000",
        _ => return Err(ExportError::Fragments),
    };
    Ok(Some(test.to_owned()))
}

/// The values as a set of ranges.
fn set(values: &Values, show: impl Fn(u128) -> String) -> String {
    let items: Vec<_> = values
        .ranges()
        .iter()
        .map(|(first, last)| match first == last {
            true => show(*first),
            false => format!("{}-{}", show(*first), show(*last)),
        })
        .collect();
    format!("{{ {} }}", items.join(", "))
}

/// The values one by one, or those that are excluded, for fields that nft has no ranges of.
fn singles(
    field: Field,
    values: &Values,
    show: impl Fn(u128) -> String,
) -> Result<String, ExportError> {
    let others = values.complement(field.highest());
    let few = [("", values), ("!= ", &others)].into_iter().find(|(_, values)| {
        let counts = values.ranges().iter().map(|(first, last)| (last - first).saturating_add(1));
        (1..=MAX_SINGLES).contains(&counts.fold(0, u128::saturating_add))
    });
    let Some((not, values)) = few else {
        return Err(ExportError::TooManyValues);
    };
    let all = values.ranges().iter().flat_map(|(first, last)| *first..=*last);
    let items: Vec<_> = all.map(show).collect();
    Ok(format!("{not}{{ {} }}", items.join(", ")))
}

fn mac(number: u128) -> String {
    let octets = (0..6).rev().map(|place| format!("{:02x}", number >> (8 * place) & 0xff));
    octets.collect::<Vec<_>>().join(":")
}

fn raw(payload: &Payload) -> String {
    let base = match payload.from {
        Base::Frame => "ll",
        Base::Network => "nh",
        Base::Transport => "th",
    };
    let hex =
        |bytes: &[u8]| bytes.iter().fold("0x".to_owned(), |text, it| format!("{text}{it:02x}"));
    let (offset, bits) = (u32::from(payload.offset) * 8, payload.mask.len() * 8);
    let whole = payload.mask.iter().all(|byte| *byte == 0xff);
    let mask = if whole { String::new() } else { format!("& {} ", hex(&payload.mask)) };
    let sign = if payload.negated { "!=" } else { "==" };
    format!("@{base},{offset},{bits} {mask}{sign} {}", hex(&payload.value))
}

/// Values that are written one by one: all sets of TCP flags.
const MAX_SINGLES: u128 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Scope};

    fn exported(rules: &[&str]) -> Result<String, Error> {
        let rules = rules.iter().map(|rule| Rule::parse(rule, &Scope::default()).unwrap());
        let mut ruleset = Ruleset { rules: rules.collect(), ..Ruleset::default() };
        for reason in crate::Reason::ALL {
            ruleset.policies.set(reason, Policy::Judge);
        }
        export(&ruleset, "eth7")
    }

    #[test]
    fn rules_become_nft_rules() {
        for (rule, want) in [
            ("r: drop", vec!["counter drop"]),
            (
                "r: count udp dport 53",
                vec![
                    "meta l4proto { 6, 17, 33, 132, 136 } meta l4proto { 17 } \
                     th dport { 53 } counter",
                ],
            ),
            (
                "r: drop from 10.0.0.0/8",
                vec!["meta protocol 0x0800 ip saddr { 10.0.0.0-10.255.255.255 } counter drop"],
            ),
            (
                "r: drop from 10.0.0.0/8 vlan 7",
                vec![
                    "vlan id { 7 } meta protocol 0x0800 ip saddr { 10.0.0.0-10.255.255.255 } \
                     counter drop",
                ],
            ),
            (
                "r: pass ttl < 5",
                vec![
                    "meta protocol 0x0800 ip ttl { 0-4 } counter accept",
                    "meta protocol 0x86dd ip6 hoplimit { 0-4 } counter accept",
                ],
            ),
            (
                "r: limit 10pps burst 5 vlan 7",
                vec!["vlan id { 7 } limit rate over 10/second burst 5 packets counter drop"],
            ),
            (
                "r: drop payload transport+2 0xff0f != 0x1203",
                vec!["@th,16,16 & 0xff0f != 0x1203 counter drop"],
            ),
            ("r: drop payload frame+0 0xffff = 0x1203", vec!["@ll,0,16 == 0x1203 counter drop"]),
            (
                "r: drop in eth7 payload network+8 0xf0 = 0x10",
                vec!["iifname { \"eth7\" } @nh,64,8 & 0xf0 == 0x10 counter drop"],
            ),
        ] {
            let text = exported(&[rule]).unwrap_or_else(|error| panic!("{rule}: {error}"));
            let lines: Vec<_> = text.lines().filter(|line| line.contains("comment")).collect();
            let want: Vec<_> = want.iter().map(|it| format!("\t\t{it} comment \"r\"")).collect();
            assert_eq!(lines, want, "{rule}");
        }
    }

    #[test]
    fn unsupported_rules_are_named_with_the_cause() {
        for (rule, cause) in [
            ("r: ban 60s", ExportError::Action),
            ("r: mark 7", ExportError::Action),
            ("r: drop for 60s", ExportError::Action),
            ("r: limit 1Mbps", ExportError::Limit),
            ("r: limit 10pps per source", ExportError::Limit),
            ("r: limit 10pps ttl 1", ExportError::LimitOfFamilies),
            ("r: drop queue 1", ExportError::Field),
            ("r: drop inner-vlan 1", ExportError::Field),
            ("r: drop extension routing", ExportError::Field),
            ("r: drop fragment later", ExportError::Field),
        ] {
            let error = exported(&[rule]).unwrap_err();
            assert_eq!((&*error.place, error.cause), ("rule r", cause.into()), "{rule}");
        }
    }
}
