//! Watching: packets as they came with what the rules in force made of them, as
//! `bpf/filter/arrive.h` does it.
//!
//! Rule: both parts are ordinary filters but for one global: in front one rule that samples, behind
//! it the rules in force, with their own maps. What the front counts and reads is its own. A record
//! is a [`Sample`](super::sample::Sample). Not here: making one program of both, and loading it.

use spec::{Expect, Map, Spec};

use super::abi::{Part, Policy, Reason};
use super::trial::{WATCHED_RING, set_apart, set_part};
use super::{Action, Policies, Rule, Ruleset, Test, act};

pub use super::trial::WATCHED;

/// Bytes of a packet that are kept at most, as `FILTER_ARRIVAL_BYTES`.
pub const BYTES: usize = 512;

/// What the rule in front met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Packets that the tests hold for.
    pub matched: u64,
    /// Of these, those that were chosen.
    pub chosen: u64,
}

/// The rules in front: one in so many packets that these tests hold for, however odd they are.
pub fn rules(tests: Vec<Test>, one_in: u32) -> Ruleset {
    let mut policies = Policies::default();
    for oddity in Reason::ALL {
        policies.set(oddity, Policy::Judge);
    }
    let rule = Rule { name: "watched".to_owned(), tests, action: Action::Sample { one_in } };
    Ruleset { policies, rules: vec![rule], ..Ruleset::default() }
}

/// Makes a filter of [`rules`] the part that chooses.
///
/// # Errors
/// The object is not the filter's.
pub fn make_front(spec: &mut Spec) -> Result<(), spec::Error> {
    set_part(spec, Part::Chooses)?;
    set_apart(spec, ARRIVALS);
    Ok(())
}

/// Makes a filter the part with the rules in force.
///
/// # Errors
/// The object is not the filter's.
pub fn make_behind(spec: &mut Spec) -> Result<(), spec::Error> {
    set_part(spec, Part::Watched)?;
    for map in &mut spec.maps {
        match map.name.as_str() {
            ARRIVALS => map.pin_by_name = true,
            WATCHED => map.max_entries = WATCHED_RING,
            _ => (),
        }
    }
    Ok(())
}

/// Chooses one in so many from now on; `rules` is the front's map of that name.
pub fn choose<M: Map>(rules: &M, one_in: u32) -> Result<(), M::Error> {
    let rule = super::abi::Rule {
        action: super::abi::Action::Sample as u32,
        argument: u32::MAX / one_in.max(1),
    };
    rules.update(&[0; 4], &rule.to_bytes(), Expect::Any)
}

/// What the rule in front met so far; `counts` is the front's map of that name.
pub fn chosen<M: Map>(counts: &M) -> Result<Chosen, M::Error> {
    let count = act::count(counts, 0)?;
    Ok(Chosen { matched: count.packets, chosen: count.taken })
}

const ARRIVALS: &str = "filter_arrivals";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::trial::{is_passing, new_name};
    use crate::memory::Memory;

    #[test]
    fn parts_share_the_packet_alone() {
        let filter = || Spec::parse("filter", crate::filter::OBJECT).unwrap();
        let (mut front, mut behind) = (filter(), filter());
        make_front(&mut front).unwrap();
        make_behind(&mut behind).unwrap();
        let both: Vec<_> =
            front.maps.iter().filter(|map| behind.map(&map.name).is_some()).collect();
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].name == ARRIVALS && both[0].pin_by_name);
        assert_eq!(behind.map(WATCHED).map(|map| map.max_entries), Some(WATCHED_RING));
        assert!(front.maps.iter().all(|map| map.name == ARRIVALS || is_passing(&map.name)));
        assert!(is_passing(WATCHED) && !is_passing(act::COUNTS));
        assert_eq!(new_name(act::COUNTS), "new_filter_counts");
    }

    #[test]
    fn every_packet_is_judged() {
        let rules = rules(Vec::new(), 7);
        assert!(rules.policies.iter().all(|(_, policy)| policy == Policy::Judge));
        assert_eq!(rules.rules[0].action, Action::Sample { one_in: 7 });
    }

    #[test]
    fn the_rate_can_be_changed() {
        let map = Memory::array(8, 1);
        for (one_in, argument) in [(1, u32::MAX), (4, u32::MAX / 4), (0, u32::MAX)] {
            choose(&map, one_in).unwrap();
            let bytes = map.lookup(&[0; 4]).unwrap().unwrap();
            assert_eq!(bytes[4..], argument.to_le_bytes(), "{one_in}");
        }
    }
}
