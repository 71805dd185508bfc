//! An AF_XDP socket: packets go from the driver's hook to this process, past the stack.

use std::hint::black_box;

use anyhow::Result;
use xsk::{Interface, Socket, Steer, wait};

use super::reader::{PATIENCE, Reader};
use super::{ActiveHook, Hook};
use crate::field::{Field, PORT};

/// Packets are read by an AF_XDP socket.
pub const AF_XDP: Hook = Hook::new(
    "af-xdp",
    "an AF_XDP socket that a thread on another processor reads, frames reused immediately",
    set,
)
.read();

fn set(field: &Field) -> Result<Box<dyn ActiveHook>> {
    let steer = Steer::Rules(vec![format!("any udp {PORT}").parse()?]);
    let device = field.receiver.device();
    let open = || -> Result<_> {
        let interface = Interface::builder(device).steer(steer).open()?;
        let sockets = interface.sockets(|socket| socket)?;
        Ok((interface, sockets))
    };
    let (interface, mut sockets) = field.receiver.run(open)??;
    let read = move || {
        // It lives as long as its packets are wanted.
        let _steered = &interface;
        let mut count = 0;
        for socket in &mut sockets {
            count += socket.rx().for_each(BATCH, |frame| _ = black_box(frame.first()));
        }
        if count == 0 {
            let mut rxs: Vec<_> = sockets.iter_mut().map(Socket::rx).collect();
            wait::any(&mut rxs, PATIENCE)?;
        }
        Ok(count)
    };
    Ok(Box::new(Reader::start(field.receiver_cpu, read)?))
}

/// Packets of one queue before the next one is polled.
const BATCH: usize = 256;
