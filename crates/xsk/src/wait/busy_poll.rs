//! Running the driver's receive code in the thread that waits.

use sys::net::xsk::XskSocket;

/// Options of a socket that is busy polled (`SO_BUSY_POLL` and its companions); nothing sets them
/// unless a program asks.
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
/// `prefer` helps only when the administrator also tells the interface to hold its interrupts back
/// while somebody polls, for example
///
/// ```text
/// echo 2     > /sys/class/net/eth0/napi_defer_hard_irqs
/// echo 20000 > /sys/class/net/eth0/gro_flush_timeout      # nanoseconds
/// ```
///
/// and it does harm when nobody polls then: packets wait for that timeout. The thread should run
/// on another processor than the interface's interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// How long one call of the kernel may poll.
    pub microseconds: u32,
    /// Packets that one poll handles at most: 8 to 64 are usual. Linux 5.11.
    pub budget: u32,
    /// Keeps the kernel from polling by itself while the program does (`SO_PREFER_BUSY_POLL`).
    /// Linux 5.11; needs `CAP_NET_ADMIN`.
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
