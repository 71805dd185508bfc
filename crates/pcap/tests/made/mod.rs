//! Captures made by hand, field by field, in either byte order.

#![allow(dead_code, reason = "each test file uses its own part")]

pub use Order::{Big, Little};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const ORDERS: [Order; 2] = [Little, Big];

/// One number of a header.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    U16(u16),
    U32(u32),
    U64(u64),
    Bytes(&'a [u8]),
}

pub use Field::{Bytes, U16, U32, U64};

pub fn bytes(order: Order, fields: &[Field<'_>]) -> Vec<u8> {
    let number = |mut little: Vec<u8>| {
        if order == Big {
            little.reverse();
        }
        little
    };
    let field = |field: &Field<'_>| match field {
        U16(value) => number(value.to_le_bytes().into()),
        U32(value) => number(value.to_le_bytes().into()),
        U64(value) => number(value.to_le_bytes().into()),
        Bytes(value) => value.to_vec(),
    };
    fields.iter().flat_map(field).collect()
}

/// The header of a pcap file for Ethernet.
pub fn pcap(order: Order, magic: u32) -> Vec<u8> {
    let fields = [U32(magic), U16(2), U16(4), U32(0), U32(0), U32(65_535), U32(1)];
    bytes(order, &fields)
}

/// A whole pcapng block; `body` must be padded.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let total = U32(body.len() as u32 + 12);
    bytes(order, &[U32(kind), total, Bytes(body), total])
}

pub fn section(order: Order, options: &[u8]) -> Vec<u8> {
    let fields = [U32(0x1a2b_3c4d), U16(1), U16(0), U64(u64::MAX), Bytes(options)];
    block(order, 0x0a0d_0d0a, &bytes(order, &fields))
}

pub fn interface(order: Order, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    block(order, 1, &bytes(order, &[U16(link), U16(0), U32(snaplen), Bytes(options)]))
}

pub fn enhanced(order: Order, interface: u32, time: u64, data: &[u8], options: &[u8]) -> Vec<u8> {
    let (high, low) = ((time >> 32) as u32, time as u32);
    let len = U32(data.len() as u32);
    let fixed = [U32(interface), U32(high), U32(low), len, len, Bytes(data)];
    block(order, 6, &[padded(bytes(order, &fixed)), options.to_vec()].concat())
}

pub fn simple(order: Order, original: u32, data: &[u8]) -> Vec<u8> {
    block(order, 3, &padded(bytes(order, &[U32(original), Bytes(data)])))
}

/// One option with its padding.
pub fn option(order: Order, code: u16, value: Field<'_>) -> Vec<u8> {
    let value = bytes(order, &[value]);
    padded(bytes(order, &[U16(code), U16(value.len() as u16), Bytes(&value)]))
}

/// The mark after the last option.
pub const END: [u8; 4] = [0; 4];

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
