//! Busy polling: running the driver's receive code in the waiting thread.

use sys::net::xsk::XskSocket;

/// Options of busy polling (`SO_BUSY_POLL` and related options), which is off unless they are set.
///
/// ```
/// # fn f(interface: &xsk::Interface) -> xsk::Result<()> {
/// use xsk::wait::BusyPoll;
///
/// let socket = interface.socket(0).busy_poll(BusyPoll::default()).open()?;
/// # Ok(())
/// # }
/// ```
///
/// `prefer` is effective only if the interface also defers its interrupts while it is polled, for
/// example
///
/// ```text
/// echo 2     > /sys/class/net/eth0/napi_defer_hard_irqs
/// echo 20000 > /sys/class/net/eth0/gro_flush_timeout      # nanoseconds
/// ```
///
/// With these settings packets are delayed until the timeout when no thread polls. The thread
/// should run on another processor than the interface's interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// How long one system call may poll, in microseconds.
    pub microseconds: u32,
    /// Most packets of one poll, typically 8 to 64 (Linux 5.11).
    pub budget: u32,
    /// Prevents the kernel from polling on its own while the program polls (`SO_PREFER_BUSY_POLL`,
    /// Linux 5.11). Requires `CAP_NET_ADMIN`.
    pub prefer: bool,
}

impl Default for BusyPoll {
    fn default() -> Self {
        Self { microseconds: 20, budget: 64, prefer: false }
    }
}

impl BusyPoll {
    pub(crate) fn apply(self, socket: &XskSocket) -> sys::Result<()> {
        socket.set_busy_poll(self.microseconds)?;
        socket.set_busy_poll_budget(self.budget)?;
        if self.prefer {
            socket.set_prefer_busy_poll(true)?;
        }
        Ok(())
    }
}
