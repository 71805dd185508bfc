//! An interface, and whoever acts where it is.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use lab::Host;
use sys::net::{Ifindex, Mac, Netlink, Statistics};

/// An interface of a host of the lab.
#[derive(Clone, Debug)]
pub struct Place {
    host: Host,
    device: String,
}

impl Place {
    pub fn lab(host: Host, device: &str) -> Self {
        Self { host, device: device.to_owned() }
    }

    /// The interface's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Does `work` on a thread of that namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        Ok(self.host.run(work)?)
    }

    pub fn netlink(&self) -> Result<Netlink> {
        Ok(self.host.netlink()?)
    }

    pub fn ifindex(&self) -> Result<Ifindex> {
        Ok(self.netlink()?.link(&self.device)?.ifindex)
    }

    pub fn mac(&self) -> Result<Mac> {
        let link = self.netlink()?.link(&self.device)?;
        link.mac.with_context(|| format!("{} has no hardware address", self.device))
    }

    pub fn ipv4(&self) -> Result<Ipv4Addr> {
        Ok(self.host.ipv4(&self.device)?)
    }

    /// What the interface counted.
    pub fn statistics(&self) -> Result<Statistics> {
        Ok(self.netlink()?.link(&self.device)?.statistics)
    }
}
