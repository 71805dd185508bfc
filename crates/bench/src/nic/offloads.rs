//! Offloads: what the card does to packets before a hook sees them.

use sys::net::ethtool::{Ethtool, Feature};

use super::Item;
use super::link::on;

/// GRO, LRO, checksums, VLAN tags: the paper left them as they are by default.
pub fn items(ethtool: &Ethtool, device: &str) -> Vec<Item> {
    let features = ethtool.features(device).unwrap_or_default();
    OFFLOADS.iter().map(|offload| offload.item(device, &features)).collect()
}

struct Offload {
    what: &'static str,
    /// The kernel's name of the feature.
    feature: &'static str,
    /// The name in `ethtool -K`.
    short: &'static str,
    paper: bool,
}

impl Offload {
    fn item(&self, device: &str, features: &[Feature]) -> Item {
        let Self { what, feature, short, paper } = *self;
        let Some(found) = features.iter().find(|one| one.name == feature) else {
            return Item::unknown(what, "this kernel does not know it");
        };
        if found.active == paper {
            return Item::same(what, on(paper));
        }
        let change = match found.changeable {
            true => format!("`ethtool -K {device} {short} {}`", on(paper)),
            false => "this card cannot".to_owned(),
        };
        Item::differs(what, on(found.active), if paper { "it on" } else { "it off" }, change)
    }
}

const OFFLOADS: &[Offload] = &[
    Offload { what: "GRO", feature: "rx-gro", short: "gro", paper: true },
    Offload { what: "LRO", feature: "rx-lro", short: "lro", paper: false },
    Offload { what: "receive checksums", feature: "rx-checksum", short: "rx", paper: true },
    Offload {
        what: "VLAN tags taken off by the card",
        feature: "rx-vlan-hw-parse",
        short: "rxvlan",
        paper: true,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offload_that_differs_tells_whether_it_can_be_switched() {
        let feature =
            |name: &str, active, changeable| Feature { name: name.to_owned(), active, changeable };
        let features = [feature("rx-gro", false, true), feature("rx-lro", true, false)];
        let lines: Vec<String> =
            OFFLOADS.iter().map(|offload| offload.item("eth1", &features).to_string()).collect();
        assert_eq!(
            lines,
            [
                "GRO: off; differs, the paper had it on: `ethtool -K eth1 gro on`",
                "LRO: on; differs, the paper had it off: this card cannot",
                "receive checksums: this kernel does not know it",
                "VLAN tags taken off by the card: this kernel does not know it",
            ]
        );
        let same = OFFLOADS[0].item("eth1", &[feature("rx-gro", true, true)]).to_string();
        assert_eq!(same, "GRO: on; as the paper had it");
    }
}
