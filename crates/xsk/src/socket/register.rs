//! Registers memory with the kernel, with space for transmit metadata in the way that it supports.

use sys::errno::EINVAL;
use sys::memory::{Anonymous, Pages};
use sys::mmap::page_size;
use sys::net::xsk::{UMEM_TX_METADATA, UmemMemory, XskSocket};

use crate::umem::Umem;
use crate::{ConfigError, Result};

/// Registers memory with a socket.
///
/// # Errors
/// [`ConfigError::MetadataUnsupported`] before Linux 6.8.
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

/// Registers without the flag for metadata, which Linux 6.8 to 6.10 does not have. Older kernels
/// ignore the length of metadata, and would send no packet with a request.
fn unflagged(socket: &XskSocket, memory: UmemMemory, refused: sys::Error) -> Result<()> {
    if !checks_length()? {
        let refusal = refused.to_string();
        return Err(ConfigError::MetadataUnsupported { refusal }.into());
    }
    let flags = memory.flags & !UMEM_TX_METADATA;
    Ok(socket.register(&UmemMemory { flags, ..memory })?)
}

/// Whether this kernel rejects an invalid length of metadata.
fn checks_length() -> Result<bool> {
    let memory = Anonymous::new(page_size(), Pages::Plain)?;
    let invalid = UmemMemory {
        start: memory.as_ptr(),
        len: memory.len(),
        chunk_size: page_size() as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 7,
    };
    let socket = XskSocket::open()?;
    match socket.register(&invalid) {
        Ok(()) => Ok(false),
        Err(error) if error.is(EINVAL) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
