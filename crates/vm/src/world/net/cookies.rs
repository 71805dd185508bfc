//! SYN cookies: initial sequence numbers that encode the state of a connection request.
//!
//! Layout and lifetime are the kernel's (`net/ipv4/syncookies.c`): the upper eight bits are the
//! minute, the rest hides which of four segment sizes was chosen. The hash is SipHash-2-4 with a
//! key from the environment, so cookies repeat and differ from those of every kernel.

use packet::siphash;

/// Creates and checks cookies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookies {
    keys: [[u64; 2]; 2],
}

/// Input of a cookie; addresses and ports in packet order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syn<'a> {
    /// Source and destination address, 8 or 32 bytes.
    pub addresses: &'a [u8],
    /// Source and destination port.
    pub ports: [u8; 4],
    /// The sequence number of the client's first packet.
    pub sequence: u32,
    pub ipv4: bool,
}

impl Cookies {
    pub fn new(secret: u64) -> Self {
        let word = |number: u64| siphash([secret, number], &number.to_le_bytes());
        Self { keys: [[word(1), word(2)], [word(3), word(4)]] }
    }

    /// A cookie and the segment size that it encodes, at most `mss` if possible.
    pub fn make(&self, syn: &Syn<'_>, minute: u32, mss: u16) -> (u32, u16) {
        let sizes = sizes(syn.ipv4);
        let choice = sizes.iter().rposition(|size| *size <= mss).unwrap_or(0);
        let hidden = self.hash(syn, minute, 1).wrapping_add(choice as u32) & LOWER;
        let open = self.hash(syn, 0, 0).wrapping_add(syn.sequence);
        (open.wrapping_add(minute << UPPER_SHIFT).wrapping_add(hidden), sizes[choice])
    }

    /// Segment size of a cookie; `None` for an expired or invalid one.
    pub fn check(&self, syn: &Syn<'_>, minute: u32, cookie: u32) -> Option<u16> {
        let open = self.hash(syn, 0, 0).wrapping_add(syn.sequence);
        let cookie = cookie.wrapping_sub(open);
        let age = minute.wrapping_sub(cookie >> UPPER_SHIFT) & (u32::MAX >> 8);
        if age >= OLDEST {
            return None;
        }
        let hidden = self.hash(syn, minute.wrapping_sub(age), 1);
        let choice = cookie.wrapping_sub(hidden) & LOWER;
        sizes(syn.ipv4).get(choice as usize).copied()
    }

    fn hash(&self, syn: &Syn<'_>, minute: u32, key: usize) -> u32 {
        let mut bytes = [0; 40];
        let len = syn.addresses.len().min(32);
        bytes[..len].copy_from_slice(&syn.addresses[..len]);
        bytes[32..36].copy_from_slice(&syn.ports);
        bytes[36..].copy_from_slice(&minute.to_le_bytes());
        siphash(self.keys[key], &bytes) as u32
    }
}

fn sizes(ipv4: bool) -> [u16; 4] {
    if ipv4 { [536, 1300, 1440, 1460] } else { [1220, 1420, 1440, 8940] }
}

const UPPER_SHIFT: u32 = 24;
const LOWER: u32 = (1 << UPPER_SHIFT) - 1;
/// Age in minutes above which a cookie is invalid.
const OLDEST: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_two_minutes_and_its_own_ends() {
        let cookies = Cookies::new(7);
        let addresses = [10, 0, 0, 1, 10, 0, 0, 2];
        let syn = Syn { addresses: &addresses, ports: [1, 2, 3, 4], sequence: 99, ipv4: true };
        for (mss, size) in [(0, 536), (536, 536), (1299, 536), (1440, 1440), (9000, 1460)] {
            let (cookie, chosen) = cookies.make(&syn, 5, mss);
            assert_eq!(chosen, size, "{mss}");
            assert_eq!(cookies.check(&syn, 5, cookie), Some(size));
            assert_eq!(cookies.check(&syn, 6, cookie), Some(size));
            assert_eq!(cookies.check(&syn, 7, cookie), None, "too old");
            assert_eq!(cookies.check(&syn, 4, cookie), None, "from the future");
            let other = Syn { sequence: 1000, ..syn };
            assert_eq!(cookies.check(&other, 5, cookie), None);
            let other = Syn { ports: [1, 2, 3, 5], ..syn };
            assert_eq!(cookies.check(&other, 5, cookie), None);
            assert_eq!(Cookies::new(8).check(&syn, 5, cookie), None, "another secret");
        }
    }
}
