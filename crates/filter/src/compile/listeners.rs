//! `Listeners`: settings of the host that the answers of the SYN proxy must match, so that the
//! network stack of the host can continue the connection.
//!
//! Rule: the proxy offers only options that the stack understands later. Not here: reading the
//! settings of the host, and the answers (`bpf/filter/syn.h`).

use crate::abi::Syn;

/// Settings of the network namespace of the listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listeners {
    /// Value of `net.ipv4.tcp_syncookies`.
    pub syncookies: u8,
    /// Value of `net.ipv4.tcp_timestamps`.
    pub timestamps: u8,
    /// The last value of `net.ipv4.tcp_rmem`, in bytes.
    pub receive_most: u64,
    /// Value of `net.core.rmem_max`, in bytes.
    pub buffer_most: u64,
    /// MTU of the interface, in bytes.
    pub mtu: u32,
    /// MAC addresses of the interface and of its bridge or bond. Frames to other addresses are left
    /// to the stack; without the first one, frames to any address are for this host.
    pub macs: [Option<[u8; 6]>; 2],
}

/// The listeners would not accept connections that the proxy opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    #[error(
        "synproxy needs listeners that accept SYN cookies: set net.ipv4.tcp_syncookies to 2 \
         (current value: {0})"
    )]
    NoCookies(u8),
    #[error("an MTU of {0} is too small for TCP")]
    Mtu(u32),
}

impl Syn {
    /// The options that the proxy can offer for these listeners.
    ///
    /// # Errors
    /// The stack would refuse the connections.
    pub fn of(listeners: &Listeners) -> Result<Self, Unsupported> {
        if listeners.syncookies != 2 {
            return Err(Unsupported::NoCookies(listeners.syncookies));
        }
        let room = |headers: u32| {
            let room = listeners.mtu.checked_sub(headers).filter(|room| *room >= LEAST_MSS);
            Ok(room.ok_or(Unsupported::Mtu(listeners.mtu))?.min(u16::MAX.into()) as u16)
        };
        Ok(Self {
            mss4: room(20 + 20)?,
            mss6: room(40 + 20)?,
            window_scale: listeners.window_scale(),
            has_time: u16::from(listeners.has_plain_times()),
            mac: number(listeners.macs[0]),
            master_mac: number(listeners.macs[1]),
        })
    }
}

impl Listeners {
    /// Whether timestamps of all connections start at the clock. With the setting 1, each has a
    /// secret offset, so cookies cannot encode window scale and selective acknowledgement.
    pub const fn has_plain_times(&self) -> bool {
        self.timestamps == 2
    }

    /// The window scale that the stack chooses (`tcp_select_initial_window` in
    /// net/ipv4/tcp_output.c).
    fn window_scale(&self) -> u16 {
        let space = self.receive_most.max(self.buffer_most).clamp(1, 65_535 << MOST_SCALE);
        space.ilog2().saturating_sub(15).min(MOST_SCALE) as u16
    }
}

/// A MAC address as a number; 0 for none.
fn number(mac: Option<[u8; 6]>) -> u64 {
    mac.map_or(0, |mac| mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The highest window scale: RFC 7323, section 2.2.
const MOST_SCALE: u32 = 14;
/// The smallest segment size that IPv4 cookies can encode.
const LEAST_MSS: u32 = 536;

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Listeners = Listeners {
        syncookies: 2,
        timestamps: 2,
        receive_most: 6_291_456,
        buffer_most: 212_992,
        mtu: 1500,
        macs: [Some([2, 0, 0, 0, 1, 0xff]), None],
    };

    #[test]
    fn what_is_offered() {
        let syn = Syn::of(&USUAL).unwrap();
        let settings = Syn { mss4: 1460, mss6: 1440, window_scale: 7, has_time: 1, ..syn };
        assert_eq!(syn, settings);
        assert_eq!((syn.mac, syn.master_mac), (0x0200_0000_01ff, 0));
        for (most, scale) in [(65_535, 0), (65_536, 1), (131_072, 2), (33_554_432, 10)] {
            let listeners = Listeners { receive_most: most, buffer_most: 0, ..USUAL };
            assert_eq!(Syn::of(&listeners).unwrap().window_scale, scale, "{most}");
        }
        let huge = Listeners { buffer_most: u64::MAX, ..USUAL };
        assert_eq!(Syn::of(&huge).unwrap().window_scale, 14);
        let secret = Listeners { timestamps: 1, ..USUAL };
        assert_eq!(Syn::of(&secret).unwrap().has_time, 0);
        let jumbo = Listeners { mtu: 100_000, ..USUAL };
        assert_eq!(Syn::of(&jumbo).unwrap().mss4, 65_535);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        for setting in [0, 1] {
            let listeners = Listeners { syncookies: setting, ..USUAL };
            assert_eq!(Syn::of(&listeners), Err(Unsupported::NoCookies(setting)));
        }
        assert_eq!(Syn::of(&Listeners { mtu: 68, ..USUAL }), Err(Unsupported::Mtu(68)));
    }
}
