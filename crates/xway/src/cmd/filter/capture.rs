//! `Capture`: packets of a filter, as a pcapng file.

use std::path::Path;

use anyhow::Result;
use control::capture::{CaptureWriter, Rotation};
use filter::runtime::samples::Sample;
use filter::runtime::trial::ChangedPacket;
use pcap::PacketRef;

use crate::cmd::folder;

#[derive(Debug)]
pub struct Capture(CaptureWriter);

impl Capture {
    /// Creates a capture of packets that this interface received.
    pub fn create(path: &Path, interface: &str) -> Result<Self> {
        let rotation = Rotation::default();
        folder::begin_capture(path, &[interface.to_owned()], "xway filter", rotation, None)
            .map(Self)
    }

    /// Writes a packet with the verdict that it got.
    pub fn write(&mut self, changed: &ChangedPacket) -> Result<()> {
        Ok(self.0.write(PacketRef {
            timestamp_ns: changed.time_ns,
            original_len: changed.length,
            data: &changed.bytes,
            verdict: Some((changed.old.verdict as u32).into()),
            ..PacketRef::default()
        })?)
    }

    /// Writes a packet with its verdict and queue, and the rule that decided as a comment.
    pub fn write_sample(&mut self, sample: &Sample, comment: &str) -> Result<()> {
        Ok(self.0.write(PacketRef {
            timestamp_ns: sample.time_ns,
            original_len: sample.length,
            data: &sample.bytes,
            verdict: Some((sample.verdict as u32).into()),
            queue: Some(sample.queue),
            comment: Some(comment),
            ..PacketRef::default()
        })?)
    }

    pub fn finish(self) -> Result<()> {
        Ok(self.0.finish()?)
    }
}
