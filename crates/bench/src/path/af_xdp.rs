//! AF_XDP: frames move from one socket's receive ring to the other's transmit ring.

use std::time::Duration;

use anyhow::Result;
use xsk::{Interface, Rx, Tx, Umem};

use super::{Journey, Path, Set};
use crate::field::{Line, Worker};

pub const AF_XDP: Path = Path {
    name: "af-xdp",
    about: "user space: one thread moves frames between two AF_XDP sockets of one memory",
    journey: Journey::Crossed,
    set: |line| Ok(Box::new(start(line)?)),
};

/// The sockets' other halves; what they would do is nobody's.
struct Running {
    worker: Worker,
    _unused: (Tx, Rx),
}

fn start(line: &Line) -> Result<Running> {
    let umem = Umem::builder().frames(FRAMES).build()?;
    let opened = line.near.run(|| -> Result<_> {
        let from = Interface::builder(line.near.device()).open()?;
        let to = Interface::builder(line.far.device()).without_steering().open()?;
        let open = |interface: Interface| -> Result<_> {
            Ok(interface.socket(0).umem(&umem).rings(RING).fill(RING).open()?.split())
        };
        Ok((open(from)?, open(to)?))
    })?;
    let ((near_tx, mut rx), (mut tx, far_rx)) = opened?;
    let worker = Worker::start(line.cpus.process, move || {
        if pass(&mut rx, &mut tx)? == 0 {
            rx.wait(TURN)?;
        }
        Ok(())
    })?;
    Ok(Running { worker, _unused: (near_tx, far_rx) })
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
/// How long the thread sleeps when nothing comes.
const TURN: Duration = Duration::from_millis(1);
