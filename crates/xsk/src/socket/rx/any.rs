//! Waiting for several sockets in one thread.

use std::time::{Duration, Instant};

use sys::poll::{self, Watch, Woken};

use super::Rx;
use crate::limits::{MOST_WATCHED, NAPS};
use crate::wait::{Deadline, Turn, Waiter};
use crate::{ConfigError, Result};

impl Rx {
    /// Waits until one of `sockets` has a packet; returns whether one has. Then read from all of
    /// them, each with a bound, so that none starves. The first socket decides how to wait
    /// ([`Wait`](crate::Wait)), and its [`Interrupt`](crate::wait::Interrupt) ends the wait.
    ///
    /// ```
    /// # fn f(left: &mut xsk::Rx, right: &mut xsk::Rx) -> xsk::Result<()> {
    /// use std::time::Duration;
    ///
    /// while xsk::Rx::wait_any(&mut [&mut *left, &mut *right], Duration::from_secs(1))? {
    ///     for rx in [&mut *left, &mut *right] {
    ///         rx.for_each(64, |packet| println!("{} bytes", packet.len()));
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When an interface fails, or there are more than 256 sockets.
    pub fn wait_any(sockets: &mut [&mut Rx], deadline: impl Into<Deadline>) -> Result<bool> {
        if sockets.len() > MOST_WATCHED {
            return Err(ConfigError::TooManySockets { count: sockets.len() }.into());
        }
        if is_one_ready(sockets) {
            return Ok(true);
        }
        let Some(first) = sockets.first() else { return Ok(false) };
        let (waiter, start) = (first.waiter.clone(), Instant::now());
        let mut turns = waiter.begin(deadline.into(), start);
        loop {
            let mut is_starved = false;
            sockets.iter_mut().for_each(|rx| is_starved |= rx.is_starved());
            let turn = turns.next(Instant::now());
            let is_there = match turn {
                _ if waiter.is_interrupted() => return Ok(is_one_ready(sockets)),
                Turn::Over => return check(sockets).map(|()| is_one_ready(sockets)),
                Turn::Look | Turn::Drive => {
                    check(sockets)?;
                    is_one_ready(sockets)
                }
                Turn::Spin => Waiter::spin(|| is_one_ready(sockets)),
                Turn::Sleep(limit) => {
                    let limit = if is_starved { limit.min(NAPS.1) } else { limit };
                    let woken = sleep(sockets, &waiter, limit)?;
                    if woken == Woken::Signal {
                        return Ok(is_one_ready(sockets));
                    }
                    is_one_ready(sockets)
                }
            };
            if is_there {
                learn(sockets, start.elapsed());
                return Ok(true);
            }
        }
    }
}

fn is_one_ready(sockets: &mut [&mut Rx]) -> bool {
    sockets.iter_mut().any(|rx| rx.is_ready())
}

fn check(sockets: &[&mut Rx]) -> Result<()> {
    sockets.iter().try_for_each(|rx| rx.check())
}

fn sleep(sockets: &[&mut Rx], waiter: &Waiter, limit: Duration) -> Result<Woken> {
    let interrupt = waiter.interrupt().map(std::os::fd::AsFd::as_fd);
    let mut descriptors = sockets.iter().map(|rx| rx.socket_fd()).chain(interrupt);
    let Some(first) = descriptors.next() else { return Ok(Woken::Late) };
    // On the stack: a wait allocates nothing.
    let mut watches = [Watch::readable(first); MOST_WATCHED + 1];
    let mut count = 1;
    for (watch, descriptor) in watches[1..].iter_mut().zip(descriptors) {
        *watch = Watch::readable(descriptor);
        count += 1;
    }
    Ok(poll::wait(&mut watches[..count], Some(limit))?)
}

/// Adapts the first socket, which also decides how to wait the next time.
fn learn(sockets: &mut [&mut Rx], gap: Duration) {
    let came = sockets.iter_mut().map(|rx| rx.ready()).fold(0, u32::saturating_add);
    if let Some(first) = sockets.first_mut() {
        first.waiter.learn(gap, came);
    }
}
