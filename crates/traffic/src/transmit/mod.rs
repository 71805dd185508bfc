//! `Transmit`: counts the frames of this process's threads that drivers accepted and rejected.
//!
//! A program at tracepoints of the kernel (`bpf/transmit`) counts them, so the counts are exact for
//! any driver, also where the driver itself counts nothing, such as a veth whose peer does not
//! receive XDP frames. Rule: only frames of live runs of enrolled threads count.

#[allow(dead_code, reason = "generated, with items that only the program uses")]
mod abi;
mod advice;

use kernel::{Ifindex, Link, LoadOptions, Object, Program};
use spec::Spec;
use sys::mmap::Mapping;
use sys::netns::NetNs;

use crate::error::Result;
pub(crate) use abi::Thread;
pub(crate) use advice::{VETH, advice};

/// Programs at tracepoints, attached as long as this value exists.
#[derive(Debug)]
pub(crate) struct Transmit {
    enroll: Program,
    threads: Mapping,
    _watching: Vec<Link>,
}

/// The outcome of the frames of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub sent: u64,
    /// Rejected frames by errno; 0 means that the queue was full.
    pub losses: Vec<(i32, u64)>,
}

impl Transmit {
    /// Counts frames of live runs that appear to be received by `source`, in the namespace of the
    /// calling thread.
    pub fn watch(source: Ifindex) -> Result<Self> {
        let mut spec = Spec::parse("transmit", OBJECT)?;
        let netns = NetNs::current()?.id()?.inode as u32;
        let source = abi::Source { ifindex: source.0, netns };
        spec.set_global("transmit_source", &source.to_bytes())?;
        let object = Object::load(&spec, &LoadOptions::default())?;
        let watching = WATCHED
            .iter()
            .map(|(program, point)| kernel::attach_raw_tracepoint(object.program(program)?, point))
            .collect::<kernel::Result<_>>()?;
        Ok(Self {
            enroll: object.program("transmit_enroll")?.duplicate()?,
            threads: object.map("transmit_threads")?.mapping(false)?,
            _watching: watching,
        })
    }

    /// Enrolls the calling thread at `place`; threads at lower places must be enrolled before.
    pub fn enroll(&self, place: usize) -> Result<()> {
        assert_eq!(self.enroll.call(&[place as u64])?, 1, "there is a place for each thread");
        Ok(())
    }

    pub fn outcome(&self, place: usize) -> Outcome {
        let mut bytes = [0; Thread::SIZE];
        self.threads.copy_out(place * Thread::SIZE, &mut bytes);
        Outcome::from(Thread::from_bytes(&bytes))
    }
}

impl Outcome {
    pub fn lost(&self) -> u64 {
        self.losses.iter().map(|(_, frames)| frames).sum()
    }

    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        for (errno, frames) in &other.losses {
            match self.losses.iter_mut().find(|(known, _)| known == errno) {
                Some((_, sum)) => *sum += frames,
                None => self.losses.push((*errno, *frames)),
            }
        }
    }
}

impl From<Thread> for Outcome {
    fn from(thread: Thread) -> Self {
        let losses = thread.losses.iter().filter(|loss| loss.frames > 0);
        Self {
            sent: thread.sent,
            losses: losses.map(|loss| (loss.error as i32, loss.frames)).collect(),
        }
    }
}

const OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/transmit.o");
const WATCHED: [(&str, &str); 2] =
    [("transmit_xmit", "xdp_devmap_xmit"), ("transmit_refused", "xdp_redirect_err")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_add_up_by_errno() {
        let mut thread = Thread { sent: 5, ..Thread::default() };
        thread.losses[0] = abi::Loss { error: 6, frames: 2 };
        thread.losses[3] = abi::Loss { error: 0, frames: 1 };
        let mut sum = Outcome::from(thread);
        sum.add(&Outcome { sent: 1, losses: vec![(0, 4), (100, 1)] });
        assert_eq!(sum, Outcome { sent: 6, losses: vec![(6, 2), (0, 5), (100, 1)] });
        assert_eq!(sum.lost(), 8);
    }

    #[test]
    fn the_object_has_the_required_parts() {
        let spec = Spec::parse("transmit", OBJECT).unwrap();
        for (program, _) in WATCHED {
            assert!(spec.program(program).is_some(), "{program}");
        }
        assert!(spec.program("transmit_enroll").is_some());
        let threads = spec.map("transmit_threads").unwrap();
        assert_eq!(threads.value_size as usize, Thread::SIZE * crate::limits::THREADS);
    }
}
