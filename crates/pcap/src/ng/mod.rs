//! Reading pcapng: sections of blocks, each with its own length at both ends.
//!
//! Layout: draft-ietf-opsawg-pcapng, sections 3 and 4. Blocks that hold neither packets nor
//! interfaces are skipped. Not here: writing (`writer::ng`).
//!
//! ```text
//! block   kind:32 total:32 body... total:32       total is a multiple of 4, 12 at least
//! ```

pub(crate) mod block;
mod clock;
pub(crate) mod code;
mod interface;
mod options;
mod packets;

use std::io::Read;

use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::limits::MAX_INTERFACES;
use crate::order::Order;
use crate::packet::Packet;
use crate::source::Source;

use block::{Block, Head};
use clock::Clock;

/// The section that is being read.
#[derive(Debug)]
pub(crate) struct Ng {
    order: Order,
    /// Sections begun before this one.
    section: usize,
    /// Interfaces of sections before this one.
    base: usize,
    /// What it takes to read this section's packets, by interface.
    sights: Vec<Sight>,
}

/// Properties of packets, from the description of their interface.
#[derive(Clone, Copy, Debug)]
struct Sight {
    clock: Clock,
    snaplen: u32,
}

impl Ng {
    /// Whether a file starts with a section header, in either order.
    pub fn recognizes(start: &[u8]) -> bool {
        start == code::SECTION.to_le_bytes()
    }

    /// Reads the first section header.
    pub fn open<R: Read>(source: &mut Source<R>) -> Result<Self> {
        let order = block::section_order(source)?;
        let head = block::head(source, order)?;
        section(&block::body(source, head, order)?)?;
        source.consume(head.total);
        Ok(Self { order, section: 0, base: 0, sights: Vec::new() })
    }

    /// Reads the next packet into `packet`; `false` at the end of the file.
    pub fn next_into<R: Read>(
        &mut self,
        source: &mut Source<R>,
        interfaces: &mut Vec<Interface>,
        packet: &mut Packet,
    ) -> Result<bool> {
        loop {
            let Some(head) = self.head(source)? else { return Ok(false) };
            if !code::READ.contains(&head.kind) {
                block::skip(source, head, self.order)?;
                continue;
            }
            let block = block::body(source, head, self.order)?;
            let found = self.block(&block, interfaces, packet)?;
            source.consume(head.total);
            if found {
                return Ok(true);
            }
        }
    }

    /// The next block's kind and length. A section header sets the order before it is read.
    fn head<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<Head>> {
        let start = source.peek(4)?;
        if start.is_empty() {
            return Ok(None);
        }
        if Self::recognizes(start) {
            self.order = block::section_order(source)?;
        }
        block::head(source, self.order).map(Some)
    }

    /// Takes in a block; true when it held a packet.
    fn block(
        &mut self,
        block: &Block<'_>,
        interfaces: &mut Vec<Interface>,
        packet: &mut Packet,
    ) -> Result<bool> {
        match block.kind {
            code::SECTION => self.begin_section(block, interfaces.len())?,
            code::INTERFACE => self.add_interface(block, interfaces)?,
            code::ENHANCED => packets::enhanced(self, block, packet)?,
            code::SIMPLE => packets::simple(self, block, packet)?,
            _ => packets::old(self, block, packet)?,
        }
        Ok(!matches!(block.kind, code::SECTION | code::INTERFACE))
    }

    fn begin_section(&mut self, block: &Block<'_>, base: usize) -> Result<()> {
        section(block)?;
        *self = Self { order: self.order, section: self.section + 1, base, sights: Vec::new() };
        Ok(())
    }

    fn add_interface(&mut self, block: &Block<'_>, interfaces: &mut Vec<Interface>) -> Result<()> {
        if interfaces.len() == MAX_INTERFACES {
            let what = format!("more than {MAX_INTERFACES} interfaces");
            return Err(Error::damaged(block.offset, what));
        }
        let (interface, clock) = interface::parse(block)?;
        self.sights.push(Sight { clock, snaplen: interface.snaplen });
        interfaces.push(Interface { section: self.section, ..interface });
        Ok(())
    }

    /// The interface with this number in the section; `at` is the position of the reference.
    fn sight(&self, number: u32, at: u64) -> Result<Sight> {
        let sight = self.sights.get(number as usize);
        sight.copied().ok_or_else(|| {
            let known = self.sights.len();
            Error::damaged(at, format!("packet of interface {number}, but {known} are described"))
        })
    }

    /// The interface's index in the whole file.
    fn index(&self, number: u32) -> usize {
        self.base + number as usize
    }
}

/// Checks a section header. Its length is not needed, and many writers leave it open.
fn section(block: &Block<'_>) -> Result<()> {
    let (fixed, rest) = block.split(16, "section header")?;
    let version = (block.order.u16(fixed, 4), block.order.u16(fixed, 6));
    // 1.2 is 1.0 by another name: draft-ietf-opsawg-pcapng, section 4.1.
    if !matches!(version, (1, 0 | 2)) {
        let what = format!("pcapng version {}.{}; version 1.0 alone is read", version.0, version.1);
        return Err(Error::unsupported(block.offset + 12, what));
    }
    options::all(block, rest).try_for_each(|option| option.map(|_| ()))
}
