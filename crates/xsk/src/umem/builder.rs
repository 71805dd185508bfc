//! Options for memory, checked before it is allocated.

use sys::memory::{Anonymous, Pages};
use sys::mmap::page_size;
use sys::net::xsk::{UMEM_SOFTWARE_CHECKSUM, UMEM_TX_METADATA, UMEM_UNALIGNED};

use super::Umem;
use super::bytes::Bytes;
use super::geometry::{Geometry, TRANSMIT_METADATA};
use super::handle::Handle;
use super::region::Region;
use crate::limits::{LEAST_FRAME, LEAST_ROOM, MOST_FRAMES};
use crate::{ConfigError, Result};

/// Whether memory consists of huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugePages {
    /// Pages of the normal size.
    #[default]
    No,
    /// Huge pages if available: see [`Umem::huge_pages_refused`].
    Try,
    /// Huge pages, or an error.
    Require,
}

/// Options for memory; sizes are in bytes.
#[derive(Clone, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct Builder {
    frames: u32,
    frame_size: u32,
    headroom: u32,
    unaligned: bool,
    huge_pages: HugePages,
    numa_node: Option<u32>,
    transmit_metadata: bool,
    software_checksum: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            frames: 4096,
            frame_size: 2048,
            headroom: 0,
            unaligned: false,
            huge_pages: HugePages::No,
            numa_node: None,
            transmit_metadata: false,
            software_checksum: false,
        }
    }
}

impl Builder {
    /// Number of frames, up to 2^24; 4,096 unless set.
    pub fn frames(mut self, frames: u32) -> Self {
        self.frames = frames;
        self
    }

    /// Bytes of a frame: a power of two from 2,048 (the default) to the size of a page, or any even
    /// size in that range with [`unaligned`](Self::unaligned).
    pub fn frame_size(mut self, bytes: u32) -> Self {
        self.frame_size = bytes;
        self
    }

    /// Bytes that remain free before each packet, in addition to the kernel's own 256 on receive;
    /// at most 704 less than a frame, 0 unless set.
    pub fn headroom(mut self, bytes: u32) -> Self {
        self.headroom = bytes;
        self
    }

    /// Permits frame sizes that are not a power of two, and frames that cross pages (Linux 5.4).
    /// With zero copy this requires huge pages.
    pub fn unaligned(mut self, on: bool) -> Self {
        self.unaligned = on;
        self
    }

    /// Whether the memory consists of huge pages; [`HugePages::No`] unless set.
    pub fn huge_pages(mut self, choice: HugePages) -> Self {
        self.huge_pages = choice;
        self
    }

    /// Allocates the memory on this NUMA node; by default on that of the thread that builds it.
    pub fn numa_node(mut self, node: u32) -> Self {
        self.numa_node = Some(node);
        self
    }

    /// Reserves 24 bytes before each packet for requests to the device: see
    /// [`Frame::request`](super::Frame::request) (Linux 6.8).
    pub fn transmit_metadata(mut self, on: bool) -> Self {
        self.transmit_metadata = on;
        self
    }

    /// In copy mode lets the kernel compute the checksums that packets request from the device,
    /// with [`transmit_metadata`](Self::transmit_metadata). Intended for tests (Linux 6.8): without
    /// it the kernel computes them only for devices that cannot, and with `tx-checksumming` on veth
    /// the receiver sees them incomplete.
    pub fn software_checksum(mut self, on: bool) -> Self {
        self.software_checksum = on;
        self
    }

    /// Allocates the memory and makes it resident.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for sizes that contradict each other,
    /// [`Error::System`](crate::Error::System) when the memory cannot be allocated.
    pub fn build(self) -> Result<Umem> {
        let geometry = self.geometry()?;
        let (memory, refused) = self.memory(geometry.bytes())?;
        if let Some(node) = self.numa_node {
            memory.prefer_node(node)?;
        }
        memory.populate()?;
        let mut region = Region::new(Bytes::mapped(memory), geometry, self.flags());
        region.refused = refused;
        Ok(Umem { handle: Handle::new(region) })
    }

    /// Builds memory on the heap, which a simulated kernel can access.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn build_on_heap(self) -> Result<(Umem, std::sync::Arc<super::Heap>)> {
        let geometry = self.geometry()?;
        let heap = std::sync::Arc::new(super::Heap::new(geometry.bytes()));
        let bytes = Bytes::on_heap(std::sync::Arc::clone(&heap));
        let region = Region::new(bytes, geometry, self.flags());
        Ok((Umem { handle: Handle::new(region) }, heap))
    }

    fn geometry(&self) -> Result<Geometry> {
        let metadata = if self.transmit_metadata { TRANSMIT_METADATA } else { 0 };
        let size = self.frame_size;
        let geometry = Geometry {
            frames: self.frames,
            size,
            headroom: self.headroom,
            metadata,
            unaligned: self.unaligned,
        };
        let page = page_size() as u32;
        let wrong = |wrong: ConfigError| Err(wrong.into());
        if self.frames == 0 || self.frames > MOST_FRAMES {
            return wrong(ConfigError::FrameCount { count: self.frames });
        }
        if !(LEAST_FRAME..=page).contains(&size) {
            return wrong(ConfigError::FrameSize { size, page });
        }
        if !self.unaligned && !size.is_power_of_two() {
            let near = size.next_power_of_two().min(page);
            return wrong(ConfigError::FrameAlignment { size, near });
        }
        // Linux 6.18 clears the lowest bit of returned addresses; at even addresses that is
        // harmless.
        if !size.is_multiple_of(2) {
            return wrong(ConfigError::OddFrameSize { size });
        }
        if self.software_checksum && !self.transmit_metadata {
            return wrong(ConfigError::ChecksumsWithoutMetadata);
        }
        let (headroom, max) = (self.headroom, size - LEAST_ROOM);
        if headroom > max {
            return wrong(ConfigError::Headroom { headroom, size, max });
        }
        Ok(geometry)
    }

    fn memory(&self, len: usize) -> Result<(Anonymous, Option<sys::Error>)> {
        let plain = || Anonymous::new(len, Pages::Plain);
        match self.huge_pages {
            HugePages::No => Ok((plain()?, None)),
            HugePages::Require => Ok((Anonymous::new(len, Pages::Huge)?, None)),
            HugePages::Try => match Anonymous::new(len, Pages::Huge) {
                Ok(memory) => Ok((memory, None)),
                Err(refused) => Ok((plain()?, Some(refused))),
            },
        }
    }

    fn flags(&self) -> u32 {
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        flag(self.unaligned, UMEM_UNALIGNED)
            | flag(self.transmit_metadata, UMEM_TX_METADATA)
            | flag(self.software_checksum, UMEM_SOFTWARE_CHECKSUM)
    }
}
