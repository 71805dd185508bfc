//! `ConfigError`: settings of a run that cannot be used.

use std::net::IpAddr;
use std::time::Duration;

use crate::limits::{DURATION, FRAME_MAX, FRAME_MIN, RECORDING, STREAMS};

/// Why the settings of a run cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number outside of its limits.
    #[error("{what}: expected {min} to {max}, not {given}")]
    Range { what: &'static str, min: u64, max: u64, given: u64 },
    /// A number that must be a power of two within limits.
    #[error("{what}: expected a power of two up to {max}, not {given}")]
    PowerOfTwo { what: &'static str, max: u64, given: u64 },

    /// A run with neither a count nor a duration.
    #[error("a run needs an end: a count or a duration")]
    NoEnd,
    /// A count or duration of 0.
    #[error("a {what} of 0 sends nothing")]
    Nothing { what: &'static str },
    /// A run that is longer than supported.
    #[error("a run lasts at most a day ({max:?}), not {given:?}", max = DURATION)]
    TooLong { given: Duration },
    /// A processor on which this process may not run.
    #[error("this process may not run on processor {cpu}, only on {allowed:?}")]
    Cpu { cpu: usize, allowed: Vec<usize> },
    /// Two stamped streams with one number.
    #[error("streams \"{first}\" and \"{second}\" have the same number: {id}")]
    DuplicateId { first: String, second: String, id: u16 },
    /// Fields and lists that do not fit one program.
    #[error("the streams have more fields or lists than one program can hold: send fewer streams")]
    ProgramTooLarge,
    /// Weights whose round is too long.
    #[error("weights repeat after {round} frames, more than {max}: use smaller numbers")]
    Weights { round: u64, max: u64 },

    /// An object with several XDP programs, or none, of which none was named.
    #[error("name one of the object's XDP programs: {names}")]
    ProgramName { names: String },
    /// The program cannot be called from the generator.
    #[error("calling the program: {0}")]
    Compose(#[from] spec::compose::Error),
    /// The program has no map of this name.
    #[error("the program has no map \"{name}\"; it has: {known}")]
    UnknownMap { name: String, known: String },

    /// A ramp to or from the highest rate.
    #[error("a ramp needs two numbers; \"max\" is not supported")]
    RampToMax,
    /// A spacing without a rate.
    #[error("frames are spaced at a rate; \"max\" has none")]
    SpacingAtMax,
    /// A rate that is too low or too high.
    #[error("{rate} is {pps:.1} frames a second; expected {min} to {max}")]
    Rate { rate: String, pps: f64, min: u64, max: u64 },

    /// A recording without frames.
    #[error("the recording has no frames")]
    EmptyRecording,
    /// A rate for a recording.
    #[error("the frames of a recording have their own times: do not give a rate")]
    RecordingRate,
    /// A batch for a recording with times.
    #[error("frames with times are sent one by one: do not give a batch")]
    RecordingBatch,
    /// Several threads for a recording with times.
    #[error("frames with times are sent in order, by one thread")]
    RecordingThreads,
    /// Fewer frames than threads.
    #[error("{frames} frames cannot be shared by {threads} threads")]
    FewerFramesThanThreads { frames: usize, threads: u32 },
    /// A frame of a recording that is too short or too long.
    #[error("frames have {min} to {max} bytes", min = FRAME_MIN, max = FRAME_MAX)]
    RecordingFrame,
    /// A capture that does not fit into memory.
    #[error(
        "the capture has more frames than the {max} bytes that are kept in memory: send only its \
         first {frames}, or split it into files",
        max = RECORDING
    )]
    CaptureTooLarge { frames: usize },
    /// A capture without a frame that can be sent; `notes` counts the frames by reason.
    #[error("the capture has nothing to send: {notes}")]
    NothingToSend { notes: String },
    /// A packet without an Ethernet header, in a capture that may have none.
    #[error("packet {packet} is {link}, not Ethernet; without `--link strict` it is converted")]
    NotEthernet { packet: u64, link: pcap::LinkType },
    /// A speed with which the times of a capture cannot be computed.
    #[error("the speed must be {min:e} to {max:e}, not {given}")]
    Speed { min: f64, max: f64, given: f64 },
    /// A rate for a capture that is too low or too high.
    #[error("the rate must be at most {max} packets a second, not {given}")]
    PacketRate { max: u64, given: f64 },
    /// Only the first 0 packets of a capture.
    #[error("the first 0 packets of a capture are nothing to send")]
    FirstZero,

    /// A sink in a mode in which programs run on the network card.
    #[error("a sink cannot be offloaded to a network card: choose another mode")]
    SinkOffload,

    /// An accepted loss that is not a share.
    #[error("the accepted loss must be 0 or more, and less than 1")]
    Loss,
    /// Bounds of a search that contradict each other.
    #[error("the lowest level must be above zero, and not above the highest")]
    Levels,
    /// A resolution or step that is out of range.
    #[error("the resolution must be between a millionth and a half, the step not negative")]
    Resolution,
    /// A search without trials.
    #[error("a search needs at least one trial")]
    NoTrials,
    /// A measurement without sizes or streams.
    #[error("there is nothing to measure with: give a size and a stream")]
    NoLoad,
    /// More streams over all sizes than a sink counts.
    #[error("all sizes together have {count} streams; a sink counts at most {max}", max = STREAMS)]
    TooManyStreams { count: usize },
    /// A stream without stamps in a measurement.
    #[error("stream \"{name}\" has no stamp, so its frames cannot be counted")]
    NoStamp { name: String },
    /// A share of the rate at which latency cannot be measured.
    #[error("latency is measured at a share of the rate from 0.01 to 1")]
    LatencyShare,
    /// A trial that is too short or too long.
    #[error("a trial must last more than 0, and at most a day")]
    TrialDuration,
    /// Bursts of no frames.
    #[error("a burst must have at least one frame")]
    EmptyBurst,

    /// A range of ports that is empty or contains 0.
    #[error("local ports must be within 1 to 65535, the lower one first")]
    Ports,
    /// Fewer pairs of source address and port than flows.
    #[error(
        "{flows} flows need {flows} pairs of address and port, but {sources} addresses with \
         {ports} ports are only {pairs} pairs: use more addresses or ports"
    )]
    Pairs { flows: u64, sources: u32, ports: usize, pairs: u64 },
    /// A rate of 0.
    #[error("a rate must be at least 1 per second")]
    ZeroRate,
    /// Flows without an end.
    #[error("give the flows a number of bytes, or the run a duration, or both")]
    NoFlowEnd,
    /// A destination with port 0.
    #[error("the destination has no port")]
    NoPort,
    /// A source address of another family than the destination.
    #[error("source {first}: not of the destination's address family")]
    SourceFamily { first: IpAddr },
    /// Fewer addresses after the first source than required.
    #[error("source {first}: {count} addresses from it on exceed the address range")]
    SourceRange { first: IpAddr, count: u32 },
}
