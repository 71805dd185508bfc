//! Which processes hold the socket of a queue.
//!
//! The kernel lists `AF_XDP` sockets if it was built with `CONFIG_XDP_SOCKETS_DIAG`. Otherwise each
//! socket of a process is probed: a second socket that would share its memory gets one errno on the
//! same queue, and another one on other queues.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use serde::Serialize;
use sys::errno::EINVAL;
use sys::net::xsk::{BIND_SHARED, RingKind, XskBinding, XskSocket};
use sys::net::{Ifindex, NetdevFamily, XskListed, xsk_listed};
use sys::proc::{SocketHolder, socket_holders};
use sys::process::descriptor_of;

use super::environment::Kernel;

/// A process with a socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Name of the command, at most 15 characters.
    pub command: String,
}

/// The holders of a queue, as far as this process can see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueHolders {
    /// These processes hold it.
    Known(Vec<Holder>),
    /// One of these processes may hold it: their sockets could not be probed.
    Suspected(Vec<Holder>),
    /// A socket is bound, but its process is not visible: it is being closed, or its process is in
    /// another container.
    Invisible,
    /// No socket is bound.
    None,
}

/// The result of probing a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// It is bound to the queue.
    Holds,
    /// It is bound elsewhere, or not at all.
    Elsewhere,
    /// It could not be probed.
    Unknown,
}

/// Finds the holders of a queue in the network namespace of the calling thread.
pub fn holders(ifindex: Ifindex, queue: u32) -> QueueHolders {
    let is_taken = has_socket(ifindex, queue);
    if is_taken == Some(false) {
        return QueueHolders::None;
    }
    let open = socket_holders("XDP");
    let found = match xsk_listed() {
        Ok(listed) => sort(&open, |holder| in_list(&listed, holder.inode, ifindex, queue)),
        Err(_) => sort(&open, |holder| try_socket(holder, ifindex, queue)),
    };
    match found {
        QueueHolders::None if is_taken == Some(true) => QueueHolders::Invisible,
        found => found,
    }
}

/// Sorts processes by the results for their sockets. A socket is probed once, also if several
/// processes share it.
fn sort(open: &[SocketHolder], mut probe: impl FnMut(&SocketHolder) -> Probe) -> QueueHolders {
    let mut tried = BTreeMap::new();
    let (mut known, mut suspected) = (Vec::new(), Vec::new());
    for holder in open {
        let process = Holder { pid: holder.pid, command: holder.command.clone() };
        match *tried.entry(holder.inode).or_insert_with(|| probe(holder)) {
            Probe::Holds => known.push(process),
            Probe::Unknown => suspected.push(process),
            Probe::Elsewhere => {}
        }
    }
    for list in [&mut known, &mut suspected] {
        list.sort();
        list.dedup();
    }
    match (known.is_empty(), suspected.is_empty()) {
        (false, _) => QueueHolders::Known(known),
        (true, false) => QueueHolders::Suspected(suspected),
        (true, true) => QueueHolders::None,
    }
}

fn in_list(listed: &[XskListed], inode: u32, ifindex: Ifindex, queue: u32) -> Probe {
    let socket = listed.iter().find(|socket| socket.inode == inode);
    let holds = socket.is_some_and(|socket| socket.bound == Some((ifindex, queue)));
    if holds { Probe::Holds } else { Probe::Elsewhere }
}

/// Probes a socket. A socket with fill and completion rings of its own cannot share a queue with
/// the socket of `holder` (`EINVAL`), and cannot use a queue of another socket (`EBUSY`);
/// `xsk_bind` in net/xdp/xsk.c has checked in this order since Linux 5.10. The other socket is not
/// affected. A queue that is free by now is occupied until the probe is closed.
fn try_socket(holder: &SocketHolder, ifindex: Ifindex, queue: u32) -> Probe {
    let Ok(other) = descriptor_of(holder.pid, holder.descriptor) else { return Probe::Unknown };
    let other = XskSocket::from_descriptor(other);
    let Ok(probe) = XskSocket::open() else { return Probe::Unknown };
    let rings = [RingKind::Rx, RingKind::Fill, RingKind::Completion];
    if rings.iter().any(|ring| probe.create_ring(*ring, PROBE_ENTRIES).is_err()) {
        return Probe::Unknown;
    }
    let to = XskBinding { ifindex, queue, flags: BIND_SHARED };
    match probe.bind(to, Some(other.as_fd())) {
        Err(error) if error.is(EINVAL) => Probe::Holds,
        _ => Probe::Elsewhere,
    }
}

/// Whether a socket is bound to the queue; `None` if the kernel does not report it: before 6.15,
/// and while the interface is down.
fn has_socket(ifindex: Ifindex, queue: u32) -> Option<bool> {
    if Kernel::running() < SOCKETS_REPORTED {
        return None;
    }
    let queues = NetdevFamily::open().and_then(|mut family| family.queues(ifindex)).ok()?;
    let mut same = queues.iter().filter(|one| one.id == queue).peekable();
    same.peek()?;
    Some(same.any(|one| one.has_socket))
}

const SOCKETS_REPORTED: Kernel = Kernel(6, 15);
/// Entries of a ring of the probe: the smallest power of two.
const PROBE_ENTRIES: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn open(pid: u32, inode: u32) -> SocketHolder {
        SocketHolder { pid, command: format!("p{pid}"), descriptor: 3, inode }
    }

    fn process(pid: u32) -> Holder {
        Holder { pid, command: format!("p{pid}") }
    }

    #[test]
    fn processes_are_sorted_by_the_result_for_their_sockets() {
        let sockets = [open(9, 1), open(2, 1), open(9, 2), open(4, 3)];
        let cases: [([Probe; 3], QueueHolders); 4] = [
            (
                [Probe::Holds, Probe::Holds, Probe::Unknown],
                QueueHolders::Known(vec![process(2), process(9)]),
            ),
            (
                [Probe::Elsewhere, Probe::Elsewhere, Probe::Unknown],
                QueueHolders::Suspected(vec![process(4)]),
            ),
            ([Probe::Elsewhere; 3], QueueHolders::None),
            (
                [Probe::Elsewhere, Probe::Holds, Probe::Elsewhere],
                QueueHolders::Known(vec![process(9)]),
            ),
        ];
        for (trials, expected) in cases {
            let mut probed = Vec::new();
            let found = sort(&sockets, |holder| {
                probed.push(holder.inode);
                trials[holder.inode as usize - 1]
            });
            assert_eq!((found, probed), (expected, vec![1, 2, 3]), "{trials:?}");
        }
    }

    #[test]
    fn queues_and_interfaces_are_distinguished() {
        let at = |inode, bound| XskListed { inode, bound, ..XskListed::default() };
        let listed = [at(1, Some((Ifindex(3), 0))), at(2, Some((Ifindex(4), 1))), at(5, None)];
        let cases = [
            (1, 3, 0, Probe::Holds),
            (1, 3, 1, Probe::Elsewhere),
            (1, 4, 0, Probe::Elsewhere),
            (2, 4, 1, Probe::Holds),
            (5, 0, 0, Probe::Elsewhere),
            (6, 3, 0, Probe::Elsewhere),
        ];
        for (inode, ifindex, queue, expected) in cases {
            assert_eq!(in_list(&listed, inode, Ifindex(ifindex), queue), expected, "{inode}");
        }
    }
}
