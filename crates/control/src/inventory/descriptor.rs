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
    /// `BPF_PROG_TYPE_*` of the programs in a program array, once it is determined.
    pub owner_type: Option<u32>,
    /// Whether these programs are compiled to machine code.
    pub owner_jited: Option<bool>,
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
        owner_type: field("owner_prog_type").and_then(|kind| u32::try_from(kind).ok()),
        owner_jited: field("owner_jited").map(|word| word != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "pos:\t0\nmap_type:\t2\nmemlock:\t4096\nmap_id:\t7\nfrozen:\t1\n";
        let expected = DescriptorInfo { memlock_bytes: Some(4096), frozen: true, ..parse("") };
        assert_eq!(parse(text), expected);
        let array = parse("owner_prog_type:\t6\nowner_jited:\t1\n");
        assert_eq!((array.owner_type, array.owner_jited), (Some(6), Some(true)));
        assert_eq!(parse("memlocked:\t1\nfrozen:\t0\n"), DescriptorInfo::default());
    }
}
