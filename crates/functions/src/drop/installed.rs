//! Rules read back from live maps.
//!
//! Rule: the rules that are returned are those that packets match. A rule counts if its shape is in
//! the list; one that a killed run left without a shape does not. The original order is lost.

use std::array;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::{IpProtocol, Prefix};

use super::abi::{Rule4, Rule6, Shapes};
use super::config::Rule;
use crate::table::Table;

/// The rules that the maps of a loaded program hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledRules {
    pub shapes: Shapes,
    pub rules4: Table,
    pub rules6: Table,
}

impl InstalledRules {
    /// The active rules, sorted; one without a prefix is listed once although both address families
    /// contain it.
    pub fn rules(&self) -> Vec<Rule> {
        let (v4, v6) = (self.rules4(), self.rules6());
        let is_everywhere = |rule: &&Rule| {
            rule.to.is_some_and(|to| to.length() == 0)
                && v6.iter().any(|other| same_but_family(rule, other))
        };
        let both: Vec<Rule> = v4.iter().filter(is_everywhere).copied().collect();
        let mut rules: Vec<Rule> = both.iter().map(|rule| Rule { to: None, ..*rule }).collect();
        let one_family = |rule: &Rule| !both.iter().any(|other| same_but_family(rule, other));
        let rest = v4.into_iter().chain(v6);
        rules.extend(rest.filter(|rule| !is_all(rule) || one_family(rule)));
        rules.sort_by_key(|rule| (rule.to, rule.protocol, rule.port));
        rules
    }

    fn rules4(&self) -> Vec<Rule> {
        let installed = self.shapes.v4.iter().take_while(|shape| shape.rules > 0);
        let masks: Vec<Rule4> = installed.map(|shape| shape.mask).collect();
        let keys = self.rules4.keys().filter_map(|key| key.as_slice().try_into().ok());
        keys.filter_map(|key| {
            let key = Rule4::from_bytes(key);
            let mask = masks.iter().find(|mask| mask.shape == key.shape)?;
            let length = u32::from_be_bytes(mask.address).count_ones() as u8;
            let address = IpAddr::V4(Ipv4Addr::from(key.address));
            rule(address, length, (mask.protocol, key.protocol), (mask.port, key.port))
        })
        .collect()
    }

    fn rules6(&self) -> Vec<Rule> {
        let installed = self.shapes.v6.iter().take_while(|shape| shape.rules > 0);
        let masks: Vec<Rule6> = installed.map(|shape| shape.mask).collect();
        let keys = self.rules6.keys().filter(|key| key.len() == Rule6::SIZE);
        keys.filter_map(|key| {
            let key = Rule6::from_bytes(&array::from_fn(|i| key[i]));
            let mask = masks.iter().find(|mask| mask.shape == key.shape)?;
            let length = u128::from_be_bytes(mask.address).count_ones() as u8;
            let address = IpAddr::V6(Ipv6Addr::from(key.address));
            rule(address, length, (mask.protocol, key.protocol), (mask.port, key.port))
        })
        .collect()
    }
}

/// `None` for a key that its mask cannot have made.
fn rule(
    address: IpAddr,
    length: u8,
    (protocol_mask, protocol): (u8, u8),
    (port_mask, port): ([u8; 2], [u8; 2]),
) -> Option<Rule> {
    Some(Rule {
        to: Some(Prefix::new(address, length)?),
        protocol: (protocol_mask != 0).then_some(IpProtocol(protocol)),
        port: (port_mask != [0; 2]).then(|| u16::from_be_bytes(port)),
    })
}

fn is_all(rule: &Rule) -> bool {
    rule.to.is_some_and(|to| to.length() == 0)
}

/// Both are for all addresses, and alike in the rest.
fn same_but_family(a: &Rule, b: &Rule) -> bool {
    is_all(a) && is_all(b) && (a.protocol, a.port) == (b.protocol, b.port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drop::{Config, Plan};

    #[test]
    fn rules_come_back_as_they_were_given() {
        let texts = [
            "any udp 53",
            "any tcp",
            "10.0.0.0/8",
            "10.1.0.2 udp 1234",
            "10.1.0.3 udp 1234",
            "2001:db8::/64 tcp",
            "2001:db8::1 any 7",
        ];
        let mut rules: Vec<Rule> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let config = Config { rules: rules.clone(), ..Config::default() };
        let installed = Plan::new(&config, &InstalledRules::default()).unwrap().into_installed();
        rules.sort_by_key(|rule| (rule.to, rule.protocol, rule.port));
        assert_eq!(installed.rules(), rules);
    }

    #[test]
    fn rules_for_all_addresses_of_one_family_stay_there() {
        let rules = vec!["0.0.0.0/0 udp".parse().unwrap(), "::/0 tcp".parse().unwrap()];
        let config = Config { rules: rules.clone(), ..Config::default() };
        let installed = Plan::new(&config, &InstalledRules::default()).unwrap().into_installed();
        assert_eq!(installed.rules(), rules);
    }

    #[test]
    fn left_over_rules_do_not_count() {
        let config = Config { rules: vec!["any".parse().unwrap()], ..Config::default() };
        let mut installed =
            Plan::new(&config, &InstalledRules::default()).unwrap().into_installed();
        installed.shapes = Default::default();
        assert_eq!(installed.rules(), []);
    }
}
