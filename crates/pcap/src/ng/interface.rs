//! Interface Description Blocks.
//!
//! ```text
//! body    link:16 reserved:16 snaplen:32 options
//! ```

use crate::error::{Error, Result};
use crate::interface::{Interface, LinkType};
use crate::limits::MAX_NAME;
use crate::ng::block::Block;
use crate::ng::clock::{Clock, Unit};
use crate::ng::code::{IF_NAME, IF_TSOFFSET, IF_TSRESOL};
use crate::ng::options;

pub(crate) fn parse(block: &Block<'_>) -> Result<(Interface, Clock)> {
    let (fixed, rest) = block.split(8, "interface description")?;
    let link_type = LinkType(block.order.u16(fixed, 0));
    let snaplen = block.order.u32(fixed, 4);
    let mut interface = Interface { link_type, snaplen, ..Interface::default() };
    let mut clock = Clock::default();
    for option in options::all(block, rest) {
        let option = option?;
        match option.code {
            IF_NAME if option.value.len() > MAX_NAME => {
                let (size, limit) = (option.value.len() as u64, MAX_NAME as u64);
                let what = "name of an interface";
                return Err(Error::TooBig { offset: option.offset, what, size, limit });
            }
            IF_NAME => interface.name = Some(option.text().into_owned()),
            IF_TSRESOL => {
                let [resolution] = option.fixed("if_tsresol")?;
                clock.unit = Unit::new(resolution);
            }
            IF_TSOFFSET => clock.offset_s = option.u64("if_tsoffset")?.cast_signed(),
            _ => {}
        }
    }
    Ok((interface, clock))
}
