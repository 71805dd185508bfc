//! The datagrams of `docs/balance-sync.md`: fixed-width fields in network order.

use super::seal::{Key, TAG};

/// Bytes of the largest datagram: it fits the smallest MTU of IPv6 (RFC 8200).
pub const LARGEST: usize = 1232;
/// Lines of the largest memory of flows.
const MOST_LINES: u32 = 1 << 22;

/// Why a datagram is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refused {
    /// Shorter than a header and a tag, or of another length than it states.
    Length,
    /// The version is another one.
    Version,
    /// The tag is not that of the key: forged, damaged, or another key.
    Tag,
    /// Authentic, but not a valid message.
    Malformed,
    /// Sent by this process.
    Reflected,
    /// For or from another session: of an earlier process here or there.
    Session,
    /// The sequence number was received already, or is too old.
    Replayed,
    /// From an address that is not a peer's.
    Stranger,
}

impl Refused {
    pub const ALL: [Self; 8] = [
        Self::Length,
        Self::Version,
        Self::Tag,
        Self::Malformed,
        Self::Reflected,
        Self::Session,
        Self::Replayed,
        Self::Stranger,
    ];

    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Version => "version",
            Self::Tag => "tag",
            Self::Malformed => "malformed",
            Self::Reflected => "reflected",
            Self::Session => "session",
            Self::Replayed => "replayed",
            Self::Stranger => "stranger",
        }
    }
}

/// What each datagram begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Random number of the process that sent it.
    pub sender: u64,
    /// Random number of the process that it is for; 0 while unknown.
    pub receiver: u64,
    pub sequence: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Hello(Hello),
    Want(Want),
    Cells(Cells),
    History(History),
    End(End),
}

/// A sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// What the receiver must return to have its session accepted.
    pub challenge: u64,
    /// The challenge of the receiver's hello; 0 for none.
    pub echo: u64,
    /// Lines of the sender's memory of flows.
    pub lines: u32,
}

/// A request for a part of the sender's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Returned in what answers it.
    pub id: u32,
    pub what: Item,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Flows from this line on.
    Cells { line: u32 },
    /// Backends that slots of a service had, from a slot on; those which are as in the table with
    /// this digest are left out.
    History { service: u32, slot: u32, digest: u64 },
}

/// A backend as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Identifier of the service.
    pub service: u32,
    /// IPv4 is mapped into IPv6.
    pub address: [u8; 16],
}

/// Flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// Number of the request; 0 for what changed.
    pub id: u32,
    pub lines: u32,
    pub backends: Vec<Name>,
    pub cells: Vec<CellEntry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellEntry {
    pub line: u32,
    pub tag: u32,
    pub kind: u8,
    pub age: u16,
    /// In `backends`.
    pub backend: u16,
}

/// Backends that slots had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub id: u32,
    pub backends: Vec<Name>,
    /// Slot, and index in `backends`.
    pub slots: Vec<(u16, u16)>,
}

/// The end of the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub id: u32,
    /// Line or slot to continue with; [`DONE`] after the last one.
    pub next: u32,
    /// Datagrams of the answer before this one.
    pub datagrams: u32,
}

/// No more follows.
pub const DONE: u32 = u32::MAX;

impl Cells {
    /// Adds a flow; `false` if the datagram is full.
    pub fn push(&mut self, name: Name, mut entry: CellEntry) -> bool {
        let used = (self.backends.len(), self.cells.len());
        let Some(index) = index(&mut self.backends, name, |backends| {
            LISTS + backends * NAME + (used.1 + 1) * CELL <= BODY
        }) else {
            return false;
        };
        entry.backend = index;
        self.cells.push(entry);
        true
    }
}

impl History {
    /// Adds a slot; `false` if the datagram is full.
    pub fn push(&mut self, slot: u16, name: Name) -> bool {
        let used = self.slots.len();
        let Some(index) = index(&mut self.backends, name, |backends| {
            LISTS + backends * NAME + (used + 1) * SLOT <= BODY
        }) else {
            return false;
        };
        self.slots.push((slot, index));
        true
    }
}

/// The index of a backend, which is added if there is space.
fn index(all: &mut Vec<Name>, name: Name, fits: impl Fn(usize) -> bool) -> Option<u16> {
    let known = all.iter().rposition(|one| *one == name);
    if !fits(all.len() + usize::from(known.is_none())) {
        return None;
    }
    Some(known.unwrap_or_else(|| {
        all.push(name);
        all.len() - 1
    }) as u16)
}

/// The datagram of a message.
#[must_use]
pub fn seal(key: &Key, header: Header, message: &Message) -> Vec<u8> {
    let mut out = Vec::with_capacity(LARGEST);
    out.extend([VERSION, kind(message), 0, 0, 0, 0, 0, 0]);
    for word in [header.sender, header.receiver, header.sequence] {
        out.extend(word.to_be_bytes());
    }
    body(&mut out, message);
    let length = (out.len() + TAG) as u16;
    out[2..4].copy_from_slice(&length.to_be_bytes());
    out.extend(key.tag(&out));
    out
}

/// Checks a datagram's tag, and reads it.
///
/// # Errors
/// It is not authentic, or malformed.
pub fn open(key: &Key, bytes: &[u8]) -> Result<(Header, Message), Refused> {
    if bytes.len() < HEADER + TAG || bytes.len() > LARGEST {
        return Err(Refused::Length);
    }
    if bytes[0] != VERSION {
        return Err(Refused::Version);
    }
    if usize::from(u16::from_be_bytes([bytes[2], bytes[3]])) != bytes.len() {
        return Err(Refused::Length);
    }
    let (signed, tag) = bytes.split_at(bytes.len() - TAG);
    if !key.is_tag(signed, tag) {
        return Err(Refused::Tag);
    }
    read(signed).ok_or(Refused::Malformed)
}

/// Reads a datagram without its tag.
#[must_use]
pub fn read(signed: &[u8]) -> Option<(Header, Message)> {
    let mut reader = Reader(signed);
    let [_version, kind, ..] = reader.take::<8>()?;
    let header = Header { sender: reader.u64()?, receiver: reader.u64()?, sequence: reader.u64()? };
    let message = match kind {
        1 => Message::Hello(reader.hello()?),
        2 => Message::Want(reader.want()?),
        3 => Message::Cells(reader.cells()?),
        4 => Message::History(reader.history()?),
        5 => Message::End(End { id: reader.u32()?, next: reader.u32()?, datagrams: reader.u32()? }),
        _ => return None,
    };
    reader.0.is_empty().then_some((header, message))
}

const fn kind(message: &Message) -> u8 {
    match message {
        Message::Hello(_) => 1,
        Message::Want(_) => 2,
        Message::Cells(_) => 3,
        Message::History(_) => 4,
        Message::End(_) => 5,
    }
}

fn body(out: &mut Vec<u8>, message: &Message) {
    match message {
        Message::Hello(Hello { challenge, echo, lines }) => {
            out.extend(challenge.to_be_bytes());
            out.extend(echo.to_be_bytes());
            out.extend(lines.to_be_bytes());
        }
        Message::Want(Want { id, what }) => {
            let (what, service, from, digest) = match *what {
                Item::Cells { line } => (1_u32, 0, line, 0),
                Item::History { service, slot, digest } => (2, service, slot, digest),
            };
            [*id, what, service, from].iter().for_each(|word| out.extend(word.to_be_bytes()));
            out.extend(digest.to_be_bytes());
        }
        Message::Cells(Cells { id, lines, backends, cells }) => {
            lists(out, [*id, *lines], backends, cells.len());
            for one in cells {
                out.extend(one.line.to_be_bytes());
                out.extend(one.tag.to_be_bytes());
                out.extend((u16::from(one.kind) << 14 | one.age).to_be_bytes());
                out.extend(one.backend.to_be_bytes());
            }
        }
        Message::History(History { id, backends, slots }) => {
            lists(out, [*id, 0], backends, slots.len());
            for (slot, index) in slots {
                out.extend(slot.to_be_bytes());
                out.extend(index.to_be_bytes());
            }
        }
        Message::End(End { id, next, datagrams }) => {
            [id, next, datagrams].iter().for_each(|word| out.extend(word.to_be_bytes()));
        }
    }
}

fn lists(out: &mut Vec<u8>, words: [u32; 2], backends: &[Name], entries: usize) {
    words.iter().for_each(|word| out.extend(word.to_be_bytes()));
    out.extend((backends.len() as u16).to_be_bytes());
    out.extend((entries as u16).to_be_bytes());
    for name in backends {
        out.extend(name.service.to_be_bytes());
        out.extend(name.address);
    }
}

/// What is left of a datagram.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn lines(&mut self) -> Option<u32> {
        self.u32().filter(|lines| lines.is_power_of_two() && *lines <= MOST_LINES)
    }

    fn hello(&mut self) -> Option<Hello> {
        Some(Hello { challenge: self.u64()?, echo: self.u64()?, lines: self.lines()? })
    }

    fn want(&mut self) -> Option<Want> {
        let (id, what) = (self.u32()?, self.u32()?);
        let (service, from, digest) = (self.u32()?, self.u32()?, self.u64()?);
        let what = match what {
            1 if from < MOST_LINES => Item::Cells { line: from },
            2 if from <= 0xffff => Item::History { service, slot: from, digest },
            _ => return None,
        };
        Some(Want { id, what })
    }

    fn names(&mut self, count: u16) -> Option<Vec<Name>> {
        let name = |_| Some(Name { service: self.u32()?, address: self.take()? });
        (0..count).map(name).collect()
    }

    fn cells(&mut self) -> Option<Cells> {
        let (id, lines) = (self.u32()?, self.lines()?);
        let (backends, cells) = (self.u16()?, self.u16()?);
        let names = self.names(backends)?;
        let cell = |_| {
            let (line, tag, meta, backend) = (self.u32()?, self.u32()?, self.u16()?, self.u16()?);
            let entry =
                CellEntry { line, tag, kind: (meta >> 14) as u8, age: meta & 0x3fff, backend };
            (line < lines && backend < backends).then_some(entry)
        };
        let cells = (0..cells).map(cell).collect::<Option<_>>()?;
        Some(Cells { id, lines, backends: names, cells })
    }

    fn history(&mut self) -> Option<History> {
        let (id, _zero) = (self.u32()?, self.u32()?);
        let (backends, slots) = (self.u16()?, self.u16()?);
        let names = self.names(backends)?;
        let slot = |_| {
            let (slot, index) = (self.u16()?, self.u16()?);
            (index < backends).then_some((slot, index))
        };
        let slots = (0..slots).map(slot).collect::<Option<_>>()?;
        Some(History { id, backends: names, slots })
    }
}

const VERSION: u8 = 1;
const HEADER: usize = 32;
/// Bytes for a body.
const BODY: usize = LARGEST - HEADER - TAG;
/// Bytes of a body with lists before them.
const LISTS: usize = 12;
const NAME: usize = 20;
const CELL: usize = 12;
const SLOT: usize = 4;
