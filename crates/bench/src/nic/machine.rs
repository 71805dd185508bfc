//! The machine around the card: memory node, shared cores, mitigations, clock.

use report::Host;
use sys::memory;
use sys::net::ethtool::Ethtool;

use super::Item;

/// The items in the order of the list.
pub fn items(host: &Host, ethtool: &Ethtool, device: &str) -> Vec<Item> {
    let bus = ethtool.driver(device).map(|driver| driver.bus).unwrap_or_default();
    vec![
        node(memory::node_of_bus(&bus), &memory::nodes()),
        cores(sys::cpu::shares_cores()),
        retpolines(host),
        governor(host.governor.as_deref()),
    ]
}

fn node(of_card: Option<u32>, nodes: &[u32]) -> Item {
    let what = "memory node of the card";
    match (of_card, nodes) {
        (_, [only]) => Item::same(what, format!("{only}, the only one")),
        (Some(node), _) => {
            let change = format!("`numactl --cpunodebind={node} --membind={node} xway …`");
            Item::differs(what, format!("{node} of {}", nodes.len()), "one node", change)
        }
        (None, _) => Item::unknown(what, "not reported (a virtual card)"),
    }
}

fn cores(shared: Option<bool>) -> Item {
    let what = "hyper-threading";
    let change = "`echo off > /sys/devices/system/cpu/smt/control`";
    match shared {
        Some(false) => Item::same(what, "off"),
        Some(true) => Item::differs(what, "on", "it off", change),
        None => Item::unknown(what, "not reported"),
    }
}

/// The paper's kernel had these off, and no other mitigation costs BPF as much.
fn retpolines(host: &Host) -> Item {
    let what = "retpolines";
    let change = "boot with spectre_v2=off, on a machine that only measures";
    match host.mitigations.get("spectre_v2") {
        Some(state) if state.contains("etpoline") => Item::differs(what, state, "them off", change),
        Some(state) => Item::same(what, format!("none ({state})")),
        None => Item::same(what, "none"),
    }
}

fn governor(found: Option<&str>) -> Item {
    let what = "clock governor";
    match found {
        Some("performance") => Item::unknown(what, "performance"),
        Some(other) => Item::unknown(what, other).advise("`cpupower frequency-set -g performance`"),
        None => Item::unknown(what, "not reported (the hypervisor's, or fixed)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_line() {
        let with = |state: &str| Host {
            mitigations: [("spectre_v2".to_owned(), state.to_owned())].into(),
            ..Host::default()
        };
        for (item, line) in [
            (node(None, &[0]), "memory node of the card: 0, the only one; as the paper had it"),
            (
                node(Some(1), &[0, 1]),
                "memory node of the card: 1 of 2; differs, the paper had one node: \
                 `numactl --cpunodebind=1 --membind=1 xway …`",
            ),
            (node(None, &[0, 1]), "memory node of the card: not reported (a virtual card)"),
            (cores(Some(false)), "hyper-threading: off; as the paper had it"),
            (
                cores(Some(true)),
                "hyper-threading: on; differs, the paper had it off: \
                 `echo off > /sys/devices/system/cpu/smt/control`",
            ),
            (
                retpolines(&with("Mitigation: Retpolines; IBPB")),
                "retpolines: Mitigation: Retpolines; IBPB; differs, the paper had them off: boot \
                 with spectre_v2=off, on a machine that only measures",
            ),
            (retpolines(&with("Vulnerable")), "retpolines: none (Vulnerable); as the paper had it"),
            (
                governor(Some("powersave")),
                "clock governor: powersave; steadier: `cpupower frequency-set -g performance`",
            ),
            (governor(Some("performance")), "clock governor: performance"),
        ] {
            assert_eq!(item.to_string(), line);
        }
    }
}
