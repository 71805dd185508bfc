//! Measurements of RFC 2544, section 26: the highest rate without loss, bursts, and latency at
//! shares of this rate.
//!
//! [`Search`] is the search without any traffic: it receives the results of trials and returns the
//! next level to try. `generator` sends the traffic, and `sink` counts it.

mod bench;
mod config;
mod measure;
mod report;
mod search;
mod size;

pub use config::{Bursts, Config, Load};
pub use measure::measure;
pub use report::{Burst, Latency, NdrReport, Progress, Purpose, Row, Totals, Trial};
pub use search::{Binding, Options, Outcome, Search, Seen};
pub use size::{FrameSize, UnknownFrameSize};
