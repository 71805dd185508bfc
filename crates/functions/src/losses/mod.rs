//! Lost frames by cause, as the programs at the kernel's tracepoints count them.
//!
//! The programs are `bpf/losses/losses.bpf.c`. Rule: a count is exact, and a cause keeps everything
//! that the kernel reported about it. Not here: attaching, and what a cause means in words.

pub mod abi;

use std::collections::BTreeMap;

use spec::Map;

pub use abi::{Key, Point};

/// The compiled programs.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/losses.o");
/// The global with the number of the namespace whose interfaces count.
pub const NETNS: &str = "losses_netns";
/// The map from [`Key`] to a count for each processor.
pub const CAUSES: &str = "losses_causes";
/// The array with one count for each processor: causes without a place in [`CAUSES`].
pub const OTHER: &str = "losses_other";

/// Programs and the tracepoints that they are for.
pub const PROGRAMS: [(&str, &str); 6] = [
    ("losses_exception", "xdp_exception"),
    ("losses_redirect", "xdp_redirect_err"),
    ("losses_transmit", "xdp_devmap_xmit"),
    ("losses_tx", "xdp_bulk_tx"),
    ("losses_cpu_queue", "xdp_cpumap_enqueue"),
    ("losses_cpu_stack", "xdp_cpumap_kthread"),
];

/// Lost frames at one time, since counting began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Frames by cause; those of all processors together.
    pub causes: BTreeMap<Key, u64>,
    /// Frames whose cause had no place in the table.
    pub other: u64,
}

impl LossCounts {
    /// Reads both maps.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn read<M: Map>(causes: &M, other: &M) -> Result<Self, M::Error> {
        let mut counts = Self::default();
        for key in causes.keys()? {
            let Some(bytes) = key.first_chunk() else { continue };
            if let Some(value) = causes.lookup(&key)? {
                counts.causes.insert(Key::from_bytes(bytes), sum(&value));
            }
        }
        counts.other = other.lookup(&[0; 4])?.map_or(0, |value| sum(&value));
        Ok(counts)
    }
}

impl Key {
    /// Tracepoint at which the frames were lost.
    pub fn point(&self) -> Option<Point> {
        Point::ALL.into_iter().find(|point| *point as u32 == self.point)
    }
}

/// The counts of all processors.
fn sum(value: &[u8]) -> u64 {
    value.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).sum()
}

#[cfg(test)]
mod tests {
    use spec::Spec;

    use super::*;

    #[test]
    fn the_object_has_the_required_parts() {
        let spec = Spec::parse("losses", OBJECT).unwrap();
        for (program, _) in PROGRAMS {
            assert!(spec.program(program).is_some(), "{program}");
        }
        assert_eq!(spec.programs.len(), PROGRAMS.len());
        assert_eq!(spec.map(CAUSES).unwrap().key_size as usize, Key::SIZE);
        assert_eq!(spec.map(OTHER).unwrap().value_size, 8);
        let mut spec = spec;
        spec.set_global(NETNS, &7_u32.to_ne_bytes()).unwrap();
    }

    #[test]
    fn counts_of_processors_are_added() {
        let value: Vec<u8> = [3_u64, 0, u64::from(u32::MAX)].map(u64::to_ne_bytes).concat();
        assert_eq!(sum(&value), 3 + u64::from(u32::MAX));
        let key = Key { point: Point::CpuQueue as u32, ..Key::default() };
        assert_eq!(key.point(), Some(Point::CpuQueue));
        assert_eq!(Key { point: 99, ..key }.point(), None);
    }
}
