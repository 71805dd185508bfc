//! Which events of the neighbor tables change where packets go: an address gets, loses or changes
//! its hardware address.
//!
//! An entry that is used changes its state every few seconds, and each change is an event, although
//! packets go to the same address as before. So the hardware addresses are remembered.

use std::collections::HashMap;

/// Hardware addresses by interface and IP address; `None` for entries without one.
#[derive(Debug, Default)]
pub struct NextHopEvents {
    known: HashMap<Key, Option<Vec<u8>>>,
}

/// Number of the interface and the bytes of the address.
type Key = ([u8; 4], Vec<u8>);

impl NextHopEvents {
    /// Takes the payload of an `RTM_NEWNEIGH` or `RTM_DELNEIGH`; whether packets may go elsewhere
    /// now. An entry that was never seen may have had any address.
    pub fn take(&mut self, is_new: bool, payload: &[u8]) -> bool {
        let Some((header, attributes)) = payload.split_first_chunk::<HEADER>() else { return true };
        if header[0] == libc::AF_BRIDGE as u8 {
            // The table of a bridge, in which no route is looked up.
            return false;
        }
        let [_, _, _, _, a, b, c, d, low, high, ..] = *header;
        let state = u16::from_ne_bytes([low, high]);
        let Some(ip) = attribute(attributes, NDA_DST) else { return true };
        let address = attribute(attributes, NDA_LLADDR).filter(|_| is_new && state & VALID != 0);
        if self.known.len() >= MOST {
            self.known.clear();
        }
        let before = self.known.insert(([a, b, c, d], ip.to_vec()), address.map(<[u8]>::to_vec));
        before.is_none_or(|before| before.as_deref() != address)
    }
}

/// The value of the first attribute of this kind.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let [a, b, c, d] = *bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = bytes.get(4..length)?;
        if u16::from_ne_bytes([c, d]) == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

/// Bytes of `struct ndmsg`.
const HEADER: usize = 12;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// `NUD_VALID`: packets are sent to the address of the entry.
const VALID: u16 = libc::NUD_PERMANENT
    | libc::NUD_NOARP
    | libc::NUD_REACHABLE
    | libc::NUD_PROBE
    | libc::NUD_STALE
    | libc::NUD_DELAY;
/// Entries that are remembered.
const MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn event(family: i32, state: u16, mac: Option<[u8; 6]>) -> Vec<u8> {
        let mut message = vec![family as u8, 0, 0, 0, 7, 0, 0, 0];
        message.extend(state.to_ne_bytes());
        message.extend([0, 1]);
        let mut push = |kind: u16, value: &[u8]| {
            message.extend((4 + value.len() as u16).to_ne_bytes());
            message.extend(kind.to_ne_bytes());
            message.extend(value);
            message.resize(message.len().next_multiple_of(4), 0);
        };
        push(NDA_DST, &[10, 0, 2, 2]);
        push(3, &[0; 16]);
        mac.iter().for_each(|mac| push(NDA_LLADDR, mac));
        message
    }

    #[test]
    fn states_alone_change_nothing() {
        let (one, other) = (Some([2, 0, 0, 0, 0, 1]), Some([2, 0, 0, 0, 0, 2]));
        let mut events = NextHopEvents::default();
        let cases = [
            (true, libc::NUD_REACHABLE, one, true, "it may have had another one before"),
            (true, libc::NUD_STALE, one, false, "stale"),
            (true, libc::NUD_DELAY, one, false, "used"),
            (true, libc::NUD_PROBE, one, false, "asked"),
            (true, libc::NUD_REACHABLE, other, true, "another address"),
            (true, libc::NUD_FAILED, other, true, "no answer"),
            (true, libc::NUD_INCOMPLETE, None, false, "asked again"),
            (true, libc::NUD_REACHABLE, one, true, "an answer"),
            (false, libc::NUD_REACHABLE, one, true, "removed"),
            (true, libc::NUD_PERMANENT, one, true, "configured"),
        ];
        for (is_new, state, mac, is_change, what) in cases {
            let event = event(libc::AF_INET, state, mac);
            assert_eq!(events.take(is_new, &event), is_change, "{what}");
        }
        assert!(!events.take(true, &event(libc::AF_BRIDGE, libc::NUD_REACHABLE, one)));
        let whole = event(libc::AF_INET, libc::NUD_REACHABLE, other);
        for length in 0..whole.len() {
            assert!(NextHopEvents::default().take(true, &whole[..length]), "cut at {length}");
        }
    }
}
