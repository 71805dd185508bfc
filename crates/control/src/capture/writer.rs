//! `CaptureWriter`: packets as pcapng files, one or several.
//!
//! Rule: a file gets its name when it is complete. If the disk is full, the file ends after the
//! last whole packet and is kept.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pcap::{LinkType, Options, PacketRef, Writer};
use sys::stdio::is_stdio;

use crate::error::{Error, Result};
use crate::folder::{Folder, NewFile};

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
    interfaces: Vec<String>,
    application: &'static str,
    rotation: Rotation,
    /// Where further files are created; `None` if there is one file.
    series: Option<Series>,
    open: Open,
    /// Difference between the real-time clock and the monotonic clock, in nanoseconds.
    ahead_ns: u64,
}

/// Files with numbers in their names.
#[derive(Debug)]
struct Series {
    folder: Folder,
    /// The name without a number.
    name: OsString,
    /// Number of the open file, from 1.
    number: u64,
    /// Names of the files that are complete, the oldest first.
    complete: VecDeque<OsString>,
}

#[derive(Debug)]
struct Open {
    file: NewFile,
    writer: Writer<File>,
    began: Instant,
    /// Bytes of the file when the buffer was last written.
    flushed: u64,
    /// Where packets end that were written to the buffer since.
    ends: Vec<u64>,
}

impl CaptureWriter {
    /// Begins a file of packets of these interfaces, whose numbers are those of
    /// [`PacketRef::interface`]; `-` is standard output. The reader of a named pipe is
    /// waited for until `deadline`.
    ///
    /// # Errors
    /// The file cannot be created, the pipe has no reader, or standard output would be rotated.
    pub fn create(
        path: &Path,
        interfaces: &[String],
        application: &'static str,
        rotation: Rotation,
        deadline: Option<Instant>,
    ) -> Result<Self> {
        if rotation.is_wanted() && is_stdio(path) {
            return Err(Error::RotatedStream);
        }
        let series = rotation.is_wanted().then(|| Series::of(path)).transpose()?;
        let file = match &series {
            Some(series) => series.file(),
            None => NewFile::at_until(path, deadline),
        };
        let open = Open::begin(file?, interfaces, application)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let ahead_ns = (now.as_nanos() as u64).saturating_sub(sys::thread::monotonic_ns());
        let interfaces = interfaces.to_vec();
        Ok(Self { interfaces, application, rotation, series, open, ahead_ns })
    }

    /// Adds a packet, whose time is still on the monotonic clock.
    ///
    /// # Errors
    /// It cannot be written: see [`abandon`](Self::abandon).
    pub fn write(&mut self, mut packet: PacketRef<'_>) -> Result<()> {
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

    /// Whether the reader of a pipe closed it.
    pub fn is_reader_gone(&self) -> bool {
        self.open.file.is_reader_gone()
    }

    /// Completes the open file.
    ///
    /// # Errors
    /// The buffer cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.open.flush()?;
        self.open.file.keep().map(drop)
    }

    /// Keeps the packets that reached the file as a whole, after writing failed.
    ///
    /// # Errors
    /// The file cannot be kept.
    pub fn abandon(self) -> Result<()> {
        let Open { file, writer, flushed, ends, .. } = self.open;
        // This tries to write the buffer once more, perhaps a part of it.
        drop(writer);
        let length = file.writer()?.metadata().map_or(0, |metadata| metadata.len());
        let whole = ends.into_iter().take_while(|end| *end <= length).last();
        file.keep_start(whole.unwrap_or(flushed)).map(drop)
    }

    fn rotate(&mut self) -> Result<()> {
        let Some(series) = &mut self.series else { return Ok(()) };
        self.open.flush()?;
        let earlier = series.current();
        series.number += 1;
        let next = Open::begin(series.file()?, &self.interfaces, self.application)?;
        std::mem::replace(&mut self.open, next).file.keep()?;
        series.complete.push_back(earlier);
        // The open file is one of those that are kept.
        let most = self.rotation.files.map_or(usize::MAX, |files| files.max(1) - 1);
        while series.complete.len() > most {
            series.folder.remove(&series.complete.pop_front().unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Series {
    fn of(path: &Path) -> Result<Self> {
        let (folder, name) = Folder::of(path)?;
        let (name, complete) = (name.to_owned(), VecDeque::new());
        Ok(Self { folder, name, number: 1, complete })
    }

    /// Name of the open file: `dump.pcapng` becomes `dump-00001.pcapng`.
    fn current(&self) -> OsString {
        numbered(Path::new(&self.name), self.number)
    }

    fn file(&self) -> Result<NewFile> {
        self.folder.file(self.current())
    }
}

impl Open {
    fn begin(file: NewFile, interfaces: &[String], application: &str) -> Result<Self> {
        let options = Options { application: Some(application.to_owned()), ..Options::default() };
        let writer = Writer::pcapng(file.writer()?, &options);
        let began = Instant::now();
        let mut writer = writer.map_err(|error| written(error, file.path()))?;
        for interface in interfaces {
            let described = writer.interface(interface, LinkType::ETHERNET);
            described.map_err(|error| written(error, file.path()))?;
        }
        let mut open = Self { file, writer, began, flushed: 0, ends: Vec::new() };
        open.flush()?;
        Ok(open)
    }

    fn write(&mut self, packet: PacketRef<'_>) -> Result<()> {
        let result = self.writer.write(packet);
        result.map_err(|error| written(error, self.file.path()))?;
        self.ends.push(self.writer.bytes_written());
        if self.ends.len() < MOST_ENDS { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let result = self.writer.flush();
        result.map_err(|error| written(error, self.file.path()))?;
        self.flushed = self.writer.bytes_written();
        self.ends.clear();
        Ok(())
    }
}

fn numbered(name: &Path, number: u64) -> OsString {
    let mut numbered = OsString::from(name.file_stem().unwrap_or_default());
    numbered.push(format!("-{number:05}"));
    if let Some(extension) = name.extension() {
        numbered.push(".");
        numbered.push(extension);
    }
    numbered
}

/// Packets after which the buffer is written, if the caller does not.
const MOST_ENDS: usize = 4096;

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
    use std::fs;

    use super::*;

    #[test]
    fn rotated_files_have_a_number_before_the_extension() {
        for (path, expected) in [
            ("dump.pcapng", "dump-00007.pcapng"),
            ("dump", "dump-00007"),
            ("x.y.pcapng", "x.y-00007.pcapng"),
        ] {
            assert_eq!(numbered(Path::new(path), 7), expected);
        }
    }

    #[test]
    fn the_newest_files_remain() {
        let folder = std::env::temp_dir().join(format!("xway-rotation-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let rotation = Rotation { size: Some(300), files: Some(2), ..Rotation::default() };
        let (path, interfaces) = (folder.join("dump.pcapng"), ["eth0".to_owned()]);
        let mut writer = CaptureWriter::create(&path, &interfaces, "test", rotation, None).unwrap();
        for _ in 0..20 {
            writer.write(PacketRef { data: &[0; 60], ..PacketRef::default() }).unwrap();
        }
        let number = writer.series.as_ref().unwrap().number;
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
        let created = CaptureWriter::create(Path::new("-"), &[], "test", rotation, None);
        let error = created.unwrap_err();
        assert!(matches!(error, Error::RotatedStream), "{error}");
    }
}
