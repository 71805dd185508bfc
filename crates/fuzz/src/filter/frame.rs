//! Frames of headers in any order, with fields, lengths and ends that the input chooses.

use arbitrary::{Result, Unstructured};

/// Longest frame.
const MOST: usize = 512;

/// A frame of up to six headers, perhaps changed in a few bytes and cut.
pub fn frame(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut frame = Vec::new();
    ethernet(input, &mut frame)?;
    for _ in 0..input.int_in_range(0..=6)? {
        header(input, &mut frame)?;
    }
    let payload = usize::from(input.arbitrary::<u8>()?).min(input.len());
    frame.extend_from_slice(input.bytes(payload)?);
    frame.truncate(MOST);
    for _ in 0..input.int_in_range(0..=3)? {
        let at = input.choose_index(frame.len())?;
        frame[at] = input.arbitrary()?;
    }
    if input.ratio(1, 3)? {
        frame.truncate(input.int_in_range(0..=frame.len())?);
    }
    // What is shorter than an Ethernet header never reaches a program.
    frame.resize(frame.len().max(14), 0);
    Ok(frame)
}

fn ethernet(input: &mut Unstructured<'_>, frame: &mut Vec<u8>) -> Result<()> {
    frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    let kinds = [0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x8864, 0x8847, 0x0900];
    frame.extend(input.choose(&kinds)?.to_be_bytes());
    Ok(())
}

fn header(input: &mut Unstructured<'_>, frame: &mut Vec<u8>) -> Result<()> {
    let byte: u8 = input.arbitrary()?;
    match input.int_in_range(0..=10)? {
        0 | 1 => ipv4(input, frame)?,
        2 | 3 => ipv6(input, frame)?,
        4 => frame.extend([0, byte & 7, 8, 0]),
        5 => frame.extend([0, byte, 0, byte & 80, 0, 8 + (byte & 31), 0, 0]),
        6 => frame.extend([
            0,
            byte,
            0,
            80,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            0,
            (byte & 0xf0) | 0x50,
            byte & 0x3f,
            0,
            9,
            0,
            0,
            0,
            0,
        ]),
        7 => frame.extend([input.arbitrary::<u8>()? % 64, byte & 3, 0, 0, 0, 0, 0, 0]),
        8 => frame.extend([byte & 0xb0, 0, if byte & 1 == 0 { 8 } else { 0x86 }, 0]),
        9 => frame.extend([0, byte, 0x11 | (byte & 1), 0xff]),
        _ => ethernet(input, frame)?,
    }
    Ok(())
}

const PROTOCOLS: [u8; 14] = [17, 6, 1, 58, 4, 41, 47, 0, 43, 44, 60, 51, 132, 137];

fn ipv4(input: &mut Unstructured<'_>, frame: &mut Vec<u8>) -> Result<()> {
    let words = if input.ratio(1, 4)? { input.int_in_range(0..=15)? } else { 5u8 };
    let length = if input.ratio(1, 3)? { input.arbitrary()? } else { 60u16 };
    let fragment = *input.choose(&[0u16, 0, 0, 0x4000, 0x2000, 0x2001, 0x0005])?;
    let mut header = vec![0x40 | words, input.arbitrary()?];
    header.extend(length.to_be_bytes());
    header.extend([0, 1]);
    header.extend(fragment.to_be_bytes());
    header.extend([input.arbitrary()?, *input.choose(&PROTOCOLS)?, 0, 0]);
    for _ in 0..2 {
        header.extend([10, 0, input.int_in_range(0..=3)?, input.int_in_range(0..=3)?]);
    }
    let options = [1u8, 7, 0x83, 0x44];
    for _ in 5..words.max(5) {
        header.extend([*input.choose(&options)?, 4, 4, 0]);
    }
    frame.extend(header);
    Ok(())
}

fn ipv6(input: &mut Unstructured<'_>, frame: &mut Vec<u8>) -> Result<()> {
    let length = if input.ratio(1, 3)? { input.arbitrary()? } else { 40u16 };
    frame.extend([0x60, 0, 0, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([*input.choose(&PROTOCOLS)?, input.arbitrary()?]);
    for _ in 0..2 {
        let mut address = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        address[5] = input.int_in_range(0..=3)?;
        address[15] = input.int_in_range(0..=3)?;
        frame.extend(address);
    }
    for _ in 0..input.int_in_range(0..=3)? {
        let kind = *input.choose(&PROTOCOLS)?;
        frame.extend([kind, 0, input.arbitrary()?, input.arbitrary()?, 0, 0, 0, 1]);
    }
    Ok(())
}
