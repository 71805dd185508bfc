//! Writing either format as a stream.
//!
//! Rule: equal calls write equal bytes, little-endian, with nanoseconds unless the caller selects
//! microseconds. Nothing about the host is written unless the caller provides it. A rejected packet
//! writes nothing. Not here: the formats themselves (`classic`, `ng`).

mod classic;
mod ng;

use std::io::{BufWriter, Write};

use crate::error::{Error, Result};
use crate::interface::LinkType;
use crate::limits::{CHUNK, MAX_INTERFACES, MAX_PACKET};
use crate::packet::PacketRef;

/// Description of the capture in a pcapng file. All fields are empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Hardware that captured the packets (`shb_hardware`).
    pub hardware: Option<String>,
    /// Operating system that captured the packets (`shb_os`).
    pub os: Option<String>,
    /// Application that wrote the file (`shb_userappl`).
    pub application: Option<String>,
    /// Free text (`opt_comment`).
    pub comment: Option<String>,
}

/// The unit of a pcap file's timestamps. pcapng files are written in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// For readers older than 2013. Times are rounded down.
    Micro,
    #[default]
    Nano,
}

/// Writes packets to a stream through a buffer; [`Writer::finish`] reports whether all were
/// written.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: BufWriter<W>,
    format: Format,
    interfaces: usize,
    /// One record at a time.
    record: Vec<u8>,
    offset: u64,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Pcap(Resolution),
    Pcapng,
}

impl<W: Write> Writer<W> {
    /// Begins a pcapng file, which has no interfaces yet.
    ///
    /// # Errors
    /// [`Error::Unwritable`] for texts with NUL or of more than 65535 bytes, [`Error::Write`].
    pub fn pcapng(output: W, options: &Options) -> Result<Self> {
        let mut writer = Self::new(output, Format::Pcapng, 0);
        ng::section(&mut writer.record, options)?;
        writer.put()?;
        Ok(writer)
    }

    /// Begins a pcap file, whose only interface is 0.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn pcap(output: W, link_type: LinkType, resolution: Resolution) -> Result<Self> {
        let mut writer = Self::new(output, Format::Pcap(resolution), 1);
        classic::header(&mut writer.record, link_type, resolution);
        writer.put()?;
        Ok(writer)
    }

    fn new(output: W, format: Format, interfaces: usize) -> Self {
        let output = BufWriter::with_capacity(CHUNK, output);
        Self { output, format, interfaces, record: Vec::new(), offset: 0 }
    }

    /// Describes one more interface of a pcapng file, at any time, and returns its index. It is
    /// another one even if the name existed before.
    ///
    /// # Errors
    /// [`Error::Unwritable`] for a pcap file, a name with NUL or of more than 1024 bytes, or more
    /// than [`MAX_INTERFACES`]; [`Error::Write`].
    pub fn interface(&mut self, name: &str, link_type: LinkType) -> Result<usize> {
        if matches!(self.format, Format::Pcap(_)) {
            return Err(Error::unwritable("pcap has one interface, without a name; write pcapng"));
        }
        if self.interfaces == MAX_INTERFACES {
            return Err(Error::unwritable(format!("more than {MAX_INTERFACES} interfaces")));
        }
        self.record.clear();
        ng::interface(&mut self.record, name, link_type)?;
        self.put()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// [`Error::Unwritable`] for an interface that was not described, data of more than
    /// [`MAX_PACKET`] bytes, a comment with NUL or of more than 65535 bytes, or in pcap a time
    /// after 2106; [`Error::Write`].
    pub fn write<'a>(&mut self, packet: impl Into<PacketRef<'a>>) -> Result<()> {
        let packet = packet.into();
        if packet.interface >= self.interfaces {
            let PacketRef { interface, .. } = packet;
            let what = format!("packet of interface {interface}; {} exist", self.interfaces);
            return Err(Error::unwritable(what));
        }
        if packet.data.len() > MAX_PACKET {
            let len = packet.data.len();
            let what = format!("packet of {len} bytes; {MAX_PACKET} at most are read again");
            return Err(Error::unwritable(what));
        }
        self.record.clear();
        match self.format {
            Format::Pcap(resolution) => classic::packet(&mut self.record, &packet, resolution)?,
            Format::Pcapng => ng::packet(&mut self.record, &packet)?,
        }
        self.put()
    }

    /// Bytes written so far, buffered ones included.
    pub fn bytes_written(&self) -> u64 {
        self.offset
    }

    /// Flushes the buffer, for readers that follow the file as it grows.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn flush(&mut self) -> Result<()> {
        self.output.flush().map_err(|source| Error::Write { offset: self.offset, source })
    }

    /// Flushes the buffer and returns the stream.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        let offset = self.offset;
        let parts = self.output.into_inner();
        parts.map_err(|error| Error::Write { offset, source: error.into_error() })
    }

    fn put(&mut self) -> Result<()> {
        let written = self.output.write_all(&self.record);
        written.map_err(|source| Error::Write { offset: self.offset, source })?;
        self.offset += self.record.len() as u64;
        Ok(())
    }
}

/// The length of a packet on the wire; its captured length if the caller did not specify one.
fn original_len(packet: &PacketRef<'_>) -> u32 {
    // At most `MAX_PACKET`, as `write` checked.
    packet.original_len.max(packet.data.len() as u32)
}
