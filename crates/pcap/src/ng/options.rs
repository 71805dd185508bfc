//! Options: code, length, value, padded to 4 bytes, until the block ends or an end mark.
//!
//! Rule: an option of a known code has its code's length, or the file is damaged. Not here: which
//! options a block may have.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::ng::block::Block;
use crate::ng::code::OPT_END;
use crate::order::Order;

/// One option.
#[derive(Debug)]
pub(crate) struct Opt<'a> {
    /// Code of the option, which depends on the block.
    pub code: u16,
    /// The value without padding.
    pub value: &'a [u8],
    order: Order,
    /// Where it starts in the file.
    pub offset: u64,
}

/// All options at the end of a block, without the end mark. An error is the last item.
pub(crate) fn all<'a>(
    block: &Block<'a>,
    mut rest: &'a [u8],
) -> impl Iterator<Item = Result<Opt<'a>>> {
    std::iter::from_fn(move || next(block, &mut rest).transpose())
}

/// Takes the next option off `rest`.
fn next<'a>(block: &Block<'a>, rest: &mut &'a [u8]) -> Result<Option<Opt<'a>>> {
    if rest.is_empty() {
        return Ok(None);
    }
    let (order, offset) = (block.order, block.place(rest));
    let beyond = || Error::damaged(offset, "option that ends beyond its block");
    let (head, after) = rest.split_at_checked(4).ok_or_else(beyond)?;
    let (code, len) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
    let (padded, after) = after.split_at_checked(len.next_multiple_of(4)).ok_or_else(beyond)?;
    let option = Opt { code, value: &padded[..len], order, offset };
    *rest = after;
    if code == OPT_END {
        // Bytes after the mark are ignored.
        return option.fixed::<0>("opt_endofopt").map(|_| None);
    }
    Ok(Some(option))
}

impl<'a> Opt<'a> {
    /// The value, which must have `N` bytes.
    pub fn fixed<const N: usize>(&self, name: &str) -> Result<[u8; N]> {
        self.value.try_into().map_err(|_| {
            let found = self.value.len();
            Error::damaged(self.offset, format!("option {name} of {found} bytes; it has {N}"))
        })
    }

    /// Reads the value as a 32-bit number.
    pub fn u32(&self, name: &str) -> Result<u32> {
        self.fixed::<4>(name).map(|value| self.order.u32(&value, 0))
    }

    /// Reads the value as a 64-bit number.
    pub fn u64(&self, name: &str) -> Result<u64> {
        self.fixed::<8>(name).map(|value| self.order.u64(&value, 0))
    }

    /// The number after the first byte.
    pub fn tagged_u64(&self, name: &str) -> Result<u64> {
        self.fixed::<9>(name).map(|value| self.order.u64(&value, 1))
    }

    /// The value as text, up to the first NUL. What is not UTF-8 is replaced.
    pub fn text(&self) -> Cow<'a, str> {
        let end = self.value.iter().position(|byte| *byte == 0).unwrap_or(self.value.len());
        String::from_utf8_lossy(&self.value[..end])
    }
}
