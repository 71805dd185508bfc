//! Checks whether an interface supports options before the kernel is called, which returns only
//! `EINVAL` for most problems, and no error for some.
//!
//! Rule: no system calls. Each message names the setting to change.

use super::{Device, Queues};
use crate::error::{Error, InterfaceReason, Result};

/// Requirements on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Number of the queue, from 0.
    pub queue: u32,
    /// The socket receives.
    pub receive: bool,
    /// The socket transmits.
    pub transmit: bool,
    /// Bytes of a frame of the memory.
    pub frame_size: u32,
    /// Bytes that the kernel leaves free before a received packet, in addition to its own 256.
    pub headroom: u32,
    /// Packets may be longer than a frame.
    pub multi_buffer: bool,
    /// The driver must access the memory directly; copying is not acceptable.
    pub zero_copy: bool,
    /// The device must compute checksums of transmitted packets.
    pub tx_checksum: bool,
    /// The device must report transmit times.
    pub tx_timestamp: bool,
    /// The device must support launch times.
    pub launch_time: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            queue: 0,
            receive: true,
            transmit: true,
            frame_size: 4096,
            headroom: 0,
            multi_buffer: false,
            zero_copy: false,
            tx_checksum: false,
            tx_timestamp: false,
            launch_time: false,
        }
    }
}

impl Device {
    /// Checks that the interface meets the requirements.
    ///
    /// # Errors
    /// [`Error::Interface`] for the first requirement that it does not meet, with the setting to
    /// change.
    pub fn check(&self, wanted: &Wanted) -> Result<()> {
        let refusals = [Self::down, Self::queue, Self::too_small, Self::launch, Self::zero_copy];
        match refusals.iter().find_map(|refusal| refusal(self, wanted)) {
            Some(reason) => Err(Error::interface(&self.name, reason)),
            None => Ok(()),
        }
    }

    /// The reason why packets are copied with these options. `None` where the driver reports
    /// support for zero copy, or the kernel (before 6.3) reports nothing; then only an attempt
    /// shows it.
    pub fn why_copy(&self, wanted: &Wanted) -> Option<String> {
        let features = self.features?;
        let segments = features.zero_copy_segments;
        let lacks = |what: &str| Some(format!("driver {} has no {what}", self.driver));
        if !features.zero_copy() {
            return lacks("zero copy for AF_XDP");
        }
        if wanted.multi_buffer && segments <= 1 {
            return lacks("packets of several frames with zero copy");
        }
        if wanted.tx_checksum && !features.tx_checksum() {
            return lacks("checksum offload with zero copy");
        }
        if wanted.tx_timestamp && !features.tx_timestamp() {
            return lacks("transmit timestamps with zero copy");
        }
        let room = wanted.room() / ZERO_COPY_STEP * ZERO_COPY_STEP;
        let room = if wanted.multi_buffer { room.saturating_mul(segments) } else { room };
        let needed = self.mtu.saturating_add(ZERO_COPY_HEADERS);
        (needed > room).then(|| {
            format!(
                "with zero copy its MTU of {} needs frames with room for {needed} bytes, \
                 and there is room for {room}: {}",
                self.mtu,
                wanted.larger(room.saturating_sub(ZERO_COPY_HEADERS))
            )
        })
    }

    fn down(&self, _: &Wanted) -> Option<InterfaceReason> {
        (!self.up).then(|| InterfaceReason::Down { interface: self.name.clone() })
    }

    fn queue(&self, wanted: &Wanted) -> Option<InterfaceReason> {
        let Queues { rx, tx, most } = self.queues;
        let lacking = [(wanted.receive, rx, "receive"), (wanted.transmit, tx, "transmit")]
            .into_iter()
            .find(|(asked, count, _)| *asked && wanted.queue >= *count);
        let (_, count, direction) = lacking?;
        let (interface, queue) = (self.name.clone(), wanted.queue);
        Some(InterfaceReason::NoQueue { interface, direction, queue, count, max: most })
    }

    /// Longer packets are dropped on arrival, and only counted.
    fn too_small(&self, wanted: &Wanted) -> Option<InterfaceReason> {
        let room = wanted.room();
        let longest = self.mtu.saturating_add(HEADERS);
        if !wanted.receive || wanted.multi_buffer || longest <= room {
            return None;
        }
        let (frame_size, mtu) = (wanted.frame_size, self.mtu);
        let remedy = wanted.larger(room.saturating_sub(HEADERS));
        Some(InterfaceReason::FrameTooSmall { longest, mtu, frame_size, room, remedy })
    }

    fn launch(&self, wanted: &Wanted) -> Option<InterfaceReason> {
        let can = self.features.is_none_or(|features| features.launch_time());
        (wanted.launch_time && !can)
            .then(|| InterfaceReason::NoLaunchTime { driver: self.driver.clone() })
    }

    fn zero_copy(&self, wanted: &Wanted) -> Option<InterfaceReason> {
        let why = wanted.zero_copy.then(|| self.why_copy(wanted)).flatten()?;
        Some(InterfaceReason::NoZeroCopy { why })
    }
}

impl Wanted {
    /// Bytes of a packet that fit into one frame after the headroom.
    fn room(&self) -> u32 {
        self.frame_size.saturating_sub(self.headroom).saturating_sub(KERNEL_HEADROOM)
    }

    /// The remedies for packets that do not fit; `mtu` is an MTU that fits.
    fn larger(&self, mtu: u32) -> String {
        let mut remedies = Vec::new();
        if self.frame_size < LARGEST_FRAME {
            remedies.push(format!("use frames of {LARGEST_FRAME} bytes"));
        }
        if self.headroom > 0 {
            remedies.push(format!("use less headroom than {}", self.headroom));
        }
        if mtu >= SMALLEST_MTU {
            remedies.push(format!("set its MTU to {mtu} or less"));
        }
        if !self.multi_buffer {
            remedies.push("allow packets of several frames".to_owned());
        }
        remedies.join(", or ")
    }
}

/// `XDP_PACKET_HEADROOM`: bytes that the kernel keeps free before each packet.
const KERNEL_HEADROOM: u32 = 256;
/// Bytes of an Ethernet header and one VLAN tag.
const HEADERS: u32 = 18;
/// Bytes that `xp_assign_dev` in net/xdp/xsk_buff_pool.c at v6.18 adds to the MTU: header, two tags
/// and checksum.
const ZERO_COPY_HEADERS: u32 = 26;
/// Granularity in which that function counts a frame's room.
const ZERO_COPY_STEP: u32 = 128;
/// Largest frame: a page.
const LARGEST_FRAME: u32 = 4096;
/// `ETH_MIN_MTU`.
const SMALLEST_MTU: u32 = 68;

#[cfg(test)]
mod tests {
    use sys::net::XdpFeatures;

    use super::*;

    const ZERO_COPY: u64 = 1 << 3;

    fn device(change: impl FnOnce(&mut Device)) -> Device {
        let mut device = Device {
            name: "eth1".to_owned(),
            driver: "ice".to_owned(),
            mtu: 1500,
            up: true,
            running: true,
            queues: Queues { rx: 2, tx: 2, most: None },
            features: Some(XdpFeatures {
                bits: 0b1111,
                zero_copy_segments: 1,
                ..XdpFeatures::default()
            }),
            ..Device::default()
        };
        change(&mut device);
        device
    }

    fn wanted(change: impl FnOnce(&mut Wanted)) -> Wanted {
        let mut wanted = Wanted::default();
        change(&mut wanted);
        wanted
    }

    fn features(change: impl FnOnce(&mut XdpFeatures)) -> Device {
        device(|device| change(device.features.as_mut().unwrap()))
    }

    #[test]
    fn supported_options_are_accepted() {
        let cases = [
            ("nothing special", device(|_| {}), wanted(|_| {})),
            ("the last queue", device(|_| {}), wanted(|w| w.queue = 1)),
            ("small frames", device(|_| {}), wanted(|w| w.frame_size = 2048)),
            ("the largest MTU of 4096", device(|d| d.mtu = 3822), wanted(|_| {})),
            ("jumbo in pieces", device(|d| d.mtu = 9000), wanted(|w| w.multi_buffer = true)),
            ("jumbo, never received", device(|d| d.mtu = 9000), wanted(|w| w.receive = false)),
            ("zero copy", device(|_| {}), wanted(|w| w.zero_copy = true)),
            ("unknown driver", device(|d| d.features = None), wanted(|w| w.zero_copy = true)),
            ("checksum by copying", device(|_| {}), wanted(|w| w.tx_checksum = true)),
            (
                "sender beyond the receive queues",
                device(|d| d.queues.tx = 4),
                wanted(|w| (w.queue, w.receive) = (3, false)),
            ),
        ];
        for (name, device, wanted) in cases {
            device.check(&wanted).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn errors_name_the_setting_to_change() {
        let zero_copy = |change: fn(&mut Wanted)| {
            wanted(|wanted| {
                wanted.zero_copy = true;
                change(wanted);
            })
        };
        let cases = [
            (device(|d| d.up = false), wanted(|_| {}), "ip link set eth1 up"),
            (device(|_| {}), wanted(|w| w.queue = 2), "no receive queue 2; it has 0 to 1"),
            (device(|d| d.queues.rx = 1), wanted(|w| w.queue = 1), "its only one is 0"),
            (
                device(|d| (d.queues.tx, d.queues.most) = (1, Some(8))),
                wanted(|w| w.queue = 1),
                "no transmit queue 1; its only one is 0; `ethtool -L eth1` can set up to 8",
            ),
            (device(|_| {}), wanted(|w| w.queue = 1 << 16), "no receive queue 65536"),
            (
                device(|d| d.mtu = 1775),
                wanted(|w| w.frame_size = 2048),
                "room for 1792: use frames of 4096 bytes, or set its MTU to 1774 or less, or allow",
            ),
            (device(|d| d.mtu = 9000), wanted(|_| {}), "room for 3840: set its MTU to 3822"),
            (
                device(|_| {}),
                wanted(|w| w.headroom = 4000),
                "use less headroom than 4000, or allow",
            ),
            (device(|_| {}), wanted(|w| w.launch_time = true), "pace in software"),
            (features(|f| f.bits = 7), zero_copy(|_| {}), "ice has no zero copy for AF_XDP; allow"),
            (features(|_| {}), zero_copy(|w| w.multi_buffer = true), "several frames with zero"),
            (features(|_| {}), zero_copy(|w| w.tx_checksum = true), "no checksum offload with"),
            (features(|_| {}), zero_copy(|w| w.tx_timestamp = true), "no transmit timestamps"),
            (device(|d| d.mtu = 3815), zero_copy(|_| {}), "3841 bytes, and there is room for 3840"),
        ];
        for (device, wanted, expected) in cases {
            let text = device.check(&wanted).expect_err(expected).to_string();
            assert!(text.starts_with("eth1: ") && text.contains(expected), "{text}");
        }
    }

    #[test]
    fn copying_is_reported_with_its_reason() {
        let plain = Wanted::default();
        assert_eq!(device(|_| {}).why_copy(&plain), None);
        assert_eq!(device(|d| d.features = None).why_copy(&plain), None, "not reported");
        let veth = features(|f| f.bits &= !ZERO_COPY);
        assert_eq!(veth.why_copy(&plain).unwrap(), "driver ice has no zero copy for AF_XDP");
        let jumbo = features(|f| f.zero_copy_segments = 5);
        let jumbo = Device { mtu: 9000, ..jumbo };
        assert_eq!(jumbo.why_copy(&wanted(|w| w.multi_buffer = true)), None);
    }
}
