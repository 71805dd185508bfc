//! Places of the receive path where packets can end: each file is one, with how packets are ended
//! there and where they are counted.
//!
//! Rule: a hook that is set up is a guard; dropped, the receiver is as it was. A hook that cannot
//! be set up has the reason, in the kernel's words if there are any. The hook counts the packets
//! that ended there, never those that were sent.

pub mod af_xdp;
pub mod answers;
pub mod counter;
pub mod filter;
mod iptables;
pub mod limit;
pub mod nft;
pub(crate) mod reader;
mod socket;
mod tc;
pub(crate) mod tool;
pub mod xdp;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::field::{Field, Flood};
use crate::transient::Transient;

/// A place of the receive path where packets can end.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// Name of its rows.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// Sets it up on the receiver: packets of [`PORT`](crate::field::PORT) end there.
    pub set: fn(&Field) -> Result<Box<dyn ActiveHook>>,
    /// It leaves state that affects other hooks (empty tables): in a lab it has its own hosts.
    pub is_apart: bool,
    /// Packets are read by a thread on another processor, so a packet's time is that of the slower
    /// of the two.
    pub is_read: bool,
}

impl Hook {
    /// A hook with the name of its rows, its description, and the function that sets it up.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        set: fn(&Field) -> Result<Box<dyn ActiveHook>>,
    ) -> Self {
        Self { name, about, set, is_apart: false, is_read: false }
    }

    const fn apart(self) -> Self {
        Self { is_apart: true, ..self }
    }

    const fn read(self) -> Self {
        Self { is_read: true, ..self }
    }
}

/// A hook that is set up until this is dropped.
pub trait ActiveHook {
    /// Packets that ended there since it was set up.
    fn ended(&self) -> Result<u64>;
}

/// From the socket down to the driver.
pub const ALL: &[Hook] = &[
    socket::SOCKET,
    nft::CONNTRACK,
    iptables::INPUT,
    nft::INPUT,
    iptables::RAW,
    nft::RAW,
    nft::NETDEV,
    tc::BPF,
    xdp::GENERIC,
    af_xdp::AF_XDP,
    xdp::NATIVE,
    limit::LIMIT,
];

/// Returns when packets end there.
pub fn warm_up(hook: &dyn ActiveHook) -> Result<()> {
    let start = hook.ended()?;
    let waited = lab::until("packets at the hook", PATIENCE, || match hook.ended() {
        Ok(ended) => Ok((ended > start + WARM_UP).then_some(Ok(()))),
        Err(fault) => Ok(Some(Err(fault))),
    });
    match waited {
        // Some arrived: the process that ends them got little processor time.
        Err(fault) if hook.ended()? > start => Err(Transient::from(fault).into()),
        waited => waited?,
    }
}

/// Packets and time between two readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Length of the span.
    pub seconds: f64,
    /// Packets that the sender's driver accepted.
    pub offered: u64,
    /// Packets that ended at the hook.
    pub ended: u64,
}

impl Span {
    /// Measures while `wait` lasts.
    pub fn of(flood: &Flood, hook: &dyn ActiveHook, wait: impl FnOnce()) -> Result<Self> {
        let start = Reading::at(flood, hook)?;
        wait();
        let end = Reading::at(flood, hook)?;
        let span = Self {
            seconds: (end.time - start.time).as_secs_f64(),
            offered: end.given - start.given,
            ended: end.ended - start.ended,
        };
        // Some did before the clock started, so the process that ends them got no processor time.
        ensure!(span.ended > 0, Transient::NoneEnded);
        Ok(span)
    }

    /// The sum of two spans.
    pub fn and(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            offered: self.offered + other.offered,
            ended: self.ended + other.ended,
        }
    }

    /// Packets per second that ended.
    pub fn rate(&self) -> f64 {
        self.ended as f64 / self.seconds
    }

    /// Packets per second that were offered.
    pub fn offered_rate(&self) -> f64 {
        self.offered as f64 / self.seconds
    }

    /// The share of the offered packets that ended elsewhere, in percent; packets in flight at a
    /// reading can make it slightly too small.
    pub fn lost(&self) -> f64 {
        100.0 * self.offered.saturating_sub(self.ended) as f64 / self.offered.max(1) as f64
    }
}

/// Both counters at one time.
struct Reading {
    time: Instant,
    given: u64,
    ended: u64,
}

impl Reading {
    /// Every hook answers in microseconds; a delayed reading is repeated, because time and offered
    /// packets are interpolated to its middle.
    fn at(flood: &Flood, hook: &dyn ActiveHook) -> Result<Self> {
        let (mut look, mut took) = Self::once(flood, hook)?;
        for _ in 1..READINGS {
            if took <= SOON {
                break;
            }
            let again = Self::once(flood, hook)?;
            if again.1 < took {
                (look, took) = again;
            }
        }
        Ok(look)
    }

    /// How long the reading took.
    fn once(flood: &Flood, hook: &dyn ActiveHook) -> Result<(Self, Duration)> {
        let (before, given) = (Instant::now(), flood.given());
        let ended = hook.ended()?;
        let took = before.elapsed();
        Ok((Self { time: before + took / 2, given: given.midpoint(flood.given()), ended }, took))
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
/// A reading that took no longer is good: less than a thousandth of the shortest usual window.
const SOON: Duration = Duration::from_micros(150);
/// Number of readings, of which the quickest counts.
const READINGS: usize = 5;
/// Number of packets that must end before the clock starts.
const WARM_UP: u64 = 1000;
