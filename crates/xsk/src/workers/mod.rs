//! Threads for several queues, started and joined by one call.
//!
//! Rule: threads exist only during [`run`]. An error or panic of one thread stops the others, and
//! all are joined before the call returns. They are in the network namespace of the calling thread.

mod place;
mod stop;

use std::thread::{self, ScopedJoinHandle};

pub use place::{Cpus, Place, Reason};
pub use stop::Stop;

use crate::{Error, Result};

/// The context of a worker.
#[derive(Debug)]
pub struct Worker<'a> {
    /// The queue and processor of this worker.
    pub place: Place,
    /// Must be checked between batches.
    pub stop: &'a Stop,
}

/// Runs `work` once for each task, each in a thread of its own that is pinned to the task's
/// processor, and joins all threads. The results are in the order of the tasks.
///
/// # Errors
/// The error of the first failed task in their order; [`Error::Panicked`] for one that panicked.
pub fn run<S, T, E>(
    tasks: Vec<(Place, S)>,
    stop: &Stop,
    work: impl Fn(S, &Worker<'_>) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E>
where
    S: Send,
    T: Send,
    E: From<Error> + Send,
{
    let work = &work;
    thread::scope(|scope| {
        let mut started = Vec::with_capacity(tasks.len());
        let mut refused = None;
        for (place, task) in tasks {
            let name = format!("xsk-queue-{}", place.queue);
            let body = move || one(place, task, stop, work);
            match thread::Builder::new().name(name).spawn_scoped(scope, body) {
                Ok(thread) => started.push((place, thread)),
                Err(error) => {
                    stop.set();
                    refused = Some(sys::Error::from_io("clone", "a worker's thread", &error));
                    break;
                }
            }
        }
        let ends: Vec<_> = started.into_iter().map(|(place, thread)| end(place, thread)).collect();
        let results = ends.into_iter().collect::<Result<Vec<T>, E>>()?;
        match refused {
            Some(error) => Err(Error::from(error).into()),
            None => Ok(results),
        }
    })
}

/// The body of one thread.
fn one<S, T, E: From<Error>>(
    place: Place,
    task: S,
    stop: &Stop,
    work: impl Fn(S, &Worker<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mut ending = Ending { stop, well: false };
    if let Some(cpu) = place.cpu {
        sys::cpu::set_affinity(&[cpu]).map_err(Error::from)?;
    }
    let result = work(task, &Worker { place, stop });
    ending.well = result.is_ok();
    result
}

/// Joins a thread.
fn end<T, E: From<Error>>(
    place: Place,
    thread: ScopedJoinHandle<'_, Result<T, E>>,
) -> Result<T, E> {
    thread.join().unwrap_or_else(|payload| {
        let message = message(&*payload);
        Err(Error::Panicked { queue: place.queue, message }.into())
    })
}

/// The message of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "?".to_owned())
}

/// Stops the other workers when one fails.
struct Ending<'a> {
    stop: &'a Stop,
    well: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.well {
            self.stop.set();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
