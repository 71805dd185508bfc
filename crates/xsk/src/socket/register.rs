//! Giving memory to the kernel, with room for transmit metadata in whatever way it takes it.

use sys::errno::EINVAL;
use sys::memory::{Anonymous, Pages};
use sys::mmap::page_size;
use sys::net::xsk::{UMEM_TX_METADATA, UmemMemory, XskSocket};

use crate::umem::Umem;
use crate::{Error, Result};

/// Registers memory with a socket.
///
/// # Errors
/// [`Error::Config`] for transmit metadata before Linux 6.8.
pub(super) fn register(socket: &XskSocket, umem: &Umem) -> Result<()> {
    let region = umem.handle().region();
    let geometry = region.geometry;
    let memory = UmemMemory {
        start: region.memory.as_ptr(),
        len: geometry.bytes(),
        chunk_size: geometry.size,
        headroom: geometry.headroom,
        flags: region.registration_flags,
        tx_metadata_len: geometry.metadata,
    };
    match socket.register(&memory) {
        Err(error) if error.is(EINVAL) && geometry.metadata > 0 => unflagged(socket, memory, error),
        other => Ok(other?),
    }
}

/// Linux 6.8 to 6.10 has no flag for metadata. Older kernels do not look at its length at all, and
/// would send no packet that asks for something.
fn unflagged(socket: &XskSocket, memory: UmemMemory, refused: sys::Error) -> Result<()> {
    if !checks_length()? {
        return Err(Error::Config(format!(
            "transmit metadata needs Linux 6.8: have none in this memory ({refused})"
        )));
    }
    let flags = memory.flags & !UMEM_TX_METADATA;
    Ok(socket.register(&UmemMemory { flags, ..memory })?)
}

/// Whether this kernel refuses a length of metadata that is none.
fn checks_length() -> Result<bool> {
    let memory = Anonymous::new(page_size(), Pages::Plain)?;
    let odd = UmemMemory {
        start: memory.as_ptr(),
        len: memory.len(),
        chunk_size: page_size() as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 7,
    };
    let socket = XskSocket::open()?;
    match socket.register(&odd) {
        Ok(()) => Ok(false),
        Err(error) if error.is(EINVAL) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
