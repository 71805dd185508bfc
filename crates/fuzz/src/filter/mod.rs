//! The filter: headers, rules and expressions, held to their models.

mod classic;
mod decide;
mod frame;
mod words;

use filter::runtime::samples::Sample;
use filter::runtime::tap::TappedPacket;
use filter::runtime::trial::ChangedPacket;
use filter::{Frame, Needs};

pub use classic::classic;
pub use decide::{engine, plan};

/// Headers of any bytes, with all that rules may need: every offset lies in the frame.
pub fn read(bytes: &[u8]) {
    let frame = Frame { bytes, ..Frame::default() };
    let rules = words::rules(&["drop extension routing", "drop udp dport 9"], words::POLICIES);
    for needs in [Needs::default(), Needs::of(&rules)] {
        let reading = filter::read(&frame, needs);
        assert!(!reading.layers.is_empty());
        for layer in &reading.layers {
            let inside = |at: Option<usize>| at.is_none_or(|at| at <= bytes.len());
            assert!(inside(layer.network) && inside(layer.transport), "{layer:?}");
        }
    }
}

/// Records that programs write for user space.
pub fn records(bytes: &[u8]) {
    if let Some(sample) = Sample::parse(bytes) {
        assert!(sample.bytes.len() <= bytes.len());
    }
    let _ = (TappedPacket::parse(bytes), ChangedPacket::parse(bytes));
    let _ = traffic::Stamp::read(bytes);
}
