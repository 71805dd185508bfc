//! Which processes hold the socket of a queue.
//!
//! The kernel lists its `AF_XDP` sockets where it was built with `CONFIG_XDP_SOCKETS_DIAG`. Where
//! not, each socket that a process holds is tried: the kernel answers one errno to a second socket
//! that wants to share its memory on the same queue, and another one on any other queue.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use serde::Serialize;
use sys::errno::EINVAL;
use sys::net::xsk::{BIND_SHARED, RingKind, XskBinding, XskSocket};
use sys::net::{Ifindex, NetdevFamily, XskListed, xsk_listed};
use sys::proc::{SocketHolder, socket_holders};
use sys::process::descriptor_of;

use super::facts::Kernel;

/// A process with a socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Name of the command, at most 15 characters.
    pub command: String,
}

/// Who holds a queue, as far as this process may look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueHolders {
    /// These do.
    Known(Vec<Holder>),
    /// One of these may: their sockets could not be looked at.
    Suspected(Vec<Holder>),
    /// A socket is bound, and no process is seen that has it: it is being closed, or its process
    /// is in another container.
    Unseen,
    /// No socket is bound any more.
    Nobody,
}

/// What trying a socket showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    /// It is bound to the queue.
    Holds,
    Elsewhere,
    /// It could not be tried.
    Unknown,
}

/// Who holds `queue` of `ifindex` in the calling thread's namespace.
pub fn holders(ifindex: Ifindex, queue: u32) -> QueueHolders {
    let is_taken = has_socket(ifindex, queue);
    if is_taken == Some(false) {
        return QueueHolders::Nobody;
    }
    let open = socket_holders("XDP");
    let found = match xsk_listed() {
        Ok(listed) => judge(&open, |holder| in_list(&listed, holder.inode, ifindex, queue)),
        Err(_) => judge(&open, |holder| try_socket(holder, ifindex, queue)),
    };
    match found {
        QueueHolders::Nobody if is_taken == Some(true) => QueueHolders::Unseen,
        found => found,
    }
}

/// Sorts processes by what is known of their sockets. A socket is tried once, however many
/// processes share it.
fn judge(open: &[SocketHolder], mut trial: impl FnMut(&SocketHolder) -> Trial) -> QueueHolders {
    let mut tried = BTreeMap::new();
    let (mut known, mut suspected) = (Vec::new(), Vec::new());
    for holder in open {
        let process = Holder { pid: holder.pid, command: holder.command.clone() };
        match *tried.entry(holder.inode).or_insert_with(|| trial(holder)) {
            Trial::Holds => known.push(process),
            Trial::Unknown => suspected.push(process),
            Trial::Elsewhere => {}
        }
    }
    for list in [&mut known, &mut suspected] {
        list.sort();
        list.dedup();
    }
    match (known.is_empty(), suspected.is_empty()) {
        (false, _) => QueueHolders::Known(known),
        (true, false) => QueueHolders::Suspected(suspected),
        (true, true) => QueueHolders::Nobody,
    }
}

fn in_list(listed: &[XskListed], inode: u32, ifindex: Ifindex, queue: u32) -> Trial {
    let socket = listed.iter().find(|socket| socket.inode == inode);
    let holds = socket.is_some_and(|socket| socket.bound == Some((ifindex, queue)));
    if holds { Trial::Holds } else { Trial::Elsewhere }
}

/// A socket that brings rings for the memory of its own may not share a queue with `holder`'s
/// socket (`EINVAL`), and may not have a queue that anybody else has (`EBUSY`); `xsk_bind` in
/// net/xdp/xsk.c has looked in this order since Linux 5.10. Nothing changes for the other. Only a
/// queue that nobody has any more is taken by this, until the trial is closed.
fn try_socket(holder: &SocketHolder, ifindex: Ifindex, queue: u32) -> Trial {
    let Ok(other) = descriptor_of(holder.pid, holder.descriptor) else { return Trial::Unknown };
    let other = XskSocket::from_descriptor(other);
    let Ok(probe) = XskSocket::open() else { return Trial::Unknown };
    let rings = [RingKind::Rx, RingKind::Fill, RingKind::Completion];
    if rings.iter().any(|ring| probe.create_ring(*ring, PROBE_ENTRIES).is_err()) {
        return Trial::Unknown;
    }
    let to = XskBinding { ifindex, queue, flags: BIND_SHARED };
    match probe.bind(to, Some(other.as_fd())) {
        Err(error) if error.is(EINVAL) => Trial::Holds,
        _ => Trial::Elsewhere,
    }
}

/// Whether a socket is bound to the queue; `None` where the kernel does not tell: before 6.15, and
/// while the interface is down.
fn has_socket(ifindex: Ifindex, queue: u32) -> Option<bool> {
    if Kernel::running() < QUEUES_TELL {
        return None;
    }
    let queues = NetdevFamily::open().and_then(|mut family| family.queues(ifindex)).ok()?;
    let mut same = queues.iter().filter(|one| one.id == queue).peekable();
    same.peek()?;
    Some(same.any(|one| one.has_socket))
}

const QUEUES_TELL: Kernel = Kernel(6, 15);
/// The smallest power of two.
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
    fn processes_are_sorted_by_what_their_sockets_show() {
        let sockets = [open(9, 1), open(2, 1), open(9, 2), open(4, 3)];
        let cases: [([Trial; 3], QueueHolders); 4] = [
            (
                [Trial::Holds, Trial::Holds, Trial::Unknown],
                QueueHolders::Known(vec![process(2), process(9)]),
            ),
            (
                [Trial::Elsewhere, Trial::Elsewhere, Trial::Unknown],
                QueueHolders::Suspected(vec![process(4)]),
            ),
            ([Trial::Elsewhere; 3], QueueHolders::Nobody),
            (
                [Trial::Elsewhere, Trial::Holds, Trial::Elsewhere],
                QueueHolders::Known(vec![process(9)]),
            ),
        ];
        for (trials, expected) in cases {
            let mut asked = Vec::new();
            let found = judge(&sockets, |holder| {
                asked.push(holder.inode);
                trials[holder.inode as usize - 1]
            });
            assert_eq!((found, asked), (expected, vec![1, 2, 3]), "{trials:?}");
        }
    }

    #[test]
    fn the_list_tells_queues_and_interfaces_apart() {
        let at = |inode, bound| XskListed { inode, bound, ..XskListed::default() };
        let listed = [at(1, Some((Ifindex(3), 0))), at(2, Some((Ifindex(4), 1))), at(5, None)];
        let cases = [
            (1, 3, 0, Trial::Holds),
            (1, 3, 1, Trial::Elsewhere),
            (1, 4, 0, Trial::Elsewhere),
            (2, 4, 1, Trial::Holds),
            (5, 0, 0, Trial::Elsewhere),
            (6, 3, 0, Trial::Elsewhere),
        ];
        for (inode, ifindex, queue, expected) in cases {
            assert_eq!(in_list(&listed, inode, Ifindex(ifindex), queue), expected, "{inode}");
        }
    }
}
