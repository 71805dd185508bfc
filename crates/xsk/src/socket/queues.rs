//! Sockets on the queues of an interface, and a thread for each.

use super::{Builder, Socket};
use crate::interface::Interface;
use crate::workers::{self, Cpus, Stop, Worker};
use crate::{Error, Result};

impl Interface {
    /// Options for a socket on the queue with this number, from 0.
    pub fn socket(&self, queue: u32) -> Builder<'_> {
        Builder::new(self, queue)
    }

    /// Opens a socket on each queue, in order, with the options that `configure` sets. With
    /// [`umem`](Builder::umem) all share this memory; otherwise each has memory of its own.
    ///
    /// ```no_run
    /// # fn main() -> xsk::Result<()> {
    /// let umem = xsk::Umem::builder().frames(16 << 10).build()?;
    /// let interface = xsk::Interface::open("eth0")?;
    /// let sockets = interface.sockets(|socket| socket.umem(&umem).rings(1024))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of the first queue that could not be opened; the others are closed again.
    pub fn sockets<'a>(
        &'a self,
        configure: impl Fn(Builder<'a>) -> Builder<'a>,
    ) -> Result<Vec<Socket>> {
        (0..self.queues()).map(|queue| configure(self.socket(queue)).open()).collect()
    }

    /// Runs `work` in a thread for each socket and joins all threads; their results are in the
    /// order of the sockets. `cpus` selects the processors, and [`workers::Place`] has the reason
    /// for each. Workers must check [`Worker::stop`] between batches.
    ///
    /// ```no_run
    /// # fn main() -> xsk::Result<()> {
    /// use std::time::Duration;
    /// use xsk::{Stop, workers::Cpus};
    ///
    /// let interface = xsk::Interface::open("eth0")?;
    /// let sockets = interface.sockets(|socket| socket)?;
    /// let stop = Stop::new(); // a signal handler may have a clone of it
    /// let counts = interface.run(sockets, &Cpus::Auto, &stop, |mut socket, worker| {
    ///     let mut count = 0;
    ///     while !worker.stop.is_set() {
    ///         if socket.rx().wait(Duration::from_millis(100))? {
    ///             count += socket.rx().for_each(64, |_packet| {});
    ///         }
    ///     }
    ///     Ok::<_, xsk::Error>(count)
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`workers::run`]: an error or panic of one worker stops the others.
    pub fn run<T, E>(
        &self,
        sockets: Vec<Socket>,
        cpus: &Cpus,
        stop: &Stop,
        work: impl Fn(Socket, &Worker<'_>) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E>
    where
        T: Send,
        E: From<Error> + Send,
    {
        let queues: Vec<u32> = sockets.iter().map(Socket::queue).collect();
        let places = cpus.places(self.ifindex(), &queues)?;
        workers::run(places.into_iter().zip(sockets).collect(), stop, work)
    }
}
