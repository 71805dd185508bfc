//! RFC 2544, section 26: the highest rate without loss, bursts, latency at a share of it.
//!
//! [`Search`] is the search alone, without any traffic: it is told what was seen and says what to
//! try next. Not here: making traffic (`generator`), counting it (`sink`), showing the report.

mod bench;
mod config;
mod measure;
mod report;
mod search;
mod size;

pub use config::{Bursts, Config, Load};
pub use measure::measure;
pub use report::{Burst, Latency, NdrReport, Progress, Purpose, Row, Trial};
pub use search::{Binding, Options, Outcome, Search, Seen};
pub use size::{FrameSize, UnknownFrameSize};
