//! `Group`: the rules of one owner in a program that several processes share.
//!
//! Rule: a group belongs to the process whose socket is in its claim slot; the kernel removes this
//! socket when it is closed, however the process ends. A claim is taken by one step, which fails if
//! another process has it, and the next owner overwrites the rules of a dead one. Until then these
//! rules are harmless: their slots are empty, so matching packets continue to the next group.

use kernel::Map;
use spec::{Expect, Map as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use sys::errno::EEXIST;
use sys::mmap::Mapping;
use sys::net::xsk::XskSocket;

use super::attachment::{Attachment, holders};
use super::redirect::abi::{self, State};
use super::redirect::{GROUPS, RULES};
use crate::error::{Error, InterfaceReason, Result};

/// A group of rules, released on drop.
#[derive(Debug)]
pub(super) struct Group {
    number: u32,
    /// The socket in the claim slot, as long as it is open.
    _claim: XskSocket,
}

impl Group {
    /// Claims a free group and empties it.
    pub fn claim(at: &Attachment) -> Result<Self> {
        let claim = XskSocket::open()?;
        for number in 0..GROUPS {
            let slot = GROUPS * at.queues + number;
            if !put(&at.xsks, slot, claim.as_fd())? {
                continue;
            }
            let group = Self { number, _claim: claim };
            group.write_count(&at.state, 0);
            for slot in group.first_slot(at)..group.first_slot(at) + at.queues {
                at.xsks.delete(&slot.to_ne_bytes())?;
            }
            return Ok(group);
        }
        let holders = holders(at.xsks.id()).to_string();
        let reason = InterfaceReason::GroupsTaken { count: GROUPS, holders };
        Err(Error::interface(&at.interface, reason))
    }

    pub fn first_slot(&self, at: &Attachment) -> u32 {
        self.number * at.queues
    }

    /// Writes the rules, which then apply to the sockets that are inserted afterwards.
    pub fn write(&self, state: &Mapping, rules: &[abi::Rule]) {
        assert!(rules.len() <= RULES, "the number of rules was checked");
        self.write_count(state, 0);
        for (number, rule) in rules.iter().enumerate() {
            let at = self.rules_at() + number * abi::Rule::SIZE;
            for (word, bytes) in rule.to_bytes().as_chunks::<8>().0.iter().enumerate() {
                state.store_u64(at + word * 8, u64::from_ne_bytes(*bytes));
            }
        }
        self.write_count(state, rules.len());
    }

    /// Removes the rules.
    pub fn clear(&self, state: &Mapping) {
        self.write_count(state, 0);
    }

    fn write_count(&self, state: &Mapping, rules: usize) {
        state.store_u64(COUNTS_AT + self.number as usize * 8, rules as u64);
    }

    fn rules_at(&self) -> usize {
        GROUPS_AT + self.number as usize * abi::Group::SIZE
    }
}

/// Inserts a socket into an empty slot, or its own; `false` if the slot has another socket.
pub(super) fn put(xsks: &Map, slot: u32, socket: BorrowedFd<'_>) -> kernel::Result<bool> {
    let value = socket.as_raw_fd().to_ne_bytes();
    match xsks.update(&slot.to_ne_bytes(), &value, Expect::Absent) {
        Err(error) if error.errno() == Some(EEXIST) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Offset of the numbers of rules, after version, work and queues.
const COUNTS_AT: usize = 24;
/// Offset of the groups.
const GROUPS_AT: usize = COUNTS_AT + GROUPS as usize * 8;
const _: () = assert!(GROUPS_AT + GROUPS as usize * abi::Group::SIZE == State::SIZE);
