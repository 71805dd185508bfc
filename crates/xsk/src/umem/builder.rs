//! What memory is asked for, checked before it is made.

use sys::memory::{Anonymous, Pages};
use sys::mmap::page_size;
use sys::net::xsk::{UMEM_SOFTWARE_CHECKSUM, UMEM_TX_METADATA, UMEM_UNALIGNED};

use super::Umem;
use super::bytes::Bytes;
use super::geometry::Geometry;
use super::handle::Handle;
use super::region::Region;
use crate::limits::{LEAST_FRAME, LEAST_ROOM, MOST_FRAMES};
use crate::metadata::Request;
use crate::{Error, Result};

/// Whether memory is to be made of huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugePages {
    #[default]
    No,
    /// Plain pages where there are none: see [`Umem::huge_pages_refused`].
    Try,
    Require,
}

/// Sizes in bytes.
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
    pub fn frames(mut self, frames: u32) -> Self {
        self.frames = frames;
        self
    }

    /// A power of two from 2,048 to the size of a page; any even size in that range when
    /// [`unaligned`](Self::unaligned).
    pub fn frame_size(mut self, bytes: u32) -> Self {
        self.frame_size = bytes;
        self
    }

    /// Bytes that stay free in front of each packet, besides the kernel's own 256 on receive; at
    /// most 704 less than a frame.
    pub fn headroom(mut self, bytes: u32) -> Self {
        self.headroom = bytes;
        self
    }

    /// Frames need not be a power of two, and may cross pages (Linux 5.4). With zero copy this
    /// wants huge pages.
    pub fn unaligned(mut self, on: bool) -> Self {
        self.unaligned = on;
        self
    }

    pub fn huge_pages(mut self, wish: HugePages) -> Self {
        self.huge_pages = wish;
        self
    }

    /// Memory of this node; by default of the node that touches it first.
    pub fn numa_node(mut self, node: u32) -> Self {
        self.numa_node = Some(node);
        self
    }

    /// Room of 24 bytes in front of each packet for what the device is asked to do when it
    /// transmits: see [`Frame::request`](super::Frame::request) (Linux 6.8).
    pub fn transmit_metadata(mut self, on: bool) -> Self {
        self.transmit_metadata = on;
        self
    }

    /// In copy mode the kernel itself computes the checksums that packets ask the device for, with
    /// [`transmit_metadata`](Self::transmit_metadata). Made for tests (Linux 6.8): without it the
    /// kernel does so where the device cannot, and on veth with `tx-checksumming` on the receiver
    /// sees them unfinished.
    pub fn software_checksum(mut self, on: bool) -> Self {
        self.software_checksum = on;
        self
    }

    /// # Errors
    /// When sizes do not fit together, or there is no such memory.
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

    /// On the heap, which a kernel made of tests can touch.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn build_on_heap(self) -> Result<(Umem, std::sync::Arc<super::Heap>)> {
        let geometry = self.geometry()?;
        let heap = std::sync::Arc::new(super::Heap::new(geometry.bytes()));
        let bytes = Bytes::on_heap(std::sync::Arc::clone(&heap));
        let region = Region::new(bytes, geometry, self.flags());
        Ok((Umem { handle: Handle::new(region) }, heap))
    }

    fn geometry(&self) -> Result<Geometry> {
        let metadata = if self.transmit_metadata { METADATA } else { 0 };
        let size = self.frame_size;
        let geometry = Geometry {
            frames: self.frames,
            size,
            headroom: self.headroom,
            metadata,
            unaligned: self.unaligned,
        };
        let page = page_size() as u32;
        let wrong = |what: String| Err(Error::Config(what));
        if self.frames == 0 || self.frames > MOST_FRAMES {
            return wrong(format!("{} frames: have 1 to {MOST_FRAMES}", self.frames));
        }
        if !(LEAST_FRAME..=page).contains(&size) {
            return wrong(format!(
                "frames of {size} bytes: the kernel takes {LEAST_FRAME} to {page}"
            ));
        }
        if !self.unaligned && !size.is_power_of_two() {
            let near = size.next_power_of_two().min(page);
            return wrong(format!(
                "frames of {size} bytes: have a power of two, such as {near}, or unaligned frames"
            ));
        }
        // Where every frame starts at an even address, its loss of one bit leads to no other.
        if !size.is_multiple_of(2) {
            return wrong(format!(
                "frames of {size} bytes: have an even number; Linux 6.18 takes one byte off odd \
                 addresses that it gives back"
            ));
        }
        if self.software_checksum && !self.transmit_metadata {
            return wrong(
                "software checksums are computed where packets ask for them: have transmit \
                 metadata, too"
                    .to_owned(),
            );
        }
        let most = size - LEAST_ROOM;
        if self.headroom > most {
            return wrong(format!(
                "a headroom of {} bytes in frames of {size}: have {most} at most, or larger \
                 frames; the kernel wants {LEAST_ROOM} for itself and a packet",
                self.headroom
            ));
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

/// The kernel takes any multiple of 8 below 256.
const METADATA: u32 = Request::SIZE as u32;
