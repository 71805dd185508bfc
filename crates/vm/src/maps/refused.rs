//! Map types that are not supported, and why.

use spec::MapKind;

/// Why a map of that type cannot be created; `None` for supported types.
pub(crate) fn refusal(kind: MapKind) -> Option<&'static str> {
    Some(match kind.0 {
        1..=6 | 9..=14 | 16 | 17 | 22 | 23 | 25 | 27 | 30 | 31 => return None,
        7 => "a stack trace map holds stacks of the kernel, and there is no kernel",
        8 | 19 | 21 | 32 => {
            "cgroup arrays and storage belong to control groups; a packet at the driver has none"
        }
        15 | 18 => "sockmaps and sockhashes steer bytes between sockets; XDP sends to an xskmap",
        20 => "a reuseport socket array serves programs of sockets, not of packets",
        24 => "socket storage belongs to sockets, and XDP programs may not use it",
        26 => "a struct_ops map holds operations of the kernel, and there is no kernel",
        28 => "inode storage belongs to files, and XDP programs may not use it",
        29 => "task storage belongs to processes, and XDP programs may not use it",
        33 => {
            "an arena is memory shared with a process by address, and these addresses are virtual"
        }
        _ => "unknown map type",
    })
}
