//! An interface whose queues are opened as sockets.

use sys::net::Ifindex;

use crate::device::Device;
use crate::socket::{self, Socket};
use crate::steer::{self, Steer, Steering};
use crate::workers::{self, Cpus, Stop, Worker};
use crate::{Error, Result};

/// An interface of the namespace of the thread that opened it. Its packets go to sockets as it was
/// told, as long as it or a socket lives.
#[derive(Clone, Debug)]
pub struct Interface {
    device: Device,
    steering: Option<Steering>,
}

/// See [`Interface::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is attached before `open`"]
pub struct Builder {
    name: String,
    steering: Wish,
    mode: steer::Mode,
    options: steer::Options,
}

/// How packets are to come to sockets.
#[derive(Clone, Debug)]
enum Wish {
    Attach(Steer),
    Given(Steering),
    Nothing,
}

impl Interface {
    /// Every packet of a queue that has a socket goes there.
    pub fn open(name: &str) -> Result<Self> {
        Self::builder(name).open()
    }

    pub fn builder(name: &str) -> Builder {
        Builder {
            name: name.to_owned(),
            steering: Wish::Attach(Steer::All),
            mode: steer::Mode::default(),
            options: steer::Options::default(),
        }
    }

    /// A socket for one of its queues, from 0.
    pub fn socket(&self, queue: u32) -> socket::Builder<'_> {
        socket::Builder::new(self, queue)
    }

    /// How many queues both received and transmitted when it was opened; they are numbered from 0.
    pub fn queues(&self) -> u32 {
        let queues = self.device.queues.both();
        self.steering.as_ref().map_or(queues, |steering| queues.min(steering.queues()))
    }

    /// A socket for each of its queues, in their order, each built as `configure` says: with
    /// [`umem`](socket::Builder::umem) all share that memory, without each has memory of its own.
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
    /// That of the first queue that could not be opened; the others are closed again.
    pub fn sockets<'a>(
        &'a self,
        configure: impl Fn(socket::Builder<'a>) -> socket::Builder<'a>,
    ) -> Result<Vec<Socket>> {
        (0..self.queues()).map(|queue| configure(self.socket(queue)).open()).collect()
    }

    /// Starts a thread for each socket, pinned as `cpus` says ([`workers::Place`] tells why
    /// there), lets it `work`, and joins them all; what they return comes in the sockets' order.
    /// Workers look at [`Worker::stop`] between batches.
    ///
    /// ```no_run
    /// # fn main() -> xsk::Result<()> {
    /// use std::time::Duration;
    /// use xsk::{Stop, workers::Cpus};
    ///
    /// let interface = xsk::Interface::open("eth0")?;
    /// let sockets = interface.sockets(|socket| socket)?;
    /// let stop = Stop::new(); // a clone of it may go to a handler of signals
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
    /// As [`workers::run`]: an error or a panic of one worker stops the others.
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

    pub fn name(&self) -> &str {
        &self.device.name
    }

    pub fn ifindex(&self) -> Ifindex {
        self.device.ifindex
    }

    /// What it was and could when it was opened.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it is now.
    pub(crate) fn look(&self) -> Result<Device> {
        let now = Device::open(self.name())?;
        if now.ifindex == self.ifindex() {
            return Ok(now);
        }
        let why = "it was removed and another one has its name, or this thread is in another \
                   network namespace: open the interface again";
        Err(Error::Interface { interface: now.name, why: why.to_owned() })
    }

    pub fn steering(&self) -> Option<&Steering> {
        self.steering.as_ref()
    }
}

impl Builder {
    /// Which packets go to sockets; the others go to the stack.
    pub fn steer(mut self, steer: Steer) -> Self {
        self.steering = Wish::Attach(steer);
        self
    }

    /// Sockets are put into a map of somebody who may attach programs, while this process need
    /// not: see [`Steering::from_map`].
    pub fn steering(mut self, steering: Steering) -> Self {
        self.steering = Wish::Given(steering);
        self
    }

    /// Where the program runs.
    pub fn mode(mut self, mode: steer::Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What else the program does.
    pub fn options(mut self, options: steer::Options) -> Self {
        self.options = options;
        self
    }

    /// Attaches nothing: for sockets that only send, or that others steer to.
    pub fn without_steering(mut self) -> Self {
        self.steering = Wish::Nothing;
        self
    }

    /// # Errors
    /// When there is no such interface, or no program can be attached to it.
    pub fn open(self) -> Result<Interface> {
        let device = Device::open(&self.name)?;
        let steering = match &self.steering {
            Wish::Attach(steer) => {
                Some(Steering::attach(device.ifindex, self.mode, steer, self.options)?)
            }
            Wish::Given(steering) => Some(steering.clone()),
            Wish::Nothing => None,
        };
        Ok(Interface { device, steering })
    }
}
