//! AF_XDP: frames move from one socket's receive ring to the other's transmit ring.

use std::time::Duration;

use anyhow::Result;
use xsk::socket::Builder;
use xsk::wait::BusyPoll;
use xsk::{Interface, Rx, Tx, Umem};

use super::{ActivePath, Journey, Path};
use crate::field::{Attribute, Line, Worker};
use crate::load::forward_batch;

/// A process that forwards with AF_XDP sockets.
pub const AF_XDP: Path = Path {
    name: "af-xdp",
    about: "user space: one thread moves frames between two AF_XDP sockets of one memory",
    journey: Journey::Crossed,
    set: |line| Ok(Box::new(start(line, None)?)),
};

/// A process that forwards with AF_XDP sockets and busy polling.
pub const BUSY_POLL: Path = Path {
    name: "af-xdp-busy-poll",
    about: "user space: a thread that never sleeps polls one AF_XDP socket, sends through another",
    journey: Journey::Crossed,
    set: |line| {
        let settings = line.near.leave_to_poller(TIMEOUT_NS)?;
        Ok(Box::new(start(line, Some(settings))?))
    },
};

/// A forwarding thread.
struct Running {
    worker: Worker,
    /// The halves of the sockets that are not used.
    _unused: (Tx, Rx),
    _polled: Option<[Attribute; 3]>,
}

/// Starts the thread; with `polled`, it busy-polls the ingress interface.
fn start(line: &Line, polled: Option<[Attribute; 3]>) -> Result<Running> {
    let umem = Umem::builder().frames(FRAMES).build()?;
    let polling = polled.is_some().then(|| BusyPoll { prefer: true, ..BusyPoll::default() });
    let opened = line.near.run(|| -> Result<_> {
        let from = Interface::builder(line.near.device()).open()?;
        let to = Interface::builder(line.far.device()).without_steering().open()?;
        let rx = match polling {
            Some(options) => socket(&from, &umem).busy_poll(options),
            None => socket(&from, &umem),
        };
        Ok((rx.open()?.split(), socket(&to, &umem).open()?.split()))
    })?;
    let ((near_tx, mut rx), (mut tx, far_rx)) = opened?;
    let worker = Worker::start(line.cpus.process, move || {
        if forward_batch(&mut rx, &mut tx, BATCH, |_| true)?.received == 0 {
            rx.wait(TURN)?;
        }
        Ok(())
    })?;
    Ok(Running { worker, _unused: (near_tx, far_rx), _polled: polled })
}

fn socket<'a>(interface: &'a Interface, umem: &Umem) -> Builder<'a> {
    interface.socket(0).umem(umem).rings(RING).fill(RING)
}

impl ActivePath for Running {
    fn check(&mut self) -> Result<()> {
        self.worker.check()
    }
}

const FRAMES: u32 = 4096;
const RING: u32 = 2048;
const BATCH: usize = 64;
/// The kernel polls the interface itself if the thread has not polled for this long.
const TIMEOUT_NS: u32 = 2_000_000;
/// Longest wait for packets.
const TURN: Duration = Duration::from_millis(1);
