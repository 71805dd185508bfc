//! Sockets on tokio: futures that are dropped lose nothing, and no wake-up is missed.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use lab::{Host, LinkOptions, TwoHosts};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use xsk::asynchronous::{AsyncRx, AsyncTx};
use xsk::{Interface, Rx, SendError, Tx, Umem};

use xway_tests::xsk::{PATIENCE, hold_back, packet, quiet_hosts};

const SOON: Duration = Duration::from_millis(30);
const ROUNDS: u64 = 2000;

fn net() -> TwoHosts {
    quiet_hosts(&LinkOptions::default())
}

/// Halves of a socket on eth0; each ring has 64 slots.
fn open(host: &Host, umem: &Umem) -> (Tx, Rx) {
    let open = || Interface::open("eth0")?.socket(0).umem(umem).rings(64).fill(64).open();
    host.run(open).unwrap().unwrap().split()
}

fn umem() -> Umem {
    Umem::builder().frames(128).build().unwrap()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Polls a future once, and drops it unless it is ready.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        })
    })
    .await
}

fn numbered(number: u64) -> Vec<u8> {
    let mut bytes = packet(64);
    bytes[14..22].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[14..22].try_into().unwrap())
}

/// Sends back what comes until all came, with futures that are dropped now and then.
async fn echo(tx: Tx, rx: Rx) {
    let (mut tx, mut rx) = (AsyncTx::new(tx).unwrap(), AsyncRx::new(rx).unwrap());
    let mut count = 0;
    while count < ROUNDS {
        // Dropped as soon as it waits: the next one must be woken all the same.
        if at_once(rx.ready()).await.is_none() {
            rx.ready().await.unwrap();
        }
        for frame in rx.batch(64).await.unwrap() {
            tx.push(frame).await.unwrap();
            count += 1;
        }
    }
    let drained = tx.drain(PATIENCE).await;
    assert!(drained.left == 0 && drained.failed.is_none(), "{drained:?}");
}

async fn ask(tx: Tx, rx: Rx) {
    let (mut tx, mut rx) = (AsyncTx::new(tx).unwrap(), AsyncRx::new(rx).unwrap());
    let mut buffer = [0; 2048];
    for round in 0..ROUNDS {
        tx.send(&numbered(round)).await.unwrap();
        let received = match at_once(rx.recv(&mut buffer)).await {
            Some(received) => received,
            None => timeout(PATIENCE, rx.recv(&mut buffer)).await.expect("woken in time"),
        };
        assert_eq!((received.unwrap(), number(&buffer)), (64, round));
    }
}

#[test]
fn an_echo_with_dropped_futures_misses_nothing() {
    let net = net();
    let (left, right) = (umem(), umem());
    let (asking, answering) = (open(&net.a, &left), open(&net.b, &right));
    thread::scope(|scope| {
        scope.spawn(|| {
            let echo = async { timeout(6 * PATIENCE, echo(answering.0, answering.1)).await };
            runtime().block_on(echo).expect("every packet is answered");
        });
        runtime().block_on(ask(asking.0, asking.1));
    });
    for memory in [left, right] {
        assert!(memory.audit().is_all_free(), "{:?}", memory.audit());
    }
}

#[test]
fn both_ends_in_one_runtime_take_turns() {
    let net = net();
    let (asking, answering) = (open(&net.a, &umem()), open(&net.b, &umem()));
    runtime().block_on(async {
        let answering = tokio::spawn(echo(answering.0, answering.1));
        ask(asking.0, asking.1).await;
        timeout(PATIENCE, answering).await.expect("the last one is counted").unwrap();
    });
}

#[test]
fn many_packets_come_in_order_though_every_wait_is_cut_short() {
    let net = net();
    let (mut tx, _rx) = open(&net.a, &umem());
    let (_tx, rx) = open(&net.b, &umem());
    runtime().block_on(async {
        let mut rx = AsyncRx::new(rx).unwrap();
        let mut expected = 0;
        while expected < ROUNDS {
            assert!(at_once(rx.ready()).await.is_none(), "nothing is there");
            for more in 0..32 {
                tx.send(&numbered(expected + more)).unwrap();
            }
            for _ in 0..32 {
                let batch = timeout(PATIENCE, rx.batch(1)).await.expect("woken in time");
                for frame in batch.unwrap() {
                    assert_eq!(number(&frame), expected);
                    expected += 1;
                }
            }
        }
    });
}

fn release(host: &Host) {
    let ifindex = host.ifindex("eth0").unwrap();
    host.netlink().unwrap().set_up(ifindex, false).unwrap();
}

#[test]
fn a_sender_without_frames_waits_and_a_dropped_future_has_sent_nothing() {
    let net = net();
    let memory = umem();
    let (_tx, mut there) = open(&net.b, &umem());
    let (mut tx, rx) = open(&net.a, &memory);
    hold_back(&net.b, &mut tx, &mut there);
    let runtime = runtime();
    let mut tx = runtime.block_on(async {
        let mut tx = AsyncTx::new(tx).unwrap();
        while at_once(tx.send(&packet(61))).await.is_some() {}
        let sent = tx.tx().counters().sent;
        assert!(timeout(SOON, tx.send(&packet(62))).await.is_err());
        assert_eq!(tx.tx().counters().sent, sent);
        assert_eq!(tx.drain(SOON).await.left, 64, "every frame that is not in the fill ring");
        tx
    });
    thread::scope(|scope| {
        scope.spawn(|| release(&net.b));
        let sent = runtime.block_on(async { timeout(PATIENCE, tx.send(&packet(63))).await });
        sent.expect("woken in time").unwrap();
        assert_eq!(runtime.block_on(tx.drain(PATIENCE)).left, 0);
    });
    drop((tx, rx));
    assert!(memory.audit().is_all_free(), "{:?}", memory.audit());
}

#[test]
fn a_frame_in_a_dropped_future_is_free_again() {
    let net = net();
    let memory = Umem::builder().frames(1024).build().unwrap();
    let (_tx, mut there) = open(&net.b, &umem());
    // With a queue before it the driver keeps packets for which it has no space.
    let mut command = net.a.command("tc").unwrap();
    command.args(["qdisc", "add", "dev", "eth0", "root", "pfifo"]);
    assert!(command.status().unwrap().success());
    let (mut tx, rx) = open(&net.a, &memory);
    hold_back(&net.b, &mut tx, &mut there);
    let runtime = runtime();
    let mut tx = runtime.block_on(async {
        let mut tx = AsyncTx::new(tx).unwrap();
        let mut sent = 0;
        while sent < 1024 - 64 {
            let frame = {
                let mut frame = tx.tx().alloc().expect("the ring is full before");
                assert!(frame.write(&packet(61)));
                frame
            };
            if at_once(tx.push(frame)).await.is_none() {
                break;
            }
            sent += 1;
        }
        assert!(sent < 1024 - 64, "the ring is full at some time");
        assert_eq!(tx.tx().counters().sent, sent + 1);
        tx
    });
    thread::scope(|scope| {
        scope.spawn(|| release(&net.b));
        let drained = runtime.block_on(tx.drain(PATIENCE));
        assert_eq!(drained.left, 0, "{drained:?}");
    });
    drop((tx, rx));
    assert!(memory.audit().is_all_free(), "{:?}", memory.audit());
}

#[test]
fn a_receiver_without_frames_continues_when_some_are_free() {
    let net = net();
    let (mut tx, _rx) = open(&net.a, &umem());
    let (_tx, mut rx) = open(&net.b, &Umem::builder().frames(64).build().unwrap());
    let mut held = Vec::new();
    while held.len() < 64 {
        tx.send(&packet(60)).unwrap();
        assert!(rx.wait(PATIENCE).unwrap());
        held.extend(rx.batch(64));
    }
    runtime().block_on(async {
        let mut rx = AsyncRx::new(rx).unwrap();
        tx.send(&packet(61)).unwrap();
        assert!(timeout(SOON, rx.ready()).await.is_err(), "the kernel has no frame");
        drop(held);
        let sending = async {
            loop {
                tx.send(&packet(62)).unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let (mut sending, mut buffer) = (pin!(sending), [0; 64]);
        let mut receiving = pin!(rx.recv(&mut buffer));
        let both = poll_fn(|context| {
            let _: Poll<()> = sending.as_mut().poll(context);
            receiving.as_mut().poll(context)
        });
        assert_eq!(timeout(PATIENCE, both).await.expect("woken in time").unwrap(), 62);
    });
}

#[test]
fn a_removed_interface_is_an_error() {
    let net = net();
    let (tx, rx) = open(&net.a, &umem());
    runtime().block_on(async {
        let (mut tx, mut rx) = (AsyncTx::new(tx).unwrap(), AsyncRx::new(rx).unwrap());
        assert!(at_once(rx.ready()).await.is_none());
        let ifindex = net.a.ifindex("eth0").unwrap();
        net.a.netlink().unwrap().delete_link(ifindex).unwrap();
        let received = timeout(PATIENCE, rx.recv(&mut [0; 64])).await.expect("noticed in time");
        assert!(received.unwrap_err().to_string().contains("eth0"));
        let sent = loop {
            match timeout(PATIENCE, tx.send(&packet(60))).await.expect("noticed in time") {
                Ok(()) => (),
                Err(error) => break error,
            }
        };
        assert!(matches!(sent, SendError::Failed(_)), "{sent}");
    });
}

#[test]
fn outside_of_a_runtime_it_is_an_error() {
    let net = net();
    let (tx, rx) = open(&net.a, &umem());
    for error in [AsyncTx::new(tx).unwrap_err(), AsyncRx::new(rx).unwrap_err()] {
        assert!(error.to_string().contains("in a tokio runtime"), "{error}");
    }
}
