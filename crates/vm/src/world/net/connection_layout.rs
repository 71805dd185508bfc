//! Positions of the fields of `struct nf_conn` in an object's own types.
//!
//! Programs bring a description of the kernel's structure, whole or in part, and their loads were
//! relocated to it; connections are therefore laid out accordingly.

use spec::btf::{Btf, Kind, Type};

/// Offsets of the supported fields; `None` for fields that the object lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionLayout {
    pub status: Option<u32>,
    pub mark: Option<u32>,
    pub timeout: Option<u32>,
    /// Endpoints of packets in the original direction, and in the reply direction.
    pub tuples: [Option<TupleLayout>; 2],
    /// State of a TCP connection, one byte.
    pub tcp_state: Option<u32>,
}

/// Offsets of the endpoints of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TupleLayout {
    pub from: EndLayout,
    pub to: EndLayout,
}

/// Offsets of an address, with space for 16 bytes, and of its port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndLayout {
    pub address: u32,
    pub port: u32,
}

impl ConnectionLayout {
    /// The layout in these types. Fields that end after `room` bytes are omitted.
    pub fn of(types: Option<&Btf>, room: u64) -> Self {
        let Some(types) = types else { return Self::default() };
        let found = types.find(Kind::Struct, "nf_conn").and_then(|id| types.ty(id));
        let Some(found) = found else { return Self::default() };
        let fits = |at: &u32, size: u64| u64::from(*at) + size <= room;
        let at =
            |name: &str| field(types, found, 0, &[name]).map(|(at, _)| at).filter(|at| fits(at, 8));
        let tuple = |number| tuple(types, found, number);
        let tuple = |number| {
            tuple(number).filter(|tuple: &TupleLayout| {
                [tuple.from, tuple.to]
                    .iter()
                    .all(|end| fits(&end.address, 16) && fits(&end.port, 2))
            })
        };
        let state = field(types, found, 0, &["proto", "tcp", "state"]).map(|(at, _)| at);
        Self {
            status: at("status"),
            mark: at("mark"),
            timeout: at("timeout"),
            tuples: [tuple(0), tuple(1)],
            tcp_state: state.filter(|at| fits(at, 1)),
        }
    }
}

fn tuple(types: &Btf, connection: Type<'_>, number: u32) -> Option<TupleLayout> {
    let (start, array) = field(types, connection, 0, &["tuplehash"])?;
    let element = array.array().filter(|array| number < array.count)?.element;
    let start = start.checked_add(number.checked_mul(types.size_of(element)?.try_into().ok()?)?)?;
    let (start, tuple) = field(types, types.resolve(element)?, start, &["tuple"])?;
    let end = |name: &str| {
        let (address, _) = field(types, tuple, start, &[name, "u3"])?;
        let (port, _) = field(types, tuple, start, &[name, "u"])?;
        Some(EndLayout { address, port })
    };
    Some(TupleLayout { from: end("src")?, to: end("dst")? })
}

/// The field at the end of a path, and its offset after `start`.
fn field<'a>(
    types: &'a Btf,
    within: Type<'a>,
    start: u32,
    path: &[&str],
) -> Option<(u32, Type<'a>)> {
    path.iter().try_fold((start, within), |(start, within), name| {
        let member = within.members().find(|member| member.name == *name)?;
        Some((start.checked_add(member.bit_offset / 8)?, types.resolve(member.type_id)?))
    })
}
