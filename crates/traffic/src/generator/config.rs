//! `Config`: what to send, where, at which rate and how long.

use std::time::Duration;

use spec::Spec;

use crate::rate::{Profile, Rate};
use crate::replay::Recording;
use crate::template::Template;

/// The settings of one run. [`Config::new`] sets defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// The interface to send from, or to inject into, in the calling thread's namespace.
    pub interface: String,
    /// The frames to send.
    pub load: Load,
    /// Where each frame goes.
    pub action: Action,
    /// The rate over time.
    pub profile: Profile,
    /// Processors, each with a thread that sends frames of its own. If empty, one thread runs on
    /// any processor.
    pub cpus: Vec<usize>,
    /// Ends the run after this number of frames of all threads. Required without a duration.
    pub count: Option<u64>,
    /// Ends the run this long after the first frame.
    pub duration: Option<Duration>,
    /// Number of frames that are sent together, 1 to 256; derived from the rate when `None`.
    pub batch: Option<u32>,
    /// When headers are rewritten.
    pub rewrite: Rewrite,
    /// Seed of random fields; equal seeds produce equal frames.
    pub seed: u64,
    /// Sends some frames more, which announce the end of each stream to a sink. They are not
    /// counted.
    pub announce_end: bool,
    /// Starts held: nothing is sent until [`go`](super::Generator::go). The duration begins with
    /// the first frame.
    pub held: bool,
}

/// The frames to send.
#[derive(Clone, Debug)]
pub enum Load {
    /// Streams, mixed by their weights.
    Streams(Vec<Template>),
    /// The frames of a capture.
    Recording(Recording),
}

/// Where each frame goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Out of the interface.
    Transmit,
    /// Up the network stack of this host, as if the interface had received it.
    Inject,
    /// Into this XDP program, as if the interface had received the frame; the program's verdict is
    /// executed. `object` is an object file; without a `name` it must have exactly one XDP program.
    Program { object: Vec<u8>, name: Option<String> },
    /// Through this program, which completes each frame and sends it out of the interface.
    Complete(Box<Completion>),
}

/// A program that completes frames. Each thread has its own copy, and all of them share its maps,
/// except for its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub spec: Spec,
    /// Name of the program.
    pub program: String,
    /// Name of the global variable, of 32 bits, that gets the number of the thread.
    pub thread: String,
}

impl Action {
    /// Whether frames leave by the interface.
    pub(super) const fn transmits(&self) -> bool {
        matches!(self, Self::Transmit | Self::Complete(_))
    }
}

/// When headers are rewritten for each frame. Frames are recycled, so the changes of a receiver
/// that shares their memory (veth) would be sent otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrite {
    /// If the driver passes frames to the receiver without copying them.
    #[default]
    Auto,
    /// For each frame.
    Always,
    /// Only once.
    Never,
}

impl Config {
    /// One second on one thread, at the highest rate.
    pub fn new(interface: impl Into<String>, load: Load) -> Self {
        Self {
            interface: interface.into(),
            load,
            action: Action::Transmit,
            profile: Profile::from(Rate::Max),
            cpus: Vec::new(),
            count: None,
            duration: Some(Duration::from_secs(1)),
            batch: None,
            rewrite: Rewrite::Auto,
            seed: 1,
            announce_end: false,
            held: false,
        }
    }
}
