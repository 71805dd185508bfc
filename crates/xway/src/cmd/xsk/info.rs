//! `xsk info`: what one interface can do for sockets.

use anyhow::Result;
use xsk::device::{Device, DeviceReport};

use crate::cmd::{Context, Exit};

pub fn run(dev: &str, context: &Context) -> Result<Exit> {
    context.show(&DeviceReport::new(Device::open(dev)?)?)?;
    Ok(Exit::Done)
}
