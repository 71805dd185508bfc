//! An interface on whose queues sockets are opened.

use sys::net::Ifindex;

use crate::device::Device;
use crate::steer::{self, Steer, Steering};
use crate::{Error, InterfaceReason, Result};

/// A network interface and the steering of its packets to sockets, which remains as long as this
/// value or a socket exists. The interface is looked up in the network namespace of the thread that
/// opens it.
#[derive(Clone, Debug)]
pub struct Interface {
    device: Device,
    steering: Option<Steering>,
}

/// Options of an [`Interface`]; see [`Interface::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is attached before `open`"]
pub struct Builder {
    name: String,
    steering: Source,
    mode: steer::Mode,
    options: steer::Options,
}

/// How packets are steered to sockets.
#[derive(Clone, Debug)]
enum Source {
    Attach(Steer),
    Given(Steering),
    Nothing,
}

impl Interface {
    /// Opens an interface and steers all packets of each queue that has a socket to this socket. #
    /// Errors As [`Builder::open`].
    pub fn open(name: &str) -> Result<Self> {
        Self::builder(name).open()
    }

    /// Options for opening the interface `name`.
    pub fn builder(name: &str) -> Builder {
        Builder {
            name: name.to_owned(),
            steering: Source::Attach(Steer::All),
            mode: steer::Mode::default(),
            options: steer::Options::default(),
        }
    }

    /// Number of queues that both receive and transmit, as of the opening; they are numbered from
    /// 0.
    pub fn queues(&self) -> u32 {
        let queues = self.device.queues.both();
        self.steering.as_ref().map_or(queues, |steering| queues.min(steering.queues()))
    }

    /// Name of the interface.
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// Index of the interface.
    pub fn ifindex(&self) -> Ifindex {
        self.device.ifindex
    }

    /// Attributes of the interface when it was opened.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Present attributes of the interface.
    pub(crate) fn refreshed(&self) -> Result<Device> {
        let now = Device::open(self.name())?;
        if now.ifindex == self.ifindex() {
            return Ok(now);
        }
        Err(Error::interface(&now.name, InterfaceReason::Replaced))
    }

    /// The steering of its packets; `None` without steering.
    pub fn steering(&self) -> Option<&Steering> {
        self.steering.as_ref()
    }
}

impl Builder {
    /// Which packets go to sockets, by default all; the others go to the network stack.
    pub fn steer(mut self, steer: Steer) -> Self {
        self.steering = Source::Attach(steer);
        self
    }

    /// Uses the map of sockets of another process, so that this process needs no privilege to
    /// attach programs: see [`Steering::from_map`].
    pub fn steering(mut self, steering: Steering) -> Self {
        self.steering = Source::Given(steering);
        self
    }

    /// Where the program runs: in the driver or in the stack.
    pub fn mode(mut self, mode: steer::Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Further options of the program.
    pub fn options(mut self, options: steer::Options) -> Self {
        self.options = options;
        self
    }

    /// Attaches no program: for sockets that only send, or that another process steers packets to.
    pub fn without_steering(mut self) -> Self {
        self.steering = Source::Nothing;
        self
    }

    /// Opens the interface and attaches or joins the program.
    ///
    /// # Errors
    /// [`Error::Interface`] when the interface does not exist or does not support an option;
    /// [`Error::Kernel`] when the program cannot be attached.
    pub fn open(self) -> Result<Interface> {
        let device = Device::open(&self.name)?;
        let steering = match &self.steering {
            Source::Attach(steer) => {
                Some(Steering::attach(device.ifindex, self.mode, steer, self.options)?)
            }
            Source::Given(steering) => Some(steering.clone()),
            Source::Nothing => None,
        };
        Ok(Interface { device, steering })
    }
}
