//! Reading either format as a stream of packets.
//!
//! Rule: after the end or an error there is nothing more. Not here: the formats themselves
//! (`classic`, `ng`).

use std::io::Read;

use crate::classic::Classic;
use crate::error::Result;
use crate::interface::Interface;
use crate::ng::Ng;
use crate::packet::Packet;
use crate::source::Source;

/// Which format a capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Pcap,
    Pcapng,
}

/// Reads packets from a stream, in the order of the file. It has a buffer: pass the bare file.
///
/// An iterator of owned packets; [`Reader::next_into`] uses one packet again and again instead.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    state: State,
    interfaces: Vec<Interface>,
    done: bool,
}

#[derive(Debug)]
enum State {
    Classic(Classic),
    Ng(Ng),
}

impl<R: Read> Reader<R> {
    /// Reads the file's header.
    ///
    /// # Errors
    /// `Error::NotCapture`, `Error::Unsupported` for formats that are known but not read, and all
    /// that reading packets may give.
    pub fn new(input: R) -> Result<Self> {
        let mut source = Source::new(input);
        let mut interfaces = Vec::new();
        let magic = source.peek(4)?;
        let state = if Ng::recognizes(magic) {
            State::Ng(Ng::open(&mut source)?)
        } else {
            let (classic, interface) = Classic::open(&mut source)?;
            interfaces.push(interface);
            State::Classic(classic)
        };
        Ok(Self { source, state, interfaces, done: false })
    }

    /// The file format, which the first bytes determine.
    pub fn format(&self) -> Format {
        match self.state {
            State::Classic(_) => Format::Pcap,
            State::Ng(_) => Format::Pcapng,
        }
    }

    /// The interfaces described so far: pcapng may describe more between packets, but never after
    /// the first packet that refers to it.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Bytes of the stream that the packets given so far, and what lies between them, took.
    pub fn bytes_read(&self) -> u64 {
        self.source.offset()
    }

    /// Reads the next packet over `packet`, whose buffer is kept. `false` at the end of the
    /// capture.
    ///
    /// # Errors
    /// `Error::Truncated` when the stream ends inside a record: what came before is whole.
    /// `Error::Damaged`, `Error::TooBig`, `Error::Unsupported` or `Error::Read` else.
    /// After an error the capture counts as ended, and `packet` is unspecified.
    pub fn next_into(&mut self, packet: &mut Packet) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        let answer = match &mut self.state {
            State::Classic(classic) => classic.next_into(&mut self.source, packet),
            State::Ng(ng) => ng.next_into(&mut self.source, &mut self.interfaces, packet),
        };
        self.done = !matches!(answer, Ok(true));
        answer
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Packet>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut packet = Packet::default();
        self.next_into(&mut packet).map(|more| more.then_some(packet)).transpose()
    }
}
