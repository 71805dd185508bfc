//! What only `/proc/self/fdinfo` reports of a BPF object: memory charged, frozen or not.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};

/// The attributes of one open object; unknown where the kernel does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DescriptorInfo {
    /// Memory that is charged for the object, in bytes.
    pub memlock_bytes: Option<u64>,
    /// User space may no longer write to the map.
    pub frozen: bool,
}

/// Reads the attributes of an open object.
pub fn descriptor(object: &impl AsFd) -> DescriptorInfo {
    let path = format!("/proc/self/fdinfo/{}", object.as_fd().as_raw_fd());
    parse(&fs::read_to_string(path).unwrap_or_default())
}

fn parse(text: &str) -> DescriptorInfo {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse::<u64>().ok())
    };
    DescriptorInfo {
        memlock_bytes: field("memlock"),
        frozen: field("frozen").is_some_and(|word| word != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "pos:\t0\nmap_type:\t2\nmemlock:\t4096\nmap_id:\t7\nfrozen:\t1\n";
        assert_eq!(parse(text), DescriptorInfo { memlock_bytes: Some(4096), frozen: true });
        assert_eq!(parse("memlocked:\t1\nfrozen:\t0\n"), DescriptorInfo::default());
    }
}
