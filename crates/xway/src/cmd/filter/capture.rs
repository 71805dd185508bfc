//! `Capture`: packets of a filter, as a pcapng file.
//!
//! Rule: the file gets its name when it is complete.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use control::folder::NewFile;
use filter::runtime::samples::Sample;
use filter::runtime::trial::ChangedPacket;
use pcap::{LinkType, Options, Packet, Writer};

use crate::cmd::folder;

#[derive(Debug)]
pub struct Capture {
    file: NewFile,
    writer: Writer<File>,
    /// Difference between the real-time clock and the monotonic clock, in nanoseconds.
    ahead_ns: u64,
}

impl Capture {
    /// Creates a capture of packets that this interface received.
    pub fn create(path: &Path, interface: &str) -> Result<Self> {
        let file = folder::begin(path)?;
        let shown = || format!("cannot write {}", path.display());
        let options = Options { application: Some("xway filter".to_owned()), ..Options::default() };
        let mut writer = Writer::pcapng(file.writer()?, &options).with_context(shown)?;
        writer.interface(interface, LinkType::ETHERNET).with_context(shown)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let ahead_ns = (now.as_nanos() as u64).saturating_sub(sys::thread::monotonic_ns());
        Ok(Self { file, writer, ahead_ns })
    }

    /// Writes a packet with the verdict that it got.
    pub fn write(&mut self, changed: &ChangedPacket) -> Result<()> {
        self.put(Packet {
            timestamp_ns: self.ahead_ns + changed.time_ns,
            original_len: changed.length,
            data: changed.bytes.clone(),
            verdict: Some((changed.old.verdict as u32).into()),
            ..Packet::default()
        })
    }

    /// Writes a packet with its verdict and queue, and the rule that decided as a comment.
    pub fn write_sample(&mut self, sample: &Sample, comment: String) -> Result<()> {
        self.put(Packet {
            timestamp_ns: self.ahead_ns + sample.time_ns,
            original_len: sample.length,
            data: sample.bytes.clone(),
            verdict: Some((sample.verdict as u32).into()),
            queue: Some(sample.queue),
            comment: Some(comment),
            ..Packet::default()
        })
    }

    fn put(&mut self, packet: Packet) -> Result<()> {
        self.writer.write(&packet).with_context(|| self.file.path().display().to_string())
    }

    pub fn finish(self) -> Result<()> {
        let Self { file, writer, .. } = self;
        writer.finish().with_context(|| file.path().display().to_string())?;
        file.keep()?;
        Ok(())
    }
}
