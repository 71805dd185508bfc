//! What to send, where, how fast and how long.

use std::time::Duration;

use crate::rate::{Profile, Rate};
use crate::replay::Recording;
use crate::template::Template;

/// One run. [`Config::new`] gives the rest of the fields a value.
#[derive(Clone, Debug)]
pub struct Config {
    /// The interface to send from, or to inject into, in the calling thread's namespace.
    pub interface: String,
    pub load: Load,
    pub action: Action,
    pub profile: Profile,
    /// One thread for each; they send different frames. Empty: one thread, anywhere.
    pub cpus: Vec<usize>,
    /// Ends after so many frames of all threads together. Without a duration, it is an error not
    /// to have one.
    pub count: Option<u64>,
    /// Ends so long after the first frame.
    pub duration: Option<Duration>,
    /// Frames that leave together, 1 to 256; chosen by the rate when `None`.
    pub batch: Option<u32>,
    pub rewrite: Rewrite,
    pub seed: u64,
    /// Begins held: nothing is sent until [`go`](super::Generator::go). The duration counts from
    /// the first frame on.
    pub held: bool,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Load {
    /// Streams, mixed by their weights.
    Streams(Vec<Template>),
    Recording(Recording),
}

/// What becomes of each frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leaves through the interface.
    Transmit,
    /// Goes up this host's stack as if the interface had received it.
    Inject,
    /// Meets this XDP program (object file, program's name or its only one) as if the interface
    /// had received it; what the program says is done.
    Program { object: Vec<u8>, name: Option<String> },
}

/// Whether headers are written again each time. Frames are recycled, so what a receiver that
/// shares their memory (veth) did to them would be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrite {
    /// Where the interface's driver hands frames to its receiver instead of copying them.
    #[default]
    Auto,
    Always,
    Never,
}

impl Config {
    /// One second on one thread, as fast as it can.
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
            held: false,
        }
    }
}
