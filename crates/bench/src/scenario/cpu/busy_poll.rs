//! An AF_XDP socket whose thread runs the driver's receive code itself, with or without packets.

use anyhow::Result;
use xsk::Interface;
use xsk::wait::BusyPoll;

use crate::field::{Attribute, Field};
use crate::hook::ActiveHook;
use crate::hook::reader::{PATIENCE, Reader};

/// The polling thread. Dropping it ends the thread and restores the interface.
#[derive(Debug)]
pub struct BusyPolling {
    reader: Reader,
    _settings: [Attribute; 3],
}

impl BusyPolling {
    /// Starts a thread that polls the receiver's queue.
    pub fn start(field: &Field) -> Result<Self> {
        let settings = field.receiver.leave_to_poller(TIMEOUT_NS)?;
        let device = field.receiver.device();
        let options = BusyPoll { prefer: true, ..BusyPoll::default() };
        let open = || Interface::open(device)?.socket(QUEUE).busy_poll(options).open();
        let (tx, mut rx) = field.receiver.run(open)??.split();
        // Nothing is sent.
        drop(tx);
        let read = move || match rx.wait(PATIENCE)? {
            true => Ok(rx.for_each(BATCH, |_| ())),
            false => Ok(0),
        };
        Ok(Self { reader: Reader::start(field.receiver_cpu, read)?, _settings: settings })
    }

    /// Nanoseconds that the thread has spent on its processor.
    pub fn spent_ns(&self) -> Result<u64> {
        self.reader.cpu_ns()
    }
}

impl ActiveHook for BusyPolling {
    fn ended(&self) -> Result<u64> {
        self.reader.ended()
    }
}

/// The kernel polls the interface itself if the thread has not polled for this long.
const TIMEOUT_NS: u32 = 2_000_000;
const QUEUE: u32 = 0;
const BATCH: usize = 64;
