//! Writing pcapng. Layout: the reading side, `crate::ng`.

use crate::error::{Error, Result};
use crate::interface::LinkType;
use crate::limits::MAX_NAME;
use crate::ng::block::FRAME;
use crate::ng::code;
use crate::packet::PacketRef;
use crate::writer::{Options, original_len};

/// Nanoseconds: 10^-9 seconds.
const RESOLUTION: u8 = 9;

pub(crate) fn section(out: &mut Vec<u8>, options: &Options) -> Result<()> {
    begin(out, code::SECTION);
    out.extend(code::BYTE_ORDER.to_le_bytes());
    // Version 1.0.
    out.extend([1, 0, 0, 0]);
    // A stream does not know the length of its section.
    out.extend(u64::MAX.to_le_bytes());
    let start = out.len();
    for (code, value) in [
        (code::OPT_COMMENT, &options.comment),
        (code::SHB_HARDWARE, &options.hardware),
        (code::SHB_OS, &options.os),
        (code::SHB_APPLICATION, &options.application),
    ] {
        if let Some(value) = value {
            text(out, code, value)?;
        }
    }
    finish(out, start);
    Ok(())
}

pub(crate) fn interface(out: &mut Vec<u8>, name: &str, link_type: LinkType) -> Result<()> {
    if name.len() > MAX_NAME {
        let len = name.len();
        let what = format!("interface with a name of {len} bytes; {MAX_NAME} at most are read");
        return Err(Error::unwritable(what));
    }
    begin(out, code::INTERFACE);
    out.extend(link_type.0.to_le_bytes());
    out.extend([0; 2]);
    // No limit to the length of packets.
    out.extend([0; 4]);
    let start = out.len();
    text(out, code::IF_NAME, name)?;
    option(out, code::IF_TSRESOL, &[RESOLUTION]);
    finish(out, start);
    Ok(())
}

pub(crate) fn packet(out: &mut Vec<u8>, packet: &PacketRef<'_>) -> Result<()> {
    begin(out, code::ENHANCED);
    // Below `MAX_INTERFACES` and `MAX_PACKET`, as `Writer::write` checked.
    out.extend((packet.interface as u32).to_le_bytes());
    out.extend(((packet.timestamp_ns >> 32) as u32).to_le_bytes());
    out.extend((packet.timestamp_ns as u32).to_le_bytes());
    out.extend((packet.data.len() as u32).to_le_bytes());
    out.extend(original_len(packet).to_le_bytes());
    out.extend_from_slice(packet.data);
    pad(out);
    let start = out.len();
    if let Some(comment) = packet.comment {
        text(out, code::OPT_COMMENT, comment)?;
    }
    if let Some(flags) = packet.flags {
        option(out, code::EPB_FLAGS, &flags.to_le_bytes());
    }
    if let Some(dropped) = packet.dropped {
        option(out, code::EPB_DROPCOUNT, &dropped.to_le_bytes());
    }
    if let Some(id) = packet.id {
        option(out, code::EPB_PACKETID, &id.to_le_bytes());
    }
    if let Some(queue) = packet.queue {
        option(out, code::EPB_QUEUE, &queue.to_le_bytes());
    }
    if let Some(verdict) = packet.verdict {
        let mut value = [code::VERDICT_XDP; 9];
        value[1..].copy_from_slice(&verdict.to_le_bytes());
        option(out, code::EPB_VERDICT, &value);
    }
    finish(out, start);
    Ok(())
}

/// A block's head; `finish` fills its length in.
fn begin(out: &mut Vec<u8>, kind: u32) {
    assert!(out.is_empty(), "one block at a time");
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
}

/// Ends the options that started at `start`, if there are any, and the block.
fn finish(out: &mut Vec<u8>, start: usize) {
    if out.len() > start {
        option(out, code::OPT_END, &[]);
    }
    // Eight bytes of the frame are there already. Data and options are bounded far below 4 GiB.
    let total = ((out.len() + FRAME - 8) as u32).to_le_bytes();
    out.extend(total);
    out[4..8].copy_from_slice(&total);
}

fn text(out: &mut Vec<u8>, code: u16, value: &str) -> Result<()> {
    if value.contains('\0') {
        return Err(Error::unwritable(format!("text with NUL: {value:?}")));
    }
    if value.len() > usize::from(u16::MAX) {
        let what = format!("text of {} bytes; pcapng holds 65535 at most", value.len());
        return Err(Error::unwritable(what));
    }
    option(out, code, value.as_bytes());
    Ok(())
}

/// Callers give at most 65535 bytes.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}
