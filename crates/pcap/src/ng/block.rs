//! Blocks: kind, length, body, length again.
//!
//! Rule: a body is shown only after both lengths agree. Not here: what bodies mean.

use std::io::Read;

use crate::error::{Error, Result};
use crate::limits::MAX_BLOCK;
use crate::ng::code::BYTE_ORDER;
use crate::order::Order;
use crate::source::Source;

/// Bytes around a body: kind and length before, length after.
pub(crate) const FRAME: usize = 12;
const HEAD: usize = 8;

/// The start of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Type code of the block.
    pub kind: u32,
    /// Bytes of the whole block.
    pub total: usize,
}

/// A whole block.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// Type code of the block.
    pub kind: u32,
    /// Byte order of its section.
    pub order: Order,
    /// Where the block starts in the file.
    pub offset: u64,
    /// Contents between the two length fields.
    pub body: &'a [u8],
}

impl<'a> Block<'a> {
    /// The fields that every block of this kind has, and what follows them.
    pub fn split(&self, len: usize, what: &str) -> Result<(&'a [u8], &'a [u8])> {
        self.body.split_at_checked(len).ok_or_else(|| {
            let found = self.body.len();
            Error::damaged(self.offset, format!("{what} of {found} bytes; it has {len} at least"))
        })
    }

    /// Where in the file a part of the body starts, given what follows it in the body.
    pub fn place(&self, rest: &[u8]) -> u64 {
        self.offset + (HEAD + self.body.len() - rest.len()) as u64
    }
}

/// The byte order of the section header that starts here.
pub(crate) fn section_order<R: Read>(source: &mut Source<R>) -> Result<Order> {
    let offset = source.offset();
    let start = source.whole(FRAME)?;
    let orders = [Order::Little, Order::Big];
    let order = orders.into_iter().find(|order| order.u32(start, 8) == BYTE_ORDER);
    order.ok_or_else(|| {
        let found = format!("section header with byte order {:02x?}", &start[8..]);
        Error::damaged(offset + 8, found)
    })
}

/// The head of the block that starts here.
pub(crate) fn head<R: Read>(source: &mut Source<R>, order: Order) -> Result<Head> {
    let offset = source.offset();
    let start = source.whole(HEAD)?;
    let (kind, total) = (order.u32(start, 0), order.u32(start, 4));
    if total % 4 != 0 || (total as usize) < FRAME {
        let what = format!("block of {total} bytes; blocks have 12, 16, 20, ...");
        return Err(Error::damaged(offset + 4, what));
    }
    Ok(Head { kind, total: total as usize })
}

/// The block that starts here. It is still to be consumed.
pub(crate) fn body<R: Read>(source: &mut Source<R>, head: Head, order: Order) -> Result<Block<'_>> {
    let Head { kind, total } = head;
    let offset = source.offset();
    if total > MAX_BLOCK {
        let (size, limit) = (total as u64, MAX_BLOCK as u64);
        return Err(Error::TooBig { offset, what: "block", size, limit });
    }
    let bytes = source.whole(total)?;
    same_length(total, order.u32(bytes, total - 4), offset)?;
    Ok(Block { kind, order, offset, body: &bytes[HEAD..total - 4] })
}

/// Passes the block that starts here, however long it is.
pub(crate) fn skip<R: Read>(source: &mut Source<R>, head: Head, order: Order) -> Result<()> {
    let offset = source.offset();
    source.skip(head.total as u64 - 4)?;
    let tail = source.peek(4)?;
    if tail.len() < 4 {
        return Err(Error::Truncated { offset, missing: 4 - tail.len() as u64 });
    }
    same_length(head.total, order.u32(tail, 0), offset)?;
    source.consume(4);
    Ok(())
}

fn same_length(total: usize, repeated: u32, offset: u64) -> Result<()> {
    if repeated as usize == total {
        return Ok(());
    }
    let what = format!("block of {total} bytes that ends as one of {repeated}");
    Err(Error::damaged(offset + total as u64 - 4, what))
}
