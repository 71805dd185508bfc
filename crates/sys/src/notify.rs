//! Messages to the service manager (`sd_notify(3)`).
//!
//! Rule: a process that no manager watches sends nothing, and a message that is not received does
//! not stop the process.

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The manager's socket, and the time within which it expects a sign of life.
#[derive(Debug)]
pub struct NotifySocket {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl NotifySocket {
    /// Finds the manager by the environment variables that it sets for this process.
    pub fn from_environment() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let socket = variable("NOTIFY_SOCKET")
            .and_then(|name| Some((UnixDatagram::unbound().ok()?, address(&name)?)));
        let is_ours = variable("WATCHDOG_PID")
            .is_none_or(|pid| pid.to_str() == Some(&std::process::id().to_string()));
        let micros = variable("WATCHDOG_USEC").filter(|_| is_ours);
        let micros = micros.and_then(|value| value.to_str()?.parse().ok());
        Self { socket, watchdog: micros.map(Duration::from_micros) }
    }

    /// Sends a message, such as `READY=1`.
    pub fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            let _unheard = socket.send_to_addr(message.as_bytes(), address);
        }
    }

    /// Half of the time within which the manager expects `WATCHDOG=1`; `None` without one.
    pub fn interval(&self) -> Option<Duration> {
        self.watchdog.map(|time| time / 2)
    }
}

/// A path, or a name after `@` in the abstract namespace.
fn address(name: &OsString) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest).ok(),
        _ => SocketAddr::from_pathname(name).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_at_both_kinds_of_addresses() {
        let name = format!("xway-notify-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let _absent = std::fs::remove_file(&path);
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        for (text, listener) in [
            (path.clone().into_os_string(), UnixDatagram::bind(&path).unwrap()),
            (format!("@{name}").into(), UnixDatagram::bind_addr(&abstract_name).unwrap()),
        ] {
            let socket = Some((UnixDatagram::unbound().unwrap(), address(&text).unwrap()));
            NotifySocket { socket, watchdog: None }.send("READY=1");
            let mut message = [0; 16];
            let length = listener.recv(&mut message).unwrap();
            assert_eq!(&message[..length], b"READY=1", "{}", text.display());
        }
        std::fs::remove_file(path).unwrap();
    }
}
