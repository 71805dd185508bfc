//! The `AF_XDP` sockets of a namespace, as `ss --xdp` lists them (sock_diag).
//!
//! The kernel needs `CONFIG_XDP_SOCKETS_DIAG` (Linux 5.1) and answers `ENOENT` without it. The
//! holders of a socket are not reported: its inode leads to the processes ([`proc`](crate::proc)).

use netlink_packet_core::{NLM_F_DUMP, NlasIterator};

use super::Ifindex;
use super::conversation::{Conversation, Request};
use super::sockets::SOCK_DIAG_BY_FAMILY;
use super::xsk::XskStatistics;
use crate::error::{Error, Result};

/// One socket of anybody in the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XskListed {
    /// Inode of the socket, which identifies it in `/proc/PID/fd`.
    pub inode: u32,
    /// Who opened it.
    pub uid: u32,
    /// Where it is bound; `None` for one that is not.
    pub bound: Option<(Ifindex, u32)>,
    /// Entries of its rings; 0 for one that it does not have.
    pub rx: u32,
    /// Descriptors of the transmit ring.
    pub tx: u32,
    /// The UMEM, if the socket has one.
    pub umem: Option<UmemListed>,
    /// Counters of the socket.
    pub statistics: XskStatistics,
}

/// The memory of a socket. Sockets with the same `id` share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UmemListed {
    /// Id of the UMEM; sockets that share it have the same.
    pub id: u32,
    /// Bytes.
    pub size: u64,
    /// Size of a chunk in bytes.
    pub chunk_size: u32,
    /// Bytes reserved before each frame.
    pub headroom: u32,
    /// The driver works on the memory itself.
    pub zero_copy: bool,
    /// Entries of the rings that belong to the memory.
    pub fill: u32,
    /// Descriptors of the completion ring.
    pub completion: u32,
}

/// Every `AF_XDP` socket of the calling thread's namespace.
///
/// # Errors
/// `ENOENT` where the kernel was built without `CONFIG_XDP_SOCKETS_DIAG`.
pub fn xsk_listed() -> Result<Vec<XskListed>> {
    let protocol = netlink_sys::protocols::NETLINK_SOCK_DIAG;
    let mut conversation = Conversation::open("socket(NETLINK_SOCK_DIAG)", protocol)?;
    let request = Request {
        call: CALL,
        object: "",
        kind: SOCK_DIAG_BY_FAMILY,
        flags: NLM_F_DUMP,
        payload: request(),
    };
    let replies = conversation.exchange(&request).map_err(|error| match error.errno {
        libc::ENOENT => error.with_detail("this kernel has no CONFIG_XDP_SOCKETS_DIAG"),
        _ => error,
    })?;
    let replies = replies.iter().filter(|reply| reply.kind == SOCK_DIAG_BY_FAMILY);
    replies
        .map(|reply| {
            let cut_off = || Error::new(CALL, "", libc::EPROTO);
            XskListed::from_message(&reply.payload).ok_or_else(cut_off)
        })
        .collect()
}

/// `struct xdp_diag_req`: all sockets, with all that there is to show.
fn request() -> Vec<u8> {
    let mut payload = vec![0; REQUEST];
    payload[0] = libc::AF_XDP as u8;
    payload[SHOW..SHOW + 4].copy_from_slice(&SHOW_ALL.to_ne_bytes());
    payload
}

impl XskListed {
    /// From `struct xdp_diag_msg` and its attributes.
    fn from_message(payload: &[u8]) -> Option<Self> {
        let mut socket = Self { inode: word(payload, INODE)?, ..Self::default() };
        for nla in NlasIterator::new(payload.get(MESSAGE..)?).flatten() {
            socket.take(nla.kind(), nla.value())?;
        }
        Some(socket)
    }

    /// `None` for a known attribute that is too short.
    fn take(&mut self, kind: u16, value: &[u8]) -> Option<()> {
        match kind {
            DIAG_INFO => {
                let ifindex = Ifindex(word(value, 0)?);
                self.bound = (ifindex.0 != 0).then_some((ifindex, word(value, 4)?));
            }
            DIAG_UID => self.uid = word(value, 0)?,
            DIAG_RX_RING => self.rx = word(value, 0)?,
            DIAG_TX_RING => self.tx = word(value, 0)?,
            DIAG_UMEM => {
                let umem = self.umem.get_or_insert_default();
                umem.size = long(value, 0)?;
                umem.id = word(value, 8)?;
                umem.chunk_size = word(value, 16)?;
                umem.headroom = word(value, 20)?;
                umem.zero_copy = word(value, 32)? & UMEM_ZERO_COPY != 0;
            }
            DIAG_FILL_RING => self.umem.get_or_insert_default().fill = word(value, 0)?,
            DIAG_COMPLETION_RING => {
                self.umem.get_or_insert_default().completion = word(value, 0)?;
            }
            DIAG_STATISTICS => self.statistics = statistics(value)?,
            _ => {}
        }
        Some(())
    }
}

/// `struct xdp_diag_stats`, in its own order.
fn statistics(value: &[u8]) -> Option<XskStatistics> {
    Some(XskStatistics {
        rx_dropped: long(value, 0)?,
        fill_invalid: long(value, 8)?,
        rx_ring_full: long(value, 16)?,
        fill_ring_empty: long(value, 24)?,
        tx_invalid: long(value, 32)?,
        tx_ring_empty: long(value, 40)?,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

const CALL: &str = "sock_diag(AF_XDP)";
// include/uapi/linux/xdp_diag.h at v6.18.
/// `struct xdp_diag_req` and the offset of its selection of attributes.
const REQUEST: usize = 20;
const SHOW: usize = 8;
/// Information, rings, memory and statistics; not how much memory the socket itself takes.
const SHOW_ALL: u32 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4;
/// `struct xdp_diag_msg` and where its inode is.
const MESSAGE: usize = 16;
const INODE: usize = 4;
const DIAG_INFO: u16 = 1;
const DIAG_UID: u16 = 2;
const DIAG_RX_RING: u16 = 3;
const DIAG_TX_RING: u16 = 4;
const DIAG_UMEM: u16 = 5;
const DIAG_FILL_RING: u16 = 6;
const DIAG_COMPLETION_RING: u16 = 7;
const DIAG_STATISTICS: u16 = 9;
const UMEM_ZERO_COPY: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn nla(kind: u16, words: &[u32]) -> Vec<u8> {
        let mut bytes = (4 + 4 * words.len() as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn message(attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE];
        bytes[INODE..INODE + 4].copy_from_slice(&77u32.to_ne_bytes());
        bytes.extend(attributes.concat());
        bytes
    }

    #[test]
    fn a_bound_socket_is_read_whole() {
        let payload = message(&[
            nla(DIAG_INFO, &[3, 5]),
            nla(DIAG_UID, &[1000]),
            nla(DIAG_RX_RING, &[2048]),
            nla(DIAG_TX_RING, &[512]),
            nla(DIAG_UMEM, &[1 << 20, 0, 9, 256, 4096, 64, 3, 5, UMEM_ZERO_COPY, 2]),
            nla(DIAG_FILL_RING, &[4096]),
            nla(DIAG_COMPLETION_RING, &[1024]),
            nla(8, &[0; 9]),
            nla(DIAG_STATISTICS, &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]),
        ]);
        let umem = UmemListed {
            id: 9,
            size: 1 << 20,
            chunk_size: 4096,
            headroom: 64,
            zero_copy: true,
            fill: 4096,
            completion: 1024,
        };
        let statistics = XskStatistics {
            rx_dropped: 1,
            fill_invalid: 2,
            rx_ring_full: 3,
            fill_ring_empty: 4,
            tx_invalid: 5,
            tx_ring_empty: 6,
        };
        let expected = XskListed {
            inode: 77,
            uid: 1000,
            bound: Some((Ifindex(3), 5)),
            rx: 2048,
            tx: 512,
            umem: Some(umem),
            statistics,
        };
        assert_eq!(XskListed::from_message(&payload), Some(expected));
    }

    #[test]
    fn a_socket_that_is_not_bound_has_little() {
        let listed = XskListed::from_message(&message(&[nla(DIAG_INFO, &[0, 0])])).unwrap();
        assert_eq!(listed, XskListed { inode: 77, ..XskListed::default() });
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        for length in 0..MESSAGE {
            assert_eq!(XskListed::from_message(&vec![0; length]), None, "{length} bytes");
        }
        for kind in [DIAG_INFO, DIAG_UID, DIAG_UMEM, DIAG_FILL_RING, DIAG_STATISTICS] {
            assert_eq!(XskListed::from_message(&message(&[nla(kind, &[])])), None, "{kind}");
        }
    }

    #[test]
    fn a_kernel_without_the_list_says_so() {
        match xsk_listed() {
            Ok(_) => {}
            Err(error) => {
                assert!(error.is(libc::ENOENT), "{error}");
                assert!(error.to_string().contains("CONFIG_XDP_SOCKETS_DIAG"), "{error}");
            }
        }
    }
}
