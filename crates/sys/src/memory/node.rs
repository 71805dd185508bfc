//! NUMA nodes: which there are, and which one a device hangs on.

use std::fs;

use crate::{Error, Result};

/// Nodes that have memory, at least node 0.
pub fn nodes() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
    let nodes = list(text.trim());
    if nodes.is_empty() { vec![0] } else { nodes }
}

/// The node of a device by its bus address, as the driver reports it
/// ([`Driver::bus`](crate::net::ethtool::Driver)). `None` for virtual devices and machines that do
/// not report it. Unlike `/sys/class/net` this is the same in every network namespace.
pub fn node_of_bus(bus: &str) -> Option<u32> {
    if bus.is_empty() || bus.contains('/') {
        return None;
    }
    let text = fs::read_to_string(format!("/sys/bus/pci/devices/{bus}/numa_node")).ok()?;
    // -1: the firmware does not report it.
    text.trim().parse().ok()
}

/// The node of the processor that the calling thread runs on at this moment.
pub fn current_node() -> Result<u32> {
    let (mut cpu, mut node) = (0u32, 0u32);
    let (at_cpu, at_node) = (&raw mut cpu, &raw mut node);
    let unused = std::ptr::null_mut::<u8>();
    // SAFETY: both places are exclusive words; the third argument has no use since Linux 2.6.24.
    let status = unsafe { libc::syscall(libc::SYS_getcpu, at_cpu, at_node, unused) };
    if status == 0 { Ok(node) } else { Err(Error::last("getcpu", "")) }
}

/// A list as the kernel writes it: `0-1,4`.
fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (last < MOST_NODES).then_some(first..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// `1 << NODES_SHIFT` at its largest.
const MOST_NODES: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let cases: [(&str, &[u32]); 5] =
            [("0", &[0]), ("0-1,4", &[0, 1, 4]), ("", &[]), ("x", &[]), ("0-9999999", &[])];
        for (text, expected) in cases {
            assert_eq!(list(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nodes_are_known_and_buses_may_not_be() {
        assert!(nodes().contains(&current_node().unwrap()));
        for bus in ["", "../..", "0000:ff:ff.9"] {
            assert_eq!(node_of_bus(bus), None, "{bus:?}");
        }
    }
}
