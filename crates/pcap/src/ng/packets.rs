//! The three blocks that hold packets.
//!
//! ```text
//! enhanced  interface:32 time_high:32 time_low:32 captured:32 original:32 data options
//! old       interface:16 drops:16 time_high:32 time_low:32 captured:32 original:32 data options
//! simple    original:32 data       of the section's first interface, cut at its snaplen
//! ```
//! Data is padded to 4 bytes.

use crate::error::{Error, Result};
use crate::limits::MAX_PACKET;
use crate::ng::block::Block;
use crate::ng::code::{
    EPB_DROPCOUNT, EPB_FLAGS, EPB_PACKETID, EPB_QUEUE, EPB_VERDICT, OPT_COMMENT, VERDICT_XDP,
};
use crate::ng::options::{self, Opt};
use crate::ng::{Ng, Sight};
use crate::packet::Packet;

/// Bytes of an enhanced and of an old block before the data.
const FIXED: usize = 20;
/// The old block's word for an unknown number of drops.
const DROPS_UNKNOWN: u16 = 0xffff;

pub(crate) fn enhanced(ng: &Ng, block: &Block<'_>, packet: &mut Packet) -> Result<()> {
    let (fixed, _) = block.split(FIXED, "packet block")?;
    let interface = block.order.u32(fixed, 0);
    let rest = timed(ng, block, interface, packet)?;
    for option in options::all(block, rest) {
        enhanced_option(&option?, packet)?;
    }
    Ok(())
}

fn enhanced_option(option: &Opt<'_>, packet: &mut Packet) -> Result<()> {
    match option.code {
        EPB_DROPCOUNT => packet.dropped = Some(option.u64("epb_dropcount")?),
        EPB_PACKETID => packet.id = Some(option.u64("epb_packetid")?),
        EPB_QUEUE => packet.queue = Some(option.u32("epb_queue")?),
        // Hardware and TC have verdicts too, which are other numbers.
        EPB_VERDICT if option.value.first() == Some(&VERDICT_XDP) => {
            packet.verdict = Some(option.tagged_u64("epb_verdict of XDP")?);
        }
        EPB_VERDICT if option.value.is_empty() => {
            return Err(Error::damaged(option.offset, "option epb_verdict without a type"));
        }
        _ => common_option(option, packet)?,
    }
    Ok(())
}

pub(crate) fn old(ng: &Ng, block: &Block<'_>, packet: &mut Packet) -> Result<()> {
    let (fixed, _) = block.split(FIXED, "packet block")?;
    let interface = block.order.u16(fixed, 0).into();
    let drops = block.order.u16(fixed, 2);
    let rest = timed(ng, block, interface, packet)?;
    packet.dropped = (drops != DROPS_UNKNOWN).then_some(drops.into());
    options::all(block, rest).try_for_each(|option| common_option(&option?, packet))
}

/// What enhanced and old blocks both may have.
fn common_option(option: &Opt<'_>, packet: &mut Packet) -> Result<()> {
    match option.code {
        EPB_FLAGS => packet.flags = Some(option.u32("epb_flags")?),
        OPT_COMMENT => match &mut packet.comment {
            None => packet.comment = Some(option.text().into_owned()),
            Some(comment) => {
                comment.push('\n');
                comment.push_str(&option.text());
            }
        },
        _ => {}
    }
    Ok(())
}

/// What enhanced and old blocks have in common before the options, which it returns.
fn timed<'a>(ng: &Ng, block: &Block<'a>, interface: u32, packet: &mut Packet) -> Result<&'a [u8]> {
    let (fixed, rest) = block.split(FIXED, "packet block")?;
    let field = |at| block.order.u32(fixed, at);
    let Sight { clock, .. } = ng.sight(interface, block.offset + 8)?;
    let steps = u64::from(field(4)) << 32 | u64::from(field(8));
    let (captured, original) = (field(12), field(16));
    let (data, options) = data(block, rest, captured)?;
    packet.clear();
    packet.interface = ng.index(interface);
    packet.timestamp_ns = clock
        .ns(steps)
        .ok_or_else(|| Error::damaged(block.offset + 12, "timestamp before 1970 or after 2554"))?;
    packet.fill(data, original);
    Ok(options)
}

pub(crate) fn simple(ng: &Ng, block: &Block<'_>, packet: &mut Packet) -> Result<()> {
    let (fixed, rest) = block.split(4, "simple packet block")?;
    let original = block.order.u32(fixed, 0);
    let Sight { snaplen, .. } = ng.sight(0, block.offset)?;
    let captured = if snaplen == 0 { original } else { original.min(snaplen) };
    let (data, _) = data(block, rest, captured)?;
    packet.clear();
    packet.interface = ng.index(0);
    packet.fill(data, original);
    Ok(())
}

/// Splits what follows the fixed fields into data and options.
fn data<'a>(block: &Block<'_>, rest: &'a [u8], captured: u32) -> Result<(&'a [u8], &'a [u8])> {
    let len = captured as usize;
    let offset = block.offset;
    if len > MAX_PACKET {
        let (size, limit) = (captured.into(), MAX_PACKET as u64);
        return Err(Error::TooBig { offset, what: "packet", size, limit });
    }
    let (padded, options) = rest.split_at_checked(len.next_multiple_of(4)).ok_or_else(|| {
        let room = rest.len();
        Error::damaged(offset, format!("packet of {len} bytes in a block with room for {room}"))
    })?;
    Ok((&padded[..len], options))
}
