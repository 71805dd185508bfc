//! Several queues at once: a thread for each, started and joined by one call.
//!
//! Rule: threads exist only while [`run`] does. Whatever ends one of them with an error or a panic
//! tells all others to stop, and all are joined before the caller goes on. They are in the network
//! namespace of the thread that calls. Not here: what a worker does.

mod place;
mod stop;

use std::thread::{self, ScopedJoinHandle};

pub use place::{Cpus, Place, Reason};
pub use stop::Stop;

use crate::{Error, Result};

/// What a worker knows of itself.
#[derive(Debug)]
pub struct Worker<'a> {
    pub place: Place,
    /// To be looked at between batches.
    pub stop: &'a Stop,
}

/// Runs `work` once for each task, each in a thread of its own that stays on the task's processor,
/// until all have ended; what they return comes in the tasks' order.
///
/// # Errors
/// That of the first task, in their order, that failed; [`Error::Panicked`] for one that panicked.
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
        let answers = ends.into_iter().collect::<Result<Vec<T>, E>>()?;
        match refused {
            Some(error) => Err(Error::from(error).into()),
            None => Ok(answers),
        }
    })
}

/// The life of one worker.
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
    let answer = work(task, &Worker { place, stop });
    ending.well = answer.is_ok();
    answer
}

/// Joins a worker.
fn end<T, E: From<Error>>(
    place: Place,
    thread: ScopedJoinHandle<'_, Result<T, E>>,
) -> Result<T, E> {
    thread.join().unwrap_or_else(|payload| {
        let message = words(&*payload);
        Err(Error::Panicked { queue: place.queue, message }.into())
    })
}

/// What a panic said.
fn words(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "?".to_owned())
}

/// A worker that does not end well ends the others.
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
