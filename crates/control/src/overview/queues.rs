//! Names of the counters that drivers have for each queue.

/// A counter of a queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueCounter<'a> {
    /// `rx` or `tx`.
    pub direction: &'static str,
    /// Number of the queue.
    pub queue: u32,
    /// What it counts, such as `xdp_packets`.
    pub what: &'a str,
}

/// Takes the name of a counter apart; `None` for one that is not of a queue. Drivers write
/// `rx_queue_0_packets` (veth, igb, ice), `rx0_packets` (mlx5, virtio_net), `rx-0.packets` (i40e),
/// `queue_0_rx_cnt` (ena) and `[0]: rx_ucast_packets` (bnxt). `rx_64_bytes` is a size of frames.
pub fn queue_counter(name: &str) -> Option<QueueCounter<'_>> {
    let name = name.trim();
    let number_first = name.strip_prefix("queue_").or_else(|| name.strip_prefix('['));
    let (direction, queue, what) = match number_first {
        Some(rest) => {
            let (queue, rest) = number(rest)?;
            let (direction, what) = direction(rest.trim_start_matches([']', ':', ' ', '_']))?;
            (direction, queue, what)
        }
        None => {
            let (direction, rest) = direction(name)?;
            let rest = rest.strip_prefix("_queue_").or(rest.strip_prefix('-')).unwrap_or(rest);
            let (queue, what) = number(rest)?;
            (direction, queue, what)
        }
    };
    let is_apart = what.starts_with(['_', '.', '-', ' ', ':']);
    let what = what.trim_start_matches(['_', '.', '-', ' ', ':']);
    (is_apart && !what.is_empty()).then_some(QueueCounter { direction, queue, what })
}

fn direction(text: &str) -> Option<(&'static str, &str)> {
    let of = |name: &'static str| Some((name, text.strip_prefix(name)?));
    of(RX).or_else(|| of(TX))
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

const RX: &str = "rx";
const TX: &str = "tx";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_name_queues_in_several_forms() {
        for (name, direction, queue, what) in [
            ("rx_queue_0_xdp_packets", "rx", 0, "xdp_packets"),
            ("tx_queue_12_xdp_xmit", "tx", 12, "xdp_xmit"),
            ("rx_queue_3_packets", "rx", 3, "packets"),
            ("rx7_xdp_drop", "rx", 7, "xdp_drop"),
            ("tx-1.bytes", "tx", 1, "bytes"),
            ("     tx0_packets", "tx", 0, "packets"),
            ("queue_5_rx_cnt", "rx", 5, "cnt"),
            ("[4]: tx_ucast_packets", "tx", 4, "ucast_packets"),
        ] {
            let expected = QueueCounter { direction, queue, what };
            assert_eq!(queue_counter(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn other_counters_are_not_of_a_queue() {
        for name in [
            "",
            "rx",
            "[",
            "rx_packets",
            "peer_ifindex",
            "rx_64_bytes",
            "rx_pp_alloc_fast",
            "queue_1",
            "queue_x_rx_cnt",
            "rx_queue_99999999999_packets",
            "rx_queue_0",
            "rx64byte",
        ] {
            assert_eq!(queue_counter(name), None, "{name}");
        }
    }
}
