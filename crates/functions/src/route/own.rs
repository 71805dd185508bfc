//! What the program cannot ask the kernel's lookup for: the host's own IPv4 addresses, and settings
//! that the lookup ignores. Such packets go to the stack, which decides: packets from own addresses
//! by its settings (`accept_local`) and rules.

use std::net::Ipv4Addr;

use spec::{Expect, Map};

use super::abi;

/// Fills the map [`OWN`](super::OWN) with these addresses, and with no others.
///
/// # Errors
/// The map's own; some places may have changed then.
pub fn set_own<M: Map>(map: &M, addresses: &[Ipv4Addr]) -> Result<(), M::Error> {
    let mut wanted = vec![[0; 4]; PLACES];
    for address in addresses {
        let place = &mut wanted[place(*address)];
        *place = if matches!(*place, [0, 0, 0, 0]) || *place == address.octets() {
            address.octets()
        } else {
            SEVERAL
        };
    }
    for (number, (live, wanted)) in (0_u32..).zip(map.array()?.iter().zip(&wanted)) {
        if live[..] != wanted[..] {
            map.update(&number.to_le_bytes(), wanted, Expect::Any)?;
        }
    }
    Ok(())
}

/// What the kernel's lookup does not consider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// The smallest MTU that an IPv4 route has of its own: larger packets are the stack's.
    pub route_mtu4: Option<u32>,
    /// As above, of IPv6.
    pub route_mtu6: Option<u32>,
    /// A part of an IPv6 rule: all IPv6 packets are the stack's.
    pub leaves6: bool,
}

impl Ignored {
    /// The state with this, and what else it had.
    #[must_use]
    pub fn within(self, state: abi::Control) -> abi::Control {
        let [route_mtu4, route_mtu6] =
            [self.route_mtu4, self.route_mtu6].map(|mtu| mtu.unwrap_or(0));
        abi::Control { route_mtu4, route_mtu6, leaves6: u32::from(self.leaves6), ..state }
    }

    /// Writes the map [`CONTROL`](super::CONTROL).
    ///
    /// # Errors
    /// The map's own.
    pub fn write<M: Map>(self, map: &M) -> Result<(), M::Error> {
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        let live = bytes.first_chunk().map(abi::Control::from_bytes).unwrap_or_default();
        if self.within(live) == live {
            return Ok(());
        }
        map.update(&[0; 4], &self.within(live).to_bytes(), Expect::Any)
    }
}

/// `ROUTE_OWN_HASH` of the address as the program has it in a register.
fn place(address: Ipv4Addr) -> usize {
    let word = u32::from_le_bytes(address.octets());
    (word.wrapping_mul(HASH) >> (u32::BITS - BITS)) as usize
}

/// `ROUTE_OWN_BITS`.
const BITS: u32 = 10;
const PLACES: usize = 1 << BITS;
/// `ROUTE_OWN_HASH`.
const HASH: u32 = 0x9e37_79b1;
/// `ROUTE_OWN_SEVERAL`.
const SEVERAL: [u8; 4] = [0xff; 4];

#[cfg(test)]
mod tests {
    use spec::MemoryMap;

    use super::*;

    fn used(map: &MemoryMap) -> Vec<(usize, Vec<u8>)> {
        let places = map.array().unwrap().into_iter().enumerate();
        places.filter(|(_, value)| value[..] != [0; 4]).collect()
    }

    #[test]
    fn each_address_has_its_place_and_two_share_one() {
        let map = MemoryMap::array(4, PLACES as u32);
        let (first, second) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(192, 0, 2, 255));
        set_own(&map, &[first, second, first]).unwrap();
        let mut expected = [first, second].map(|one| (place(one), one.octets().to_vec()));
        expected.sort_unstable();
        assert_eq!(used(&map), expected);

        let is_same = |other: &u32| place(Ipv4Addr::from(*other)) == place(first);
        let other = (1 << 24..).filter(|one| *one != first.to_bits()).find(is_same).unwrap();
        set_own(&map, &[first, other.into()]).unwrap();
        assert_eq!(used(&map), [(place(first), SEVERAL.to_vec())], "the second one is gone");
    }

    #[test]
    fn what_is_ignored_leaves_the_rest_of_the_state() {
        let map = MemoryMap::array(abi::Control::SIZE, 1);
        let state = abi::Control { generation: 7, valid_until: 9, ..abi::Control::default() };
        map.update(&[0; 4], &state.to_bytes(), Expect::Any).unwrap();
        let read = || {
            abi::Control::from_bytes(map.lookup(&[0; 4]).unwrap().unwrap().first_chunk().unwrap())
        };
        let ignored = Ignored { route_mtu4: Some(1000), route_mtu6: Some(1280), leaves6: true };
        ignored.write(&map).unwrap();
        let expected = abi::Control { route_mtu4: 1000, route_mtu6: 1280, leaves6: 1, ..state };
        assert_eq!(read(), expected);
        Ignored::default().write(&map).unwrap();
        assert_eq!(read(), state);
    }
}
