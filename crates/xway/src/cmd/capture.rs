//! `capture`: packets of interfaces, before and after their programs.

use std::iter;
use std::time::{Duration, Instant};

use anyhow::Result;
use control::capture::{
    Batch, BatchPacket, Capture, CaptureOptions, CaptureReport, CaptureWriter, Comments, Ended,
    InterfaceCounts, PacketLine, Rotation, changes,
};
use functions::capture::{Config, Point};
use pcap::{Packet, PacketRef};
use spec::Verdict;
use spec::compose::VerdictSet;
use sys::signal::Stop;

use super::{Context, Exit, folder};
use crate::args::{CaptureArgs, PointArg};
use crate::view::capture::NamedLine;

pub fn run(args: &CaptureArgs, context: &Context) -> Result<Exit> {
    let report = capture(args, context)?;
    context.show_next(&report)?;
    Ok(if report.written > 0 { Exit::Done } else { Exit::No })
}

/// Captures packets to a file, or prints them.
pub fn capture(args: &CaptureArgs, context: &Context) -> Result<CaptureReport> {
    let stop = Stop::new()?;
    // A named pipe has a reader before packets come.
    let output = Output::new(args, context);
    // A signal that ended the wait has had its effect.
    let mut output = output.inspect_err(|_| _ = stop.pending())?;
    let mut capture = Capture::start(&context.control, &output.interfaces, options(args))?;
    output.begin_ns = sys::thread::monotonic_ns();
    let begin = Instant::now();
    let ended = match watch(args, &stop, &mut capture, &mut output) {
        Ok(ended) => ended,
        Err(error) => {
            // The first error is the one to report.
            let _kept = output.abandon();
            return Err(error);
        }
    };
    let counts = capture.counts()?;
    drop(capture);
    let written = output.finish(ended)?;
    let interfaces = counts.iter().zip(written);
    let interfaces = interfaces.map(|(counts, (interface, written))| InterfaceCounts {
        interface,
        packets: counts.packets,
        written,
        lost: counts.lost,
    });
    Ok(CaptureReport::new(interfaces.collect(), begin.elapsed().as_secs_f64(), ended))
}

/// Writes packets until there are enough, the time is over, or a signal arrives.
fn watch(
    args: &CaptureArgs,
    stop: &Stop,
    capture: &mut Capture,
    output: &mut Output<'_>,
) -> Result<Ended> {
    let (begin, mut batch) = (Instant::now(), Batch::default());
    loop {
        let left = args.time.map_or(POLL_INTERVAL, |time| time.saturating_sub(begin.elapsed()));
        let interrupted = stop.wait(left.min(POLL_INTERVAL))?.is_some();
        let is_over = left.is_zero() || interrupted;
        let read = match is_over {
            true => capture.stop(&mut batch),
            false => capture.read(&mut batch),
        };
        // Packets that came before an error are kept.
        let ended = output.put(&batch, capture)?;
        read?;
        match ended {
            Some(ended) => return Ok(ended),
            None if interrupted => return Ok(Ended::Interrupted),
            None if is_over => return Ok(Ended::Time),
            None => {}
        }
    }
}

fn options(args: &CaptureArgs) -> CaptureOptions {
    let dropped = || VerdictSet::from_iter([Verdict::Drop, Verdict::Aborted]);
    let verdicts = args.verdict.or_else(|| args.selection.dropped.then(dropped));
    let point = match args.selection.at {
        PointArg::Before | PointArg::Both => Point::Both,
        PointArg::After => Point::After,
    };
    let config = Config {
        verdicts: verdicts.unwrap_or(Config::default().verdicts),
        invalid: args.verdict.is_none(),
        point,
        snap_len: args.selection.snaplen,
        ..Config::default()
    };
    let expression = args.expression.join(" ");
    CaptureOptions {
        expression: (!expression.trim().is_empty()).then_some(expression),
        config,
        reason: args.selection.reason.clone(),
        ring_bytes: args.ring,
        mode: args.mode.map(Into::into),
    }
}

/// Where packets go: a file, or lines.
struct Output<'a> {
    args: &'a CaptureArgs,
    context: &'a Context,
    writer: Option<CaptureWriter>,
    interfaces: Vec<String>,
    /// Decisions of the programs of each interface.
    comments: Vec<Comments>,
    begin_ns: u64,
    /// Packets of all interfaces.
    total: u64,
    /// Packets of each interface.
    written: Vec<u64>,
    /// Lost packets of each interface that were noted with a packet.
    noted: Vec<u64>,
}

impl<'a> Output<'a> {
    fn new(args: &'a CaptureArgs, context: &'a Context) -> Result<Self> {
        let rotation = Rotation {
            size: args.rotate_size,
            time: args.rotate_time,
            files: args.files.map(|files| files as usize),
        };
        let deadline = args.time.map(|time| Instant::now() + time);
        let interfaces: Vec<_> = iter::once(&args.iface).chain(&args.interfaces).cloned().collect();
        let create =
            |path| folder::begin_capture(path, &interfaces, "xway capture", rotation, deadline);
        let writer = args.write.as_deref().map(create).transpose()?;
        Ok(Self {
            args,
            context,
            writer,
            comments: interfaces.iter().map(|_| Comments::default()).collect(),
            begin_ns: 0,
            total: 0,
            written: vec![0; interfaces.len()],
            noted: vec![0; interfaces.len()],
            interfaces,
        })
    }

    /// Writes packets. Returns why the capture ends, if it does.
    fn put(&mut self, batch: &Batch, capture: &Capture) -> Result<Option<Ended>> {
        if batch.is_empty() {
            let is_gone = self.writer.as_ref().is_some_and(CaptureWriter::is_reader_gone);
            return Ok(is_gone.then_some(Ended::ReaderGone));
        }
        let lost: Vec<_> = capture.counts()?.iter().map(|counts| counts.lost).collect();
        for packet in batch.packets() {
            self.total += 1;
            self.written[packet.interface] += 1;
            let goes_on = match &mut self.writer {
                Some(_) => self.record(&packet, lost[packet.interface]),
                None => self.line(&packet),
            };
            match goes_on {
                Ok(true) => {}
                Ok(false) => return Ok(Some(Ended::ReaderGone)),
                Err(error) if is_reader_gone(&error) => return Ok(Some(Ended::ReaderGone)),
                Err(error) => return Err(error),
            }
            if self.args.count == Some(self.total) {
                return Ok(Some(Ended::Count));
            }
        }
        match self.writer.as_mut().map_or(Ok(()), CaptureWriter::flush) {
            Err(control::Error::ReaderGone { .. }) => Ok(Some(Ended::ReaderGone)),
            other => Ok(other.map(|()| None)?),
        }
    }

    fn line(&mut self, received: &BatchPacket<'_>) -> Result<bool> {
        let seconds = received.packet.time_ns.saturating_sub(self.begin_ns) as f64 / 1e9;
        let interface = &self.interfaces[received.interface];
        let line = PacketLine::new(received, (self.total, seconds), interface);
        let is_named = self.interfaces.len() > 1;
        self.context.show_next(&NamedLine { line, is_named })
    }

    /// Writes a packet to the file, in two records if it changed and `--at both` is set.
    fn record(&mut self, received: &BatchPacket<'_>, lost: u64) -> Result<bool> {
        let Some(writer) = &mut self.writer else { return Ok(true) };
        let BatchPacket { interface, packet, members } = received;
        let (data, original_len) = packet.first();
        let decision = self.comments[*interface].of(packet, members);
        let noted = &mut self.noted[*interface];
        // Few packets are changed, so that the others need no text of their own.
        let changed = changes(packet).map(|changes| match decision {
            Some(decision) => format!("{decision}; {changes}"),
            None => changes,
        });
        let record = PacketRef {
            timestamp_ns: packet.time_ns,
            interface: *interface,
            original_len,
            data,
            verdict: Some(packet.decision.verdict.into()),
            queue: Some(packet.queue),
            id: Some(self.total),
            flags: Some(Packet::INBOUND),
            dropped: (lost > *noted).then(|| lost - *noted),
            comment: changed.as_deref().or(decision),
        };
        *noted = lost;
        writer.write(record)?;
        if self.args.selection.at == PointArg::Both && packet.is_changed() {
            let ([_, data], [_, original_len]) = (packet.bytes, packet.lengths);
            let flags = Some(Packet::OUTBOUND);
            writer.write(PacketRef { original_len, data, flags, dropped: None, ..record })?;
        }
        Ok(true)
    }

    /// Keeps what was written before an error.
    fn abandon(self) -> Result<()> {
        Ok(self.writer.map_or(Ok(()), CaptureWriter::abandon)?)
    }

    /// Completes the file. Returns the number of packets of each interface.
    fn finish(self, ended: Ended) -> Result<impl Iterator<Item = (String, u64)>> {
        match self.writer {
            Some(writer) if ended == Ended::ReaderGone => writer.abandon()?,
            Some(writer) => writer.finish()?,
            None => {}
        }
        Ok(self.interfaces.into_iter().zip(self.written))
    }
}

fn is_reader_gone(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(control::Error::ReaderGone { .. }))
}

/// How often the rings are read: at a million packets a second, they hold more than ten times this.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
