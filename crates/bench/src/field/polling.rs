//! How an interface's packets are received: by which thread, and how long that may be deferred.
//!
//! Rule: only interfaces of a lab are changed; an [`Attribute`] is restored when dropped. Kernel
//! threads remain until another poller takes the interface, so request them each time.

use anyhow::Result;
use lab::Host;
use sys::priority::Priority;

use super::Place;

impl Place {
    /// From now on its packets are received by kernel threads on `cpu`, ahead of ordinary ones
    /// there, instead of on the sender's processor. Their process ids.
    pub fn poll_in_threads(&self, cpu: usize) -> Result<Vec<u32>> {
        let pollers = self.host()?.threaded_napi(self.device())?;
        for pid in &pollers {
            sys::cpu::set_affinity_of(*pid, &[cpu])?;
            Priority::Nice(FAVOURED).give(*pid)?;
        }
        Ok(pollers)
    }

    /// Leaves its packets to a busy-polling process: to no kernel thread, and to soft interrupts
    /// only after `timeout_ns` without a poll.
    pub fn leave_to_poller(&self, timeout_ns: u32) -> Result<[Attribute; 3]> {
        let threaded = Attribute::set(self, "threaded", "0")?;
        let timeout = Attribute::set(self, "gro_flush_timeout", &timeout_ns.to_string())?;
        let defer = Attribute::set(self, "napi_defer_hard_irqs", ROUNDS)?;
        Ok([threaded, timeout, defer])
    }
}

/// A file in the interface's folder under `/sys`.
#[derive(Debug)]
pub struct Attribute {
    host: Host,
    device: String,
    name: &'static str,
    before: String,
}

impl Attribute {
    fn set(place: &Place, name: &'static str, value: &str) -> Result<Self> {
        let (host, device) = (place.host()?.clone(), place.device().to_owned());
        let before = host.netns().attribute(&device, name)?;
        host.netns().set_attribute(&device, name, value)?;
        Ok(Self { host, device, name, before })
    }
}

impl Drop for Attribute {
    fn drop(&mut self) {
        // The namespace ends with the run, whatever is set there.
        let _ = self.host.netns().set_attribute(&self.device, self.name, self.before.trim());
    }
}

/// Real-time priority would leave a twentieth of the processor to others, however much there is
/// to do.
const FAVOURED: i32 = -20;
/// Empty polls before interrupts are enabled again.
const ROUNDS: &str = "2";
