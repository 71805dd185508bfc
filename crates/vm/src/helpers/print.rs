//! Helpers that print: into a buffer, into the machine's trace log, into a program's stream.

use spec::asm::Helper;

use super::format::Print;
use super::{HelperRow, KfuncRow, helper_row, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;
use crate::services::TraceLine;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::TRACE_PRINTK, trace),
    helper_row(Helper::TRACE_VPRINTK, trace_many),
    helper_row(Helper::SNPRINTF, into_buffer),
];

pub(super) const KFUNCS: &[KfuncRow] = &[kfunc_row("bpf_stream_vprintk_impl", into_stream)];

fn trace(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let format = read_format(processor, "bpf_trace_printk", 1, args[0], args[1] as u32)?;
    Ok(log(processor, &format, &args[2..]))
}

fn trace_many(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_trace_vprintk";
    let [format, len, data, data_len, _] = *args;
    let Some(arguments) = print_arguments(processor, NAME, 3, data, data_len as u32)? else {
        return Ok(Errno::EINVAL.in_r0());
    };
    let format = read_format(processor, NAME, 1, format, len as u32)?;
    Ok(log(processor, &format, &arguments))
}

fn into_buffer(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_snprintf";
    let [into, len, format, data, data_len] = *args;
    let len = len as u32 as usize;
    processor.check_argument(NAME, 1, (into, len, true))?;
    let Some(arguments) = print_arguments(processor, NAME, 4, data, data_len as u32)? else {
        return Ok(Errno::EINVAL.in_r0());
    };
    let format = constant_string(processor, NAME, 3, format)?;
    let text = match print(processor, format.as_deref(), &arguments) {
        Ok(text) => text,
        Err(errno) => return Ok(errno.in_r0()),
    };
    let mut shown = text[..text.len().min(len.saturating_sub(1))].to_vec();
    shown.push(0);
    let shown = &shown[..shown.len().min(len)];
    let written = processor.memory.write(into, shown);
    written.map_err(|refused| processor.bad_memory(NAME, 1, (into, len, true))(refused))?;
    Ok(text.len() as u64 + 1)
}

/// Streams are the program's standard output (1) and error (2); both go to the trace log.
fn into_stream(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_stream_vprintk_impl";
    let [stream, format, data, data_len, _] = *args;
    if !matches!(stream as u32, 1 | 2) {
        return Ok(int(Errno::ENOENT));
    }
    let Some(arguments) = print_arguments(processor, NAME, 3, data, data_len as u32)? else {
        return Ok(int(Errno::EINVAL));
    };
    let format = constant_string(processor, NAME, 2, format)?;
    let answer = log_text(processor, format.as_deref(), &arguments);
    Ok(answer.map_or_else(int, |_| 0))
}

/// Prints into the log; returns r0.
fn log(processor: &Processor, format: &[u8], arguments: &[u64]) -> u64 {
    let end = format.iter().position(|byte| *byte == 0);
    let answer = log_text(processor, end.map(|end| &format[..end]), arguments);
    answer.map_or_else(Errno::in_r0, |len| len as u64)
}

fn log_text(
    processor: &Processor,
    format: Option<&[u8]>,
    arguments: &[u64],
) -> Result<usize, Errno> {
    let text = print(processor, format, arguments)?;
    // Longer text is cut, but the result is the full length.
    let shown = &text[..text.len().min(LONGEST - 1)];
    processor.shared.services.log().push(TraceLine {
        cpu: processor.cpu,
        time_ns: processor.now_ns(),
        text: String::from_utf8_lossy(shown).into_owned(),
    });
    Ok(text.len())
}

/// The text of a format; an unterminated format (`None`) is an error.
fn print(
    processor: &Processor,
    format: Option<&[u8]>,
    arguments: &[u64],
) -> Result<Vec<u8>, Errno> {
    let format = format.ok_or(Errno::EINVAL)?;
    let mut text = Vec::new();
    Print { format, arguments }.run(&processor.memory, &mut text)?;
    Ok(text)
}

fn read_format(
    processor: &mut Processor,
    function: &str,
    argument: u8,
    address: u64,
    len: u32,
) -> Result<Vec<u8>, Box<Fault>> {
    let len = (len as usize).min(LONGEST);
    Ok(processor.argument(function, argument, address, len)?.to_vec())
}

/// A string that ends with a zero; `None` if no zero follows within the limit.
fn constant_string(
    processor: &Processor,
    function: &str,
    argument: u8,
    address: u64,
) -> Result<Option<Vec<u8>>, Box<Fault>> {
    let mut text = Vec::new();
    for at in 0..LONGEST as u64 {
        match processor.load_u8(function, argument, address.wrapping_add(at))? {
            0 => return Ok(Some(text)),
            byte => text.push(byte),
        }
    }
    Ok(None)
}

/// The words of an argument array; `None` for a length that the kernel refuses.
fn print_arguments(
    processor: &mut Processor,
    function: &str,
    argument: u8,
    data: u64,
    len: u32,
) -> Result<Option<Vec<u64>>, Box<Fault>> {
    if !len.is_multiple_of(8) || len > ARGUMENTS * 8 || len != 0 && data == 0 {
        return Ok(None);
    }
    let bytes = processor.argument(function, argument, data, len as usize)?;
    let words = bytes
        .chunks_exact(8)
        .map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    Ok(Some(words.collect()))
}

/// Bytes of the kernel's buffer for one line.
const LONGEST: usize = 1024;
/// The kernel's `MAX_BPRINTF_VARARGS`.
const ARGUMENTS: u32 = 12;
