//! Sockets on a tokio runtime, with the cargo feature `tokio`.
//!
//! Rule: a future takes nothing before it can complete, so a future that is dropped while it waits
//! loses no packet and no frame. A socket that always has packets yields to other tasks.
//!
//! ```no_run
//! # async fn echo(socket: xsk::Socket) -> Result<(), Box<dyn std::error::Error>> {
//! use xsk::asynchronous::{AsyncRx, AsyncTx};
//!
//! let (tx, rx) = socket.split();
//! let (mut tx, mut rx) = (AsyncTx::new(tx)?, AsyncRx::new(rx)?);
//! loop {
//!     for mut packet in rx.batch(64).await? {
//!         let (to, from) = packet[..12].split_at_mut(6);
//!         to.swap_with_slice(from);
//!         tx.tx().push(packet).map_err(|rejected| rejected.why)?;
//!     }
//!     tx.tx().flush()?;
//! }
//! # }
//! ```

mod rx;
mod tx;

pub use rx::AsyncRx;
pub use tx::AsyncTx;

use std::os::fd::AsRawFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::{ConfigError, Error, Result};

/// Registers a value that owns a descriptor which never changes, and is awaited as readable.
#[allow(deprecated, reason = "its successor is unsafe, for types whose descriptor may change")]
fn register<T: AsRawFd>(source: T) -> Result<AsyncFd<T>> {
    // Without a runtime tokio would panic.
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(ConfigError::NoRuntime.into());
    }
    AsyncFd::with_interest(source, Interest::READABLE).map_err(failed)
}

fn failed(error: std::io::Error) -> Error {
    sys::Error::from_io("epoll", "", &error).into()
}
