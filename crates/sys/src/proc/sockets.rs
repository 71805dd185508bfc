//! Which processes hold sockets of a protocol, for kernels without sock_diag, which does not report
//! it either.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::DESCRIPTOR_LIMIT;

/// A descriptor of a process that is a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketHolder {
    /// Process id.
    pub pid: u32,
    /// Name of the command, at most 15 bytes.
    pub command: String,
    /// The number of the descriptor in that process.
    pub descriptor: i32,
    /// Identifies the socket on this machine.
    pub inode: u32,
}

/// Every descriptor of a socket whose protocol the kernel calls `protocol` (as in
/// `/proc/net/protocols`: `XDP`, `PACKET`, `TCP`), as far as this process may look.
pub fn socket_holders(protocol: &str) -> Vec<SocketHolder> {
    let mut budget = DESCRIPTOR_LIMIT;
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.flat_map(|pid| held_by(pid, protocol, &mut budget)).collect()
}

fn held_by(pid: u32, protocol: &str, budget: &mut usize) -> Vec<SocketHolder> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let mut held = Vec::new();
    for entry in descriptors.flatten() {
        if *budget == 0 {
            break;
        }
        *budget -= 1;
        let Some(inode) = socket_inode(&entry.path()) else { continue };
        if protocol_of(&entry.path()).as_deref() != Some(protocol.as_bytes()) {
            continue;
        }
        let number = entry.file_name();
        let Some(descriptor) = number.to_str().and_then(|number| number.parse().ok()) else {
            continue;
        };
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        held.push(SocketHolder { pid, command: command.trim().to_owned(), descriptor, inode });
    }
    held
}

fn socket_inode(descriptor: &Path) -> Option<u32> {
    let target = fs::read_link(descriptor).ok()?;
    target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The protocol's name, which the kernel gives as an attribute of the socket's file.
fn protocol_of(descriptor: &Path) -> Option<Vec<u8>> {
    let path = CString::new(descriptor.as_os_str().as_bytes()).ok()?;
    let mut name = [0u8; 64];
    let (at, room) = (name.as_mut_ptr().cast(), name.len());
    // SAFETY: both strings end in zero, and `at` has `room` bytes.
    let length =
        unsafe { libc::getxattr(path.as_ptr(), c"system.sockprotoname".as_ptr(), at, room) };
    let name = name.get(..usize::try_from(length).ok()?)?;
    Some(name.strip_suffix(&[0]).unwrap_or(name).to_vec())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_socket_is_found_by_its_protocol() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let descriptor = listener.as_raw_fd();
        let mine = |holder: &SocketHolder| {
            holder.pid == std::process::id() && holder.descriptor == descriptor
        };
        let tcp = socket_holders("TCP");
        let found = tcp.iter().find(|holder| mine(holder)).expect("our own socket");
        assert!(found.inode > 0 && !found.command.is_empty(), "{found:?}");
        assert!(!socket_holders("UDP").iter().any(mine), "it is not a UDP socket");
        assert!(socket_holders("").is_empty());
    }
}
