//! Polling an interface in kernel threads, and where they run.
//!
//! On veth the receiver's work is done on the sender's CPU. With threaded polling it is done by a
//! kernel thread for each queue, which can be kept on a processor of its own.

use std::sync::PoisonError;

use sys::netns;
use sys::priority::Priority;

use crate::error::Result;
use crate::expect::until;
use crate::host::Host;
use crate::limits::{POLLER_PRIORITY, POLLERS};
use crate::record;

impl Host {
    /// Makes the interface poll in kernel threads of its own, and waits until they exist.
    /// Returns their process ids, one for each queue. Linux 5.12.
    pub fn threaded_napi(&self, interface: &str) -> Result<Vec<u32>> {
        self.check_ours(interface)?;
        if netns::poller_pids(self.netns(), interface)?.is_none() {
            return self.threaded_by_name(interface);
        }
        self.netns().set_attribute(interface, "threaded", "1")?;
        until(&coming(interface), POLLERS, || {
            let pids = netns::poller_pids(self.netns(), interface)?.unwrap_or_default();
            Ok((!pids.is_empty()).then_some(pids))
        })
    }

    /// Keeps the interface's polling threads on one processor; makes them first if need be.
    pub fn pin_napi(&self, interface: &str, cpu: usize) -> Result<()> {
        for pid in self.threaded_napi(interface)? {
            sys::cpu::set_affinity_of(pid, &[cpu])?;
        }
        Ok(())
    }

    /// Lets the interface's polling threads go before every ordinary process, as soft interrupts
    /// do; makes them first if need be.
    pub fn raise_napi(&self, interface: &str) -> Result<()> {
        for pid in self.threaded_napi(interface)? {
            Priority::RealTime(POLLER_PRIORITY).give(pid)?;
        }
        Ok(())
    }

    /// For kernels that do not report the owner of a thread: new threads count as this host's.
    fn threaded_by_name(&self, interface: &str) -> Result<Vec<u32>> {
        // No other lab may make some of the same name at this moment.
        let _all = record::lock_all()?;
        let mut known = self.pollers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pids) = known.get(interface) {
            return Ok(pids.clone());
        }
        let queues = self.netlink()?.link(interface)?.rx_queues as usize;
        let before = netns::pollers_named(interface)?;
        self.netns().set_attribute(interface, "threaded", "1")?;
        let pids = until(&coming(interface), POLLERS, || {
            let mut pids = netns::pollers_named(interface)?;
            pids.retain(|pid| !before.contains(pid));
            Ok((pids.len() >= queues).then_some(pids))
        })?;
        known.insert(interface.to_owned(), pids.clone());
        Ok(pids)
    }
}

fn coming(interface: &str) -> String {
    format!("threaded polling of {interface}")
}
