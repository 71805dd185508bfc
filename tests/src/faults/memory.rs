//! The memory of a stopped thread: paths and messages that it passes to the kernel.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// A text closed by a zero.
pub fn text(thread: i32, address: u64) -> Option<String> {
    let mut bytes = [0; PATH_LIMIT];
    // Read in two parts, because the page after a short text may not be there.
    let to_page = (PAGE - address % PAGE).min(PATH_LIMIT as u64) as usize;
    let memory = open(thread)?;
    memory.read_exact_at(&mut bytes[..to_page], address).ok()?;
    if !bytes[..to_page].contains(&0) {
        memory.read_exact_at(&mut bytes[to_page..], address + to_page as u64).ok()?;
    }
    let end = bytes.iter().position(|byte| *byte == 0)?;
    String::from_utf8(bytes[..end].to_vec()).ok()
}

/// Whether the message is a netlink request that only reads: a dump, or `RTM_GETLINK`.
pub fn is_query(thread: i32, address: u64) -> bool {
    let mut header = [0; 8];
    let read = open(thread).map(|memory| memory.read_exact_at(&mut header, address));
    let [_, _, _, _, kind, kind_high, flags, flags_high] = header;
    let flags = u16::from_le_bytes([flags, flags_high]);
    let kind = u16::from_le_bytes([kind, kind_high]);
    matches!(read, Some(Ok(()))) && (flags & NLM_F_DUMP == NLM_F_DUMP || kind == RTM_GETLINK)
}

fn open(thread: i32) -> Option<File> {
    File::open(format!("/proc/{thread}/mem")).ok()
}

const PATH_LIMIT: usize = 512;
const PAGE: u64 = 4096;
const NLM_F_DUMP: u16 = 0x300;
const RTM_GETLINK: u16 = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        let path = c"/run/xway/lab/k1";
        let own = std::process::id() as i32;
        assert_eq!(text(own, path.as_ptr() as u64).as_deref(), Some("/run/xway/lab/k1"));
        assert_eq!(text(own, 8), None);
    }

    #[test]
    fn requests_that_only_read_are_known() {
        let own = std::process::id() as i32;
        for (kind, flags, query) in [(18, 5, true), (26, 0x301, true), (16, 0x605, false)] {
            let header: [u8; 8] = [32, 0, 0, 0, kind, 0, flags as u8, (flags >> 8) as u8];
            assert_eq!(is_query(own, header.as_ptr() as u64), query, "{kind} {flags:#x}");
        }
    }
}
