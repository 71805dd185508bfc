//! An interface whose queues are opened as sockets.

use sys::net::Ifindex;

use crate::device::Device;
use crate::steer::{self, Steer, Steering};
use crate::{Result, socket};

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
    steer: Option<Steer>,
    mode: steer::Mode,
    options: steer::Options,
}

impl Interface {
    /// Every packet of a queue that has a socket goes there.
    pub fn open(name: &str) -> Result<Self> {
        Self::builder(name).open()
    }

    pub fn builder(name: &str) -> Builder {
        Builder {
            name: name.to_owned(),
            steer: Some(Steer::All),
            mode: steer::Mode::default(),
            options: steer::Options::default(),
        }
    }

    /// A socket for one of its queues, from 0.
    pub fn socket(&self, queue: u32) -> socket::Builder<'_> {
        socket::Builder::new(self, queue)
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

    pub fn steering(&self) -> Option<&Steering> {
        self.steering.as_ref()
    }
}

impl Builder {
    /// Which packets go to sockets; the others go to the stack.
    pub fn steer(mut self, steer: Steer) -> Self {
        self.steer = Some(steer);
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
        self.steer = None;
        self
    }

    /// # Errors
    /// When there is no such interface, or no program can be attached to it.
    pub fn open(self) -> Result<Interface> {
        let device = Device::open(&self.name)?;
        let attach =
            |steer: &Steer| Steering::attach(device.ifindex, self.mode, steer, self.options);
        let steering = self.steer.as_ref().map(attach).transpose()?;
        Ok(Interface { device, steering })
    }
}
