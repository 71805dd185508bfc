//! `Place`: the processor on which the thread of a queue runs, and the reason.

use std::collections::BTreeMap;
use std::fmt;

use sys::net::{Direction, Ifindex, NetdevFamily};

use crate::{ConfigError, Result};

/// Which processors workers use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cpus {
    /// The processor of the queue's interrupt if it is known and permitted for this thread;
    /// otherwise the permitted processors in turn.
    #[default]
    Auto,
    /// These processors in turn.
    List(Vec<usize>),
    /// Any processor, as the kernel schedules.
    Anywhere,
}

/// Where one worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The queue of the worker.
    pub queue: u32,
    /// `None` when it may run anywhere.
    pub cpu: Option<usize>,
    /// Why it runs there.
    pub reason: Reason,
}

/// Why a worker runs on its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This processor handles the interrupt of the queue.
    Interrupt,
    /// It is the next permitted processor in turn.
    Turn,
    /// The caller named it.
    Named,
    /// It is not pinned.
    Anywhere,
}

impl Cpus {
    /// Selects the places for the workers of these queues of an interface.
    ///
    /// # Errors
    /// [`ConfigError::NoCpus`] for an empty list.
    pub fn places(&self, ifindex: Ifindex, queues: &[u32]) -> Result<Vec<Place>> {
        match self {
            Self::Auto => Ok(automatic(queues, &interrupts(ifindex), &sys::cpu::affinity()?)),
            Self::List(cpus) if cpus.is_empty() => Err(ConfigError::NoCpus.into()),
            Self::List(cpus) => {
                let turns = cpus.iter().cycle();
                let named = |(queue, cpu): (&u32, &usize)| Place {
                    queue: *queue,
                    cpu: Some(*cpu),
                    reason: Reason::Named,
                };
                Ok(queues.iter().zip(turns).map(named).collect())
            }
            Self::Anywhere => Ok(queues.iter().map(|queue| Place::anywhere(*queue)).collect()),
        }
    }
}

impl Place {
    fn anywhere(queue: u32) -> Self {
        Self { queue, cpu: None, reason: Reason::Anywhere }
    }
}

fn automatic(queues: &[u32], interrupts: &BTreeMap<u32, usize>, allowed: &[usize]) -> Vec<Place> {
    let mut turns = allowed.iter().cycle();
    let mut place = |queue: u32| {
        if let Some(cpu) = interrupts.get(&queue).filter(|cpu| allowed.contains(cpu)) {
            return Place { queue, cpu: Some(*cpu), reason: Reason::Interrupt };
        }
        Place { queue, cpu: turns.next().copied(), reason: Reason::Turn }
    };
    queues.iter().map(|queue| place(*queue)).collect()
}

/// The processor of the interrupt of each receive queue, where the kernel reports it (Linux 6.8).
fn interrupts(ifindex: Ifindex) -> BTreeMap<u32, usize> {
    let reported = NetdevFamily::open()
        .and_then(|mut family| Ok((family.queues(ifindex)?, family.napis(ifindex)?)));
    // Without this information processors are selected in turn, which the place records.
    let Ok((queues, napis)) = reported else { return BTreeMap::new() };
    let cpu = |id: u32| {
        let napi = napis.iter().find(|napi| napi.id == id)?;
        sys::cpu::of_interrupt(napi.irq?)
    };
    let received = queues.iter().filter(|queue| queue.direction == Direction::Receive);
    received.filter_map(|queue| Some((queue.id, cpu(queue.napi?)?))).collect()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cpu) = self.cpu else { return write!(f, "queue {} anywhere", self.queue) };
        write!(f, "queue {} on CPU {cpu} ({})", self.queue, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "its interrupt's",
            Self::Turn => "the next in turn",
            Self::Named => "as named",
            Self::Anywhere => "not pinned",
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn interrupts_come_first_then_turns() {
        let shown = |interrupts: &[(u32, usize)], allowed: &[usize]| {
            let interrupts = interrupts.iter().copied().collect();
            let places = automatic(&[0, 1, 2, 3], &interrupts, allowed);
            places.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            shown(&[(0, 5), (2, 4)], &[4, 5]),
            "queue 0 on CPU 5 (its interrupt's); queue 1 on CPU 4 (the next in turn); \
             queue 2 on CPU 4 (its interrupt's); queue 3 on CPU 5 (the next in turn)"
        );
        assert!(shown(&[(0, 9)], &[7]).starts_with("queue 0 on CPU 7 (the next in turn)"));
    }

    #[test]
    fn named_processors_go_round() {
        let places = Cpus::List(vec![3, 1]).places(Ifindex(1), &[0, 1, 2]).unwrap();
        let cpus: Vec<_> = places.iter().map(|place| (place.queue, place.cpu)).collect();
        assert_eq!(cpus, [(0, Some(3)), (1, Some(1)), (2, Some(3))]);
        assert!(Cpus::List(Vec::new()).places(Ifindex(1), &[0]).is_err());
        let anywhere = Cpus::Anywhere.places(Ifindex(1), &[7]).unwrap();
        assert_eq!(anywhere[0].to_string(), "queue 7 anywhere");
    }
}
