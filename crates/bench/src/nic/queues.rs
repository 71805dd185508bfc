//! Receive queues: how many, how long, and which processors they keep busy.

use sys::net::NetdevFamily;
use sys::net::ethtool::{Channels, Ethtool};

use super::Item;
use crate::field::Place;

/// The number of queues that receive packets.
pub fn used(ethtool: &Ethtool, device: &str) -> Item {
    match ethtool.channels(device) {
        Ok(channels) => used_of(device, channels),
        Err(_) => Item::unknown("receive queues", "the driver does not report them"),
    }
}

/// Which processors their interrupts come to.
pub fn interrupts(place: &Place) -> Item {
    let napis = || -> anyhow::Result<_> {
        let ifindex = place.ifindex()?;
        Ok(place.run(|| NetdevFamily::open()?.napis(ifindex))??)
    };
    let irqs = napis().unwrap_or_default().into_iter().filter_map(|napi| napi.irq);
    interrupts_of(&irqs.map(|irq| (irq, sys::cpu::of_interrupt(irq))).collect::<Vec<_>>())
}

/// Whether a daemon moves interrupts meanwhile.
pub fn balanced() -> Item {
    if sys::proc::is_running("irqbalance") {
        Item::differs("irqbalance", "running", "it stopped", "`systemctl stop irqbalance`")
    } else {
        Item::same("irqbalance", "not running")
    }
}

/// The length of their rings.
pub fn rings(ethtool: &Ethtool, device: &str) -> Item {
    match ethtool.rings(device) {
        Ok(rings) if rings.rx == PAPER_RING => Item::same(RING, rings.rx.to_string()),
        Ok(rings) => {
            let found = format!("{} (at most {})", rings.rx, rings.most_rx);
            Item::differs(RING, found, "512", format!("`ethtool -G {device} rx 512`"))
        }
        Err(_) => Item::unknown(RING, "the driver reports none"),
    }
}

fn used_of(device: &str, channels: Channels) -> Item {
    let Channels { rx, combined, most_rx, most_combined, .. } = channels;
    let found = format!("{} of {} in use", rx + combined, most_rx.max(most_combined));
    if rx + combined == 1 {
        return Item::same("receive queues", found);
    }
    let kind = if combined > 0 { "combined" } else { "rx" };
    let change = format!("`ethtool -L {device} {kind} 1`");
    Item::differs("receive queues", found, "one for each processor that it measured", change)
}

/// Interrupts by number, with their processors.
fn interrupts_of(irqs: &[(u32, Option<usize>)]) -> Item {
    let what = "interrupts of the queues";
    let mut cpus: Vec<usize> = irqs.iter().filter_map(|(_, cpu)| *cpu).collect();
    let Some((first, _)) = irqs.first().filter(|_| cpus.len() == irqs.len()) else {
        return Item::unknown(what, "not reported (a virtual card, or a kernel before Linux 6.8)");
    };
    let told: Vec<String> = irqs
        .iter()
        .zip(&cpus)
        .take(MOST_TOLD)
        .map(|((irq, _), cpu)| format!("{irq} on processor {cpu}"))
        .collect();
    let more = if irqs.len() > MOST_TOLD { ", …" } else { "" };
    let found = format!("{}{more}", told.join(", "));
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() == irqs.len() {
        return Item::same(what, found);
    }
    let change = format!("`echo CPU > /proc/irq/{first}/smp_affinity_list`, and so on");
    Item::differs(what, found, "each on a processor of its own", change)
}

const RING: &str = "receive ring";
const PAPER_RING: u32 = 512;
/// Maximum number of interrupts in a line.
const MOST_TOLD: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_queue_is_the_papers_and_the_kind_is_what_the_driver_has() {
        let one = Channels { combined: 1, most_combined: 8, ..Channels::default() };
        assert_eq!(
            used_of("eth1", one).to_string(),
            "receive queues: 1 of 8 in use; as the paper had it"
        );
        let many = Channels { combined: 4, most_combined: 8, ..Channels::default() };
        let said = used_of("eth1", many).to_string();
        assert!(said.ends_with("`ethtool -L eth1 combined 1`"), "{said}");
        let apart = Channels { rx: 4, tx: 4, most_rx: 4, ..Channels::default() };
        let said = used_of("eth1", apart).to_string();
        assert!(said.contains("4 of 4") && said.ends_with("`ethtool -L eth1 rx 1`"), "{said}");
    }

    #[test]
    fn interrupts_share_no_processor() {
        let own = interrupts_of(&[(30, Some(0)), (31, Some(1))]).to_string();
        assert_eq!(
            own,
            "interrupts of the queues: 30 on processor 0, 31 on processor 1; as the paper had it"
        );
        let shared = interrupts_of(&[(30, Some(0)), (31, Some(0))]).to_string();
        assert!(shared.contains("differs") && shared.contains("/proc/irq/30/"), "{shared}");
        for irqs in [&[][..], &[(30, None)], &[(30, Some(0)), (31, None)]] {
            assert!(interrupts_of(irqs).to_string().contains("not reported"), "{irqs:?}");
        }
        let many: Vec<_> = (0..20).map(|irq| (irq, Some(irq as usize))).collect();
        assert!(interrupts_of(&many).to_string().contains("7 on processor 7, …; as"));
    }
}
