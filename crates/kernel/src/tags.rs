//! Where the VLAN tags of received packets are when an XDP program sees them.
//!
//! A tag that the card took out of the frame (`rx-vlan-hw-parse`), or that the sender of a veth
//! pair never put in, is kept beside the packet: the program sees an untagged frame. Rule: an
//! interface of which that cannot be known is [`Tags::Hidden`]. Not here: what is done about it.

use sys::net::ethtool::{Ethtool, Feature};
use sys::net::{Ifindex, Link, NetdevFamily, Netlink};

use crate::Mode;
use crate::error::{Error, Result};
use crate::load::slack::hides_constants;

/// Where tags are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// In the frame.
    InFrame,
    /// Outside the packet: a program that is bound to the device can read them. Linux 6.8.
    Device,
    /// Beside it while these features are on, which can be switched off.
    Switchable(Vec<String>),
    /// Beside it, out of a program's reach; the reason.
    Hidden(String),
}

/// Where a program that is attached in this mode finds tags.
///
/// # Errors
/// There is no such interface, or its features cannot be read.
pub fn tags(ifindex: Ifindex, mode: Mode) -> Result<Tags> {
    let link = Netlink::open().and_then(|mut netlink| netlink.link_by_index(ifindex));
    let link = link.map_err(Error::from_call)?;
    let features = Ethtool::open().and_then(|ethtool| ethtool.features(&link.name));
    Ok(decide(&link, mode, answers(ifindex), &features.map_err(Error::from_call)?))
}

/// Whether a program can be bound to the device, and the driver answers
/// `bpf_xdp_metadata_rx_vlan_tag()`; `false` if the kernel cannot report it.
fn answers(ifindex: Ifindex) -> bool {
    let features = NetdevFamily::open().and_then(|mut netdev| netdev.xdp_features(ifindex));
    features.is_ok_and(|features| features.rx_metadata & RX_METADATA_VLAN_TAG != 0)
        && !hides_constants()
}

fn decide(link: &Link, mode: Mode, answers: bool, features: &[Feature]) -> Tags {
    match mode {
        Mode::Offload => return Tags::InFrame,
        Mode::Native if answers => return Tags::Device,
        Mode::Native | Mode::Generic => {}
    }
    if BESIDE.contains(&link.kind.as_str()) {
        let mode = if mode == Mode::Native { "this kernel's native" } else { "generic" };
        let kind = &link.kind;
        return Tags::Hidden(format!(
            "a {kind} keeps VLAN tags beside the frame, where {mode} mode does not show them"
        ));
    }
    let on = features.iter().filter(|one| STRIPPING.contains(&one.name.as_str()) && one.active);
    let (changeable, fixed): (Vec<_>, Vec<_>) = on.partition(|one| one.changeable);
    match (changeable.is_empty(), fixed.first()) {
        (_, Some(one)) => {
            let name = &one.name;
            Tags::Hidden(format!("its driver strips VLAN tags, and {name} cannot be disabled"))
        }
        (true, None) => Tags::InFrame,
        (false, None) => {
            Tags::Switchable(changeable.into_iter().map(|one| one.name.clone()).collect())
        }
    }
}

/// Devices that receive packets from the stack, or after it has taken the outermost tag out.
const BESIDE: [&str; 10] =
    ["bond", "bridge", "ifb", "ipvlan", "ipvtap", "macvlan", "macvtap", "netkit", "team", "veth"];
/// Offloads that take tags out of frames, 802.1Q and 802.1ad.
const STRIPPING: [&str; 2] = ["rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"];
/// `NETDEV_XDP_RX_METADATA_VLAN_TAG`.
const RX_METADATA_VLAN_TAG: u64 = 1 << 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(name: &str, active: bool, changeable: bool) -> Feature {
        Feature { name: name.to_owned(), active, changeable }
    }

    #[test]
    fn where_tags_are() {
        let off = || feature(STRIPPING[0], false, true);
        let on = || feature(STRIPPING[0], true, true);
        let fixed = || feature(STRIPPING[0], true, false);
        let service = || feature(STRIPPING[1], true, true);
        let switchable = |names: &[&str]| {
            Tags::Switchable(names.iter().map(|name| (*name).to_owned()).collect())
        };
        for (kind, mode, answers, features, wanted) in [
            ("", Mode::Native, false, vec![off()], Some(Tags::InFrame)),
            ("", Mode::Native, true, vec![on()], Some(Tags::Device)),
            ("", Mode::Generic, true, vec![on()], Some(switchable(&STRIPPING[..1]))),
            ("", Mode::Native, false, vec![on(), service()], Some(switchable(&STRIPPING))),
            ("", Mode::Native, false, vec![fixed(), service()], None),
            ("tun", Mode::Generic, false, vec![], Some(Tags::InFrame)),
            ("veth", Mode::Native, true, vec![on()], Some(Tags::Device)),
            ("veth", Mode::Native, false, vec![on()], None),
            ("veth", Mode::Generic, true, vec![off()], None),
            ("bridge", Mode::Generic, false, vec![], None),
            ("", Mode::Offload, false, vec![on()], Some(Tags::InFrame)),
        ] {
            let link = Link { kind: kind.to_owned(), ..Link::default() };
            let found = decide(&link, mode, answers, &features);
            let name = format!("{kind:?} {mode:?} {answers} {features:?}");
            match wanted {
                Some(wanted) => assert_eq!(found, wanted, "{name}"),
                None => assert!(matches!(found, Tags::Hidden(_)), "{name}: {found:?}"),
            }
        }
    }
}
