//! `CaptureWriter`: packets as pcapng files, one or several.
//!
//! Rule: a file gets its name when it is complete. If the disk is full, the file ends after the
//! last whole packet and is kept.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use pcap::{LinkType, Options, Packet, Writer};
use sys::stdio::is_stdio;

use crate::error::{Context as _, Error, Result};
use crate::folder::NewFile;

/// When another file begins, which has a number in its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes of a file; `None` for any number.
    pub size: Option<u64>,
    /// Time of a file; `None` for any time.
    pub time: Option<Duration>,
    /// The newest files that are kept; `None` for all.
    pub files: Option<usize>,
}

impl Rotation {
    fn is_wanted(self) -> bool {
        self.size.is_some() || self.time.is_some()
    }
}

/// Writes packets whose time is on the monotonic clock.
#[derive(Debug)]
pub struct CaptureWriter {
    path: PathBuf,
    interface: String,
    application: &'static str,
    rotation: Rotation,
    open: Open,
    /// Files that are complete, the oldest first.
    complete: VecDeque<PathBuf>,
    /// Number of the open file, from 1.
    number: u64,
    /// Difference between the real-time clock and the monotonic clock, in nanoseconds.
    ahead_ns: u64,
}

#[derive(Debug)]
struct Open {
    file: NewFile,
    writer: Writer<File>,
    began: Instant,
    /// Bytes of the whole packets that reached the file.
    whole: u64,
}

impl CaptureWriter {
    /// Begins a file; `-` is standard output.
    ///
    /// # Errors
    /// The file cannot be created, or standard output would be rotated.
    pub fn create(
        path: &Path,
        interface: &str,
        application: &'static str,
        rotation: Rotation,
    ) -> Result<Self> {
        if rotation.is_wanted() && is_stdio(path) {
            return Err(Error::RotatedStream);
        }
        let first = if rotation.is_wanted() { numbered(path, 1) } else { path.to_owned() };
        let open = Open::begin(&first, interface, application)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let ahead_ns = (now.as_nanos() as u64).saturating_sub(sys::thread::monotonic_ns());
        Ok(Self {
            path: path.to_owned(),
            interface: interface.to_owned(),
            application,
            rotation,
            open,
            complete: VecDeque::new(),
            number: 1,
            ahead_ns,
        })
    }

    /// Adds a packet, whose time is still on the monotonic clock.
    ///
    /// # Errors
    /// It cannot be written: see [`abandon`](Self::abandon).
    pub fn write(&mut self, packet: &mut Packet) -> Result<()> {
        packet.timestamp_ns += self.ahead_ns;
        let Rotation { size, time, .. } = self.rotation;
        let is_full = size.is_some_and(|size| self.open.writer.bytes_written() >= size)
            || time.is_some_and(|time| self.open.began.elapsed() >= time);
        if is_full {
            self.rotate()?;
        }
        self.open.write(packet)
    }

    /// Writes what is in the buffer, for readers that follow.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn flush(&mut self) -> Result<()> {
        self.open.flush()
    }

    /// Completes the open file.
    ///
    /// # Errors
    /// The buffer cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.open.flush()?;
        self.open.file.keep().map(drop)
    }

    /// Keeps the whole packets that reached the file after writing failed.
    pub fn abandon(self) {
        let Open { file, writer, whole, .. } = self.open;
        // This tries to write the buffer once more, perhaps a part of it.
        drop(writer);
        let shortened = file.writer().and_then(|own| {
            let is_regular = own.metadata().is_ok_and(|it| it.is_file());
            own.set_len(whole).map_err(Error::from).map(|()| is_regular)
        });
        if whole > 0 && shortened.unwrap_or(false) {
            let _kept = file.keep();
        }
    }

    fn rotate(&mut self) -> Result<()> {
        self.open.flush()?;
        let next =
            Open::begin(&numbered(&self.path, self.number + 1), &self.interface, self.application)?;
        self.number += 1;
        let complete = std::mem::replace(&mut self.open, next);
        self.complete.push_back(complete.file.keep()?);
        if let Some(most) = self.rotation.files {
            // The open file is one of them.
            while self.complete.len() >= most.max(1) {
                let oldest = self.complete.pop_front().unwrap_or_default();
                let removed = fs::remove_file(&oldest);
                removed.with_context(|| format!("cannot remove {}", oldest.display()))?;
            }
        }
        Ok(())
    }
}

impl Open {
    fn begin(path: &Path, interface: &str, application: &str) -> Result<Self> {
        let file = NewFile::at(path)?;
        let options = Options { application: Some(application.to_owned()), ..Options::default() };
        let writer = Writer::pcapng(file.writer()?, &options);
        let began = Instant::now();
        let mut writer = writer.map_err(|error| written(error, path))?;
        let described = writer.interface(interface, LinkType::ETHERNET);
        described.map_err(|error| written(error, path))?;
        let mut open = Self { file, writer, began, whole: 0 };
        open.flush()?;
        Ok(open)
    }

    fn write(&mut self, packet: &Packet) -> Result<()> {
        let result = self.writer.write(packet);
        result.map_err(|error| written(error, self.file.path()))
    }

    fn flush(&mut self) -> Result<()> {
        let result = self.writer.flush();
        result.map_err(|error| written(error, self.file.path()))?;
        self.whole = self.writer.bytes_written();
        Ok(())
    }
}

/// `dump.pcapng` becomes `dump-00001.pcapng`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!("-{number:05}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// A closed pipe is an error of its own: its reader wants no more packets.
fn written(error: pcap::Error, path: &Path) -> Error {
    match &error {
        pcap::Error::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
            Error::ReaderGone { path: path.to_owned() }
        }
        _ => Error::Capture { path: path.to_owned(), source: Box::new(error) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotated_files_have_a_number_before_the_extension() {
        for (path, expected) in [
            ("dump.pcapng", "dump-00007.pcapng"),
            ("/tmp/a.b/dump", "/tmp/a.b/dump-00007"),
            ("x.y.pcapng", "x.y-00007.pcapng"),
        ] {
            assert_eq!(numbered(Path::new(path), 7), Path::new(expected));
        }
    }

    #[test]
    fn the_newest_files_remain() {
        let folder = std::env::temp_dir().join(format!("xway-rotation-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let rotation = Rotation { size: Some(300), files: Some(2), ..Rotation::default() };
        let path = folder.join("dump.pcapng");
        let mut writer = CaptureWriter::create(&path, "eth0", "test", rotation).unwrap();
        for _ in 0..20 {
            let mut packet = Packet { data: vec![0; 60], ..Packet::default() };
            writer.write(&mut packet).unwrap();
        }
        let number = writer.number;
        assert!(number > 3, "{number}");
        writer.finish().unwrap();
        let entries = fs::read_dir(&folder).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        fs::remove_dir_all(&folder).unwrap();
        let expected =
            [number - 1, number].map(|it| OsString::from(format!("dump-{it:05}.pcapng")));
        assert_eq!(names, expected);
    }

    #[test]
    fn standard_output_is_not_rotated() {
        let rotation = Rotation { time: Some(Duration::from_secs(1)), ..Rotation::default() };
        let error = CaptureWriter::create(Path::new("-"), "eth0", "test", rotation).unwrap_err();
        assert!(matches!(error, Error::RotatedStream), "{error}");
    }
}
