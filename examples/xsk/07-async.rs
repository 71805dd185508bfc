//! An echo on tokio: sockets are awaited beside whatever else the program does.
//!
//! `sudo target/debug/xsk-07-async eth0 'any udp 7' 1000`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::{Context, Result};
use xsk::asynchronous::{AsyncRx, AsyncTx};
use xsk::{Interface, Steer};

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(echo())
}

async fn echo() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: xsk-07-async IFACE RULE [COUNT]";
    let (name, rule) = (words.next().context(usage)?, words.next().context(usage)?);
    let count: u64 = words.next().map_or(Ok(1000), |word| word.parse())?;

    let steer = Steer::Rules(vec![rule.parse()?]);
    let interface = Interface::builder(&name).steer(steer).open()?;
    let (tx, rx) = interface.socket(0).batch(64).open()?.split();
    let (mut tx, mut rx) = (AsyncTx::new(tx)?, AsyncRx::new(rx)?);
    println!("answering {count} packets");

    let mut answered = 0;
    while answered < count {
        let Ok(packets) = tokio::time::timeout(Duration::from_secs(10), rx.batch(64)).await else {
            break;
        };
        for mut packet in packets? {
            let (target, source) = packet[..12].split_at_mut(6);
            target.swap_with_slice(source);
            // Waits for room; other tasks run meanwhile.
            tx.push(packet).await.map_err(|rejected| rejected.why)?;
            answered += 1;
        }
        tx.tx().flush()?;
    }

    let end = tx.drain(Duration::from_secs(1)).await;
    println!("answered {answered}, not done {}", end.left);
    Ok(())
}
