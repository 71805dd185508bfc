//! Errors of stream descriptions: where in the description, and why it cannot be sent.

use crate::limits::{FRAME_MAX, LIST, SIZES, STREAMS, ZIPF};
use crate::template::InvalidTemplate;

/// A description that cannot be sent. The author of the description must change it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Error {
    /// `stream "a", layer 3 (udp), field "dst"`, or `streams` for the whole description.
    pub place: String,
    /// What is wrong there.
    pub reason: Reason,
}

/// Why a part of a description is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The text is neither TOML nor JSON, or it has an unknown key or a value of the wrong type:
    /// the message of the parser.
    #[error("{0}")]
    Syntax(String),
    /// A key outside of the streams.
    #[error("unknown key \"{key}\"; streams are tables named `stream`")]
    UnknownKey { key: String },
    /// The description has no list of streams.
    #[error("no streams: each starts with [[stream]]")]
    NoStreams,
    /// Too few or too many streams.
    #[error("expected 1 to {max} streams in one run, not {count}", max = STREAMS)]
    StreamCount { count: usize },
    /// Two streams share a name.
    #[error("two streams are named \"{name}\"")]
    DuplicateName { name: String },
    /// A stream is not a table.
    #[error("not a table")]
    StreamNotATable,
    /// `layers` is not a list.
    #[error("`layers` is not a list")]
    LayersNotAList,
    /// A weight of 0.
    #[error("is 0: the stream would never be sent")]
    ZeroWeight,
    /// `expect = "drop"` on a stream without stamps.
    #[error("needs stamps to be judged by: set stamp = true")]
    ExpectWithoutStamp,
    /// A stream without layers.
    #[error("there are none")]
    NoLayers,
    /// A layer is not a table.
    #[error("not a table such as {{ udp = {{ dst = 53 }} }}")]
    LayerNotATable,
    /// A layer has no key, or several.
    #[error("expected one key, the protocol: {{ udp = {{ dst = 53 }} }}")]
    LayerKeys,
    /// A layer of a protocol that does not exist.
    #[error("unknown protocol \"{name}\"; expected {expected}")]
    UnknownProtocol { name: String, expected: String },
    /// A layer in a place where its protocol cannot be.
    #[error("cannot follow {previous}")]
    CannotFollow { previous: String },
    /// A layer after one that carries only bytes.
    #[error("cannot follow a later fragment, which has no headers")]
    AfterFragment,
    /// A required field has no value.
    #[error("is not given, and nothing else determines it")]
    Missing,
    /// A field that names the next layer has no value, and no such layer follows.
    #[error("is not given, and no layer follows that determines it")]
    MissingNext,
    /// A field that must be constant varies.
    #[error("cannot vary")]
    CannotVary,
    /// Two fields set the same bits.
    #[error("overlaps field \"{field}\"")]
    Overlap { field: String },
    /// The layers are longer than the longest frame.
    #[error("ends after byte {max}, the longest frame", max = FRAME_MAX)]
    LayersTooLong,
    /// `checksum = "none"` over IPv6.
    #[error("is required over IPv6; use 0 to send none nevertheless")]
    ChecksumRequired,
    /// A checksum that is neither a number nor a known word.
    #[error("expected {expected} or a number")]
    ChecksumWord { expected: &'static str },
    /// The pseudo header of a checksum contains a protocol number that varies.
    #[error("covers the protocol number, which varies: give the checksum")]
    ChecksumVaries,
    /// Text that is not an even number of hexadecimal digits.
    #[error("expected two hexadecimal digits for each byte")]
    NotHex,
    /// Header options that do not fit their header.
    #[error("{len} bytes, more than {max}")]
    OptionsTooLong { len: usize, max: usize },
    /// A routing header without addresses, or with too many.
    #[error("expected 1 to 100 addresses, not {count}")]
    AddressCount { count: usize },
    /// None, or several, of keys of which exactly one is required.
    #[error("expected exactly one of {keys}")]
    OneOf { keys: &'static str },
    /// A raw layer without bytes.
    #[error("has no bytes")]
    NoBytes,
    /// `bits` on a raw field that is an address.
    #[error("an address has no `bits`")]
    AddressBits,
    /// A raw number without a width, or with an invalid one.
    #[error("a number has 1 to 64 `bits`")]
    NumberBits,
    /// A raw field outside of the layer's bytes.
    #[error("the field at byte {at} ends outside of the layer's bytes")]
    FieldOutside { at: usize },
    /// Frames longer than the interface allows.
    #[error("{len} bytes, but the interface's MTU {mtu} allows {max}")]
    OverMtu { len: usize, mtu: usize, max: usize },
    /// Frames longer than XDP can send.
    #[error("{len} bytes, but XDP frames have at most {max}", max = FRAME_MAX)]
    OverFrame { len: usize },
    /// A value that does not fit its field.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Fields that vary by flow.
    #[error(transparent)]
    Flows(#[from] FlowsError),
    /// Sizes of frames.
    #[error(transparent)]
    Sizes(#[from] SizesError),
    /// The finished template is inconsistent: a defect of this crate.
    #[error(transparent)]
    Template(#[from] InvalidTemplate),
}

/// Why a value is not valid for its field.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The text is not what the field holds; `expected` with an article: `an IPv4 address`.
    #[error("\"{text}\" is not {expected}")]
    Kind { text: String, expected: String },
    /// A number of more bits than the field.
    #[error("{text} does not fit {bits} bits")]
    TooWide { text: String, bits: u32 },
    /// A list that is empty or too long.
    #[error("expected a list of 1 to {max} values, not {count}", max = LIST)]
    ListLength { count: usize },
    /// A range whose last value is less than its first.
    #[error("\"{text}\" ends below its first value")]
    Descending { text: String },
    /// A prefix length that is not a number, or longer than the address.
    #[error("\"{text}\" has no prefix length from 0 to {bits}")]
    PrefixLength { text: String, bits: u32 },
    /// A prefix with bits set after its length.
    #[error("\"{text}\" has host bits set")]
    HostBits { text: String },
    /// A range over more than the last 64 bits of an IPv6 address.
    #[error("varies in more than its last 64 bits; only a list can do that")]
    HighBits,
    /// A prefix with more than 2^64 addresses.
    #[error("varies in more than 64 bits; use a longer prefix")]
    TooManyBits,
    /// More than 2^32 values, and not a power of two.
    #[error("{count} values: more than 2^32 must be a power of two")]
    NotPowerOfTwo { count: u128 },
    /// More values than Zipf's law is computed for.
    #[error("{count} values, but Zipf's law is supported for at most {max}", max = ZIPF)]
    ZipfCount { count: u128 },
    /// An exponent that is negative or not a number.
    #[error("the exponent {exponent} of Zipf's law is not 0 or more")]
    ZipfExponent { exponent: f64 },
    /// `zipf=` followed by something that is not a number.
    #[error("invalid exponent in `{text}`; expected a number such as zipf=1.1")]
    ExponentText { text: String },
}

/// Why fields cannot vary by flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlowsError {
    /// A field varies by flow in a stream without flows.
    #[error("varies by flow, but the stream has no `flows`")]
    NoFlows,
    /// `flows` with a count of 0.
    #[error("`flows` has a count of 0")]
    ZeroCount,
    /// A stream with flows in which no field varies by flow.
    #[error("no field varies by flow: use {{ flow = \"10.0.0.0/16\" }}")]
    NoField,
    /// Fewer combinations of values than flows.
    #[error("{count} flows, but the fields repeat after {period}: give one of them more values")]
    Repeats { count: u64, period: u128 },
    /// A range that cannot be repeated for this number of flows.
    #[error(
        "{values} values for {count} flows: use a prefix or at least {count} values, or have at \
         most {max} flows",
        max = LIST
    )]
    Values { values: u128, count: u128 },
    /// An exponent without `order = "zipf"`.
    #[error("only `order = \"zipf\"` has an exponent")]
    Exponent,
}

/// Why sizes of frames are rejected. Sizes are in bytes, without the Ethernet checksum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizesError {
    /// Text that is not a size.
    #[error("\"{text}\" is not a size in bytes")]
    Text { text: String },
    /// A mix with an unknown name.
    #[error("unknown mix \"{name}\"; expected \"imix\" or [[60, 7], [1514, 1]]")]
    UnknownMix { name: String },
    /// A sweep that does not ascend.
    #[error("a sweep must ascend: not from {from} to {to} by {step}")]
    Sweep { from: usize, to: usize, step: usize },
    /// A sweep beyond the longest frame.
    #[error("a sweep to {to}: frames have at most {max} bytes", max = FRAME_MAX)]
    SweepTooLong { to: usize },
    /// No sizes, or too many.
    #[error("expected 1 to {max} sizes in a round, not {count}", max = SIZES)]
    Count { count: usize },
    /// A size that is too short for headers, payload and stamp.
    #[error("{size} bytes, but headers, payload and stamp need {needed}")]
    TooShort { size: usize, needed: usize },
    /// A mix with a share of 0, or with too many frames in a round.
    #[error("the shares of a mix must be at least 1 each and at most {max} in total", max = SIZES)]
    Shares,
}

impl Error {
    pub(super) fn new(place: impl Into<String>, reason: impl Into<Reason>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }

    /// An error in one of a stream's own keys.
    pub(super) fn of_stream(name: &str, field: &str, reason: impl Into<Reason>) -> Self {
        Self::new(format!("stream \"{name}\", field \"{field}\""), reason)
    }
}
