//! Keeps the kernel's entries of next hops fresh while packets are forwarded by XDP.
//!
//! The kernel learns that an entry is in use from packets that it sends itself. An entry that only
//! XDP uses becomes stale and remains so, and packets go to its address even after the host has
//! another one. So stale entries of next hops that received packets since the last time are used
//! once, as by a packet of the kernel: it then asks the neighbor, and confirms the entry or removes
//! its address, upon which packets go to the stack, which resolves it anew.
//!
//! Entries are not marked instead (`NTF_EXT_MANAGED`): the kernel would query marked ones forever,
//! also those of hosts that left and after the router has ended.

use std::collections::BTreeMap;

use sys::net::Netlink;

use super::hops::NextHop;
use crate::error::Result;

/// What next hops received until now.
#[derive(Debug, Default)]
pub(crate) struct NextHops {
    sent: BTreeMap<NextHop, u64>,
}

impl NextHops {
    /// Takes the packets that were sent to each next hop so far, and uses the stale entries of the
    /// next hops that received any since the last call.
    ///
    /// # Errors
    /// The neighbors cannot be read. That an entry vanishes meanwhile is not an error.
    pub fn refresh(&mut self, sent: BTreeMap<NextHop, u64>) -> Result<()> {
        let before = std::mem::replace(&mut self.sent, sent);
        let is_used = |hop: &NextHop| self.sent.get(hop) > before.get(hop);
        if !self.sent.keys().any(is_used) {
            return Ok(());
        }
        let mut netlink = Netlink::open()?;
        for one in netlink.neighbours()? {
            let hop = one.mac.map(|mac| (one.ifindex, mac));
            if one.is_stale() && hop.is_some_and(|hop| is_used(&hop)) {
                let _ = netlink.ask_neighbour(one.ifindex, one.ip);
            }
        }
        Ok(())
    }
}
