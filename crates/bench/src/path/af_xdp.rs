//! AF_XDP: frames move from one socket's receive ring to the other's transmit ring.

use std::time::Duration;

use anyhow::Result;
use xsk::socket::Builder;
use xsk::wait::BusyPoll;
use xsk::{Interface, Rx, Tx, Umem};

use super::{Journey, Path, Set};
use crate::field::{Attribute, Line, Worker};

pub const AF_XDP: Path = Path {
    name: "af-xdp",
    about: "user space: one thread moves frames between two AF_XDP sockets of one memory",
    journey: Journey::Crossed,
    set: |line| Ok(Box::new(start(line, None)?)),
};

pub const BUSY_POLL: Path = Path {
    name: "af-xdp-busy-poll",
    about: "user space: a thread that never sleeps polls one AF_XDP socket, sends through another",
    journey: Journey::Crossed,
    set: |line| {
        let settings = line.near.leave_to_poller(TIMEOUT_NS)?;
        Ok(Box::new(start(line, Some(settings))?))
    },
};

/// The sockets' other halves; what they would do is nobody's.
struct Running {
    worker: Worker,
    _unused: (Tx, Rx),
    _polled: Option<[Attribute; 3]>,
}

/// Where the interface is left to the thread, it polls.
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
        if pass(&mut rx, &mut tx)? == 0 {
            rx.wait(TURN)?;
        }
        Ok(())
    })?;
    Ok(Running { worker, _unused: (near_tx, far_rx), _polled: polled })
}

fn socket<'a>(interface: &'a Interface, umem: &Umem) -> Builder<'a> {
    interface.socket(0).umem(umem).rings(RING).fill(RING)
}

/// Moves what is there, hardware addresses exchanged; tells how much came.
fn pass(rx: &mut Rx, tx: &mut Tx) -> Result<usize> {
    let mut came = 0;
    let mut sending = tx.batch(BATCH);
    let mut receiving = rx.batch(BATCH as usize);
    while let Some(mut frame) = receiving.next() {
        came += 1;
        if let Some((to, from)) = frame.get_mut(..12).map(|macs| macs.split_at_mut(6)) {
            to.swap_with_slice(from);
        }
        if let Err(rejected) = sending.push(frame) {
            receiving.recycle(rejected.frame);
        }
    }
    drop(receiving);
    sending.finish()?;
    Ok(came)
}

impl Set for Running {
    fn check(&mut self) -> Result<()> {
        self.worker.check()
    }
}

const FRAMES: u32 = 4096;
const RING: u32 = 2048;
const BATCH: u32 = 64;
/// The kernel looks for packets itself when nobody has polled for so long.
const TIMEOUT_NS: u32 = 2_000_000;
/// How long the thread waits when nothing comes.
const TURN: Duration = Duration::from_millis(1);
