//! Rules as map entries, and how live maps get there: new rules first, then the shapes in one
//! write, then old rules go.
//!
//! Rule: until the shapes are written nothing judges packets differently, and whatever fails up to
//! there is taken back. Not here: how rules are sorted into shapes (`shape`).

use std::array;

use spec::{Expect, Map};

use super::abi::Shapes;
use super::config::Config;
use super::installed::InstalledRules;
use super::shape::{Family, TooManyShapes};
use super::{RULES4, RULES6, SHAPES};
use crate::table::{self, Changed};

/// The program's maps, named as in the object.
#[derive(Debug)]
pub struct Maps<'a, M> {
    pub shapes: &'a M,
    pub rules4: &'a M,
    pub rules6: &'a M,
}

impl<'a, M> Maps<'a, M> {
    /// Finds the maps by their names in the object.
    pub fn find<E>(map: impl Fn(&str) -> Result<&'a M, E>) -> Result<Self, E> {
        Ok(Self { shapes: map(SHAPES)?, rules4: map(RULES4)?, rules6: map(RULES6)? })
    }
}

/// What the maps should hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan(InstalledRules);

/// Why rules cannot be updated.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    #[error(transparent)]
    TooManyShapes(#[from] TooManyShapes),
    #[error("the rules could not be changed and are what they were: {0}")]
    Map(#[source] E),
}

/// Brings live maps to a configuration; packets meet the old rules or the new ones.
///
/// # Errors
/// The rules do not fit, or a map refused them; then the old rules remain.
pub fn update<M: Map>(config: &Config, maps: &Maps<'_, M>) -> Result<Changed, Error<M::Error>> {
    let installed = read(maps).map_err(Error::Map)?;
    Plan::new(config, &installed)?.apply(&installed, maps).map_err(Error::Map)
}

/// What the maps hold now.
pub fn read<M: Map>(maps: &Maps<'_, M>) -> Result<InstalledRules, M::Error> {
    let bytes = maps.shapes.lookup(&ONLY)?.unwrap_or_default();
    let bytes: [u8; Shapes::SIZE] = array::from_fn(|i| bytes.get(i).copied().unwrap_or_default());
    let shapes = Shapes::from_bytes(&bytes);
    Ok(InstalledRules {
        shapes,
        rules4: table::read(maps.rules4)?,
        rules6: table::read(maps.rules6)?,
    })
}

impl Plan {
    /// # Errors
    /// The rules need more shapes than there are.
    pub fn new(config: &Config, installed: &InstalledRules) -> Result<Self, TooManyShapes> {
        let mut plan = InstalledRules::default();
        let v4 = Family::V4.group(config, installed)?;
        for (slot, group) in plan.shapes.v4.iter_mut().zip(&v4) {
            *slot = group.shape4();
            plan.rules4.extend(group.rules4().map(|rule| entry(&rule.to_bytes())));
        }
        let v6 = Family::V6.group(config, installed)?;
        for (slot, group) in plan.shapes.v6.iter_mut().zip(&v6) {
            *slot = group.shape6();
            plan.rules6.extend(group.rules6().map(|rule| entry(&rule.to_bytes())));
        }
        Ok(Self(plan))
    }

    /// What maps hold after it was applied.
    #[cfg(test)]
    pub(super) fn into_installed(self) -> InstalledRules {
        self.0
    }

    /// # Errors
    /// A map's own; what was changed before it is taken back.
    pub fn apply<M: Map>(
        &self,
        installed: &InstalledRules,
        maps: &Maps<'_, M>,
    ) -> Result<Changed, M::Error> {
        let wanted = &self.0;
        let mut changed = table::add(maps.rules4, &installed.rules4, &wanted.rules4)?;
        match self.switch(installed, maps) {
            Ok(more) => changed += more,
            Err(error) => {
                table::take_back(maps.rules4, &installed.rules4, &wanted.rules4);
                return Err(error);
            }
        }
        changed.removed += table::remove(maps.rules4, &installed.rules4, &wanted.rules4)?;
        changed.removed += table::remove(maps.rules6, &installed.rules6, &wanted.rules6)?;
        Ok(changed)
    }

    /// From here on packets are judged by the new rules.
    fn switch<M: Map>(
        &self,
        installed: &InstalledRules,
        maps: &Maps<'_, M>,
    ) -> Result<Changed, M::Error> {
        let wanted = &self.0;
        let changed = table::add(maps.rules6, &installed.rules6, &wanted.rules6)?;
        if wanted.shapes == installed.shapes {
            return Ok(changed);
        }
        let switched = maps.shapes.update(&ONLY, &wanted.shapes.to_bytes(), Expect::Any);
        if switched.is_err() {
            table::take_back(maps.rules6, &installed.rules6, &wanted.rules6);
        }
        switched.map(|()| changed)
    }
}

/// Key of the one entry of `drop_shapes`.
const ONLY: [u8; 4] = [0; 4];

fn entry(key: &[u8]) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), vec![0; VALUE_SIZE])
}

/// Size of the value of a rule, which has no meaning.
const VALUE_SIZE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drop::abi::{Rule4, Rule6};
    use spec::MemoryMap;

    struct Fixture {
        shapes: MemoryMap,
        rules4: MemoryMap,
        rules6: MemoryMap,
    }

    impl Fixture {
        fn new(most: usize) -> Self {
            Self {
                shapes: MemoryMap::array(Shapes::SIZE, 1),
                rules4: MemoryMap::new(Rule4::SIZE, VALUE_SIZE, most),
                rules6: MemoryMap::new(Rule6::SIZE, VALUE_SIZE, most),
            }
        }

        fn maps(&self) -> Maps<'_, MemoryMap> {
            Maps { shapes: &self.shapes, rules4: &self.rules4, rules6: &self.rules6 }
        }

        fn writes(&self) -> usize {
            self.shapes.writes.get() + self.rules4.writes.get() + self.rules6.writes.get()
        }

        fn numbers4(&self) -> Vec<u8> {
            let shapes = read(&self.maps()).unwrap().shapes;
            shapes.v4.iter().filter(|s| s.rules > 0).map(|s| s.mask.shape).collect()
        }
    }

    fn config(rules: &[&str]) -> Config {
        Config {
            rules: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
            ..Config::default()
        }
    }

    #[test]
    fn a_rule_becomes_its_shape_and_key() {
        let fixture = Fixture::new(8);
        update(&config(&["10.1.0.2 udp 1234"]), &fixture.maps()).unwrap();
        let installed = read(&fixture.maps()).unwrap();
        let shape = installed.shapes.v4[0];
        assert_eq!(shape.mask.to_bytes(), [255, 255, 255, 255, 255, 255, 255, 0]);
        assert_eq!(shape.first.to_bytes(), [10, 1, 0, 2, 4, 210, 17, 0]);
        assert_eq!((shape.rules, installed.shapes.v4[1].rules), (1, 0));
        assert_eq!(installed.rules4.keys().next().unwrap(), &shape.first.to_bytes());
        assert!(installed.rules6.is_empty() && installed.shapes.v6[0].rules == 0);
    }

    #[test]
    fn rules_that_are_alike_share_a_shape() {
        let fixture = Fixture::new(8);
        let rules =
            ["10.0.0.0/8", "10.1.0.2 udp 53", "11.0.0.0/8", "10.1.0.3 tcp 80", "11.0.0.0/8"];
        let changed = update(&config(&rules), &fixture.maps()).unwrap();
        assert_eq!(changed, Changed { added: 4, replaced: 0, removed: 0 });
        let shapes = read(&fixture.maps()).unwrap().shapes;
        assert_eq!(shapes.v4.map(|shape| shape.rules)[..3], [2, 2, 0]);
    }

    #[test]
    fn a_rule_without_a_prefix_is_for_both_families() {
        let fixture = Fixture::new(8);
        update(&config(&["any udp 53", "2001:db8::/64"]), &fixture.maps()).unwrap();
        let InstalledRules { shapes, rules4, rules6 } = read(&fixture.maps()).unwrap();
        assert_eq!((rules4.len(), rules6.len()), (1, 2));
        assert_eq!(shapes.v6[1].mask.address[..9], [255, 255, 255, 255, 255, 255, 255, 255, 0]);
    }

    #[test]
    fn live_shapes_keep_their_numbers_and_free_ones_are_not_reused_at_once() {
        let fixture = Fixture::new(8);
        for (rules, numbers) in [
            (&["10.0.0.0/8", "10.1.0.0/16"][..], &[0, 1][..]),
            (&["10.1.0.0/16", "10.2.0.0/24"], &[1, 2]),
            (&["10.2.0.0/24", "10.3.0.0/25", "10.1.0.0/16"], &[2, 0, 1]),
            (&[], &[]),
        ] {
            update(&config(rules), &fixture.maps()).unwrap();
            assert_eq!(fixture.numbers4(), numbers, "{rules:?}");
            assert_eq!(fixture.rules4.len(), rules.len());
        }
    }

    #[test]
    fn the_same_rules_again_touch_nothing() {
        let fixture = Fixture::new(8);
        let config = config(&["10.1.0.2 udp 1234", "any tcp 23"]);
        update(&config, &fixture.maps()).unwrap();
        let before = fixture.writes();
        assert_eq!(update(&config, &fixture.maps()).unwrap(), Changed::default());
        assert_eq!(fixture.writes(), before);
    }

    #[test]
    fn a_full_map_leaves_the_old_rules() {
        let fixture = Fixture::new(2);
        update(&config(&["10.1.0.2 udp 1", "2001:db8::1"]), &fixture.maps()).unwrap();
        let before = read(&fixture.maps()).unwrap();
        for rules in [
            ["10.1.0.2 udp 2", "10.1.0.2 udp 3", "2001:db8::1"],
            ["10.1.0.2 udp 2", "2001:db8::2", "2001:db8::3"],
        ] {
            let error = update(&config(&rules), &fixture.maps()).unwrap_err();
            assert!(error.to_string().ends_with("are what they were: the map is full"), "{error}");
            assert_eq!(read(&fixture.maps()).unwrap(), before);
        }
    }

    #[test]
    fn too_many_shapes_are_refused_before_anything_changes() {
        let fixture = Fixture::new(64);
        let rules: Vec<String> = (8..17).map(|length| format!("10.0.0.0/{length}")).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        update(&config(&rules[..8]), &fixture.maps()).unwrap();
        let error = update(&config(&rules), &fixture.maps()).unwrap_err();
        assert!(error.to_string().starts_with("IPv4 rules combine"), "{error}");
        assert!(error.to_string().contains("in 9 ways; at most 8"), "{error}");
        assert_eq!(fixture.rules4.len(), 8);
    }
}
