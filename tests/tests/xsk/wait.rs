//! Waiting: each wait ends, by what it waits for or by its deadline, and nothing stalls.

use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use lab::{Host, LinkOptions, TwoHosts, until};
use sys::poll::readable;
use sys::thread::Interruptible;
use xsk::socket::Builder;
use xsk::wait::{BusyPoll, Interrupt};
use xsk::{Deadline, Interface, Rx, SendError, SharedTx, Socket, Tx, Umem, Wait};

use xway_tests::xsk::{PATIENCE, hold_back, lengths, packet, quiet_hosts};

const SOON: Duration = Duration::from_millis(30);
const POLICIES: [Wait; 4] = [Wait::Spin, Wait::Poll, Wait::BusyPoll, Wait::Adaptive];

fn net() -> TwoHosts {
    quiet_hosts(&LinkOptions::default())
}

/// A socket on eth0 of `host`, as `change` wants it.
fn open_with(
    host: &Host,
    umem: &Umem,
    change: impl FnOnce(Builder<'_>) -> Builder<'_> + Send,
) -> Socket {
    let interface = host.run(|| Interface::open("eth0")).unwrap().unwrap();
    let open = || change(interface.socket(0).umem(umem).rings(256).fill(256)).open();
    host.run(open).unwrap().unwrap()
}

/// Makes the compiler infer a closure for builders of any lifetime.
fn wanted<F: FnOnce(Builder<'_>) -> Builder<'_> + Send>(change: F) -> F {
    change
}

fn umem() -> Umem {
    Umem::builder().frames(1024).build().unwrap()
}

fn open(host: &Host) -> (Tx, Rx) {
    open_with(host, &umem(), |builder| builder).split()
}

/// Runs `wait` in a thread, and reports when that thread has fallen asleep in it.
fn asleep<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    wait: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = scope.spawn(move || {
        tell.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
        wait()
    });
    let task: PathBuf = told.recv().unwrap();
    until("the thread sleeps", PATIENCE, || {
        let status = fs::read_to_string(PathBuf::from("/proc").join(&task).join("stat"));
        Ok(status.unwrap_or_default().contains(") S ").then_some(()))
    })
    .unwrap();
    thread
}

fn release(host: &Host) {
    let set = |name: &str, value: &str| host.netns().set_attribute("eth0", name, value).unwrap();
    set("napi_defer_hard_irqs", "0");
    set("gro_flush_timeout", "0");
    let ifindex = host.ifindex("eth0").unwrap();
    for up in [false, true] {
        host.netlink().unwrap().set_up(ifindex, up).unwrap();
    }
}

#[test]
fn a_packet_ends_a_wait_of_each_kind() {
    let net = net();
    let (mut tx, _rx) = open(&net.a);
    let memory = umem();
    let busy = wanted(|builder| builder.busy_poll(BusyPoll::default()));
    let (_tx, mut rx) = open_with(&net.b, &memory, busy).split();
    for policy in POLICIES {
        rx.set_wait(policy);
        for length in 60..80 {
            let mut buffer = [0; 2048];
            let (tell, told) = std::sync::mpsc::channel();
            thread::scope(|scope| {
                let rx = &mut rx;
                let thread = scope.spawn(move || {
                    tell.send(()).unwrap();
                    rx.recv(&mut buffer, PATIENCE)
                });
                told.recv().unwrap();
                tx.send(&packet(length)).unwrap();
                assert_eq!(thread.join().unwrap().unwrap(), Some(length), "{policy:?}");
            });
        }
    }
}

#[test]
fn a_packet_wakes_a_sleeper() {
    let net = net();
    let (mut tx, _rx) = open(&net.a);
    for policy in [Wait::Poll, Wait::Adaptive] {
        let (_tx, mut rx) = open_with(&net.b, &umem(), |builder| builder.wait(policy)).split();
        thread::scope(|scope| {
            let thread = asleep(scope, || rx.wait(Deadline::NEVER));
            tx.send(&packet(60)).unwrap();
            assert!(thread.join().unwrap().unwrap(), "{policy:?}");
        });
        assert_eq!(lengths(&mut rx, 1), [60]);
    }
}

#[test]
fn without_packets_the_deadline_ends_it() {
    let net = net();
    let busy = wanted(|builder| builder.busy_poll(BusyPoll::default()));
    let (_tx, mut rx) = open_with(&net.a, &umem(), busy).split();
    for policy in POLICIES {
        rx.set_wait(policy);
        assert!(!rx.wait(Duration::ZERO).unwrap(), "{policy:?}");
        let start = Instant::now();
        assert!(!rx.wait(start + SOON).unwrap(), "{policy:?}");
        assert!(start.elapsed() >= SOON, "{policy:?}");
        assert_eq!(rx.recv(&mut [0; 64], SOON).unwrap(), None, "{policy:?}");
        assert!(!Rx::wait_any(&mut [&mut rx], SOON).unwrap(), "{policy:?}");
    }
}

#[test]
fn an_interrupt_ends_every_wait() {
    let net = net();
    for policy in POLICIES {
        let interrupt = Interrupt::new().unwrap();
        let memory = Umem::builder().frames(64).build().unwrap();
        let change = wanted(|builder| {
            let builder = builder.rings(64).fill(64).busy_poll(BusyPoll::default());
            builder.wait(policy).interrupt(&interrupt)
        });
        // The fill ring has all frames, so there is none to send.
        let (mut tx, mut rx) = open_with(&net.a, &memory, change).split();
        thread::scope(|scope| {
            let receiving = scope.spawn(|| rx.recv(&mut [0; 64], Deadline::NEVER));
            let sending = scope.spawn(|| tx.wait(Deadline::NEVER));
            interrupt.raise();
            assert_eq!(receiving.join().unwrap().unwrap(), None, "{policy:?}");
            assert!(!sending.join().unwrap().unwrap(), "{policy:?}");
        });
        assert!(!Rx::wait_any(&mut [&mut rx], Deadline::NEVER).unwrap(), "{policy:?}");
        assert!(matches!(tx.send_until(&packet(60), Deadline::NEVER), Err(SendError::Full)));
    }
}

#[test]
fn a_signal_ends_a_sleep_but_no_drain() {
    let net = net();
    let memory = umem();
    let (mut tx, mut rx) = open_with(&net.a, &memory, |builder| builder.wait(Wait::Poll)).split();
    let (_tx, mut there) = open(&net.b);
    hold_back(&net.b, &mut tx, &mut there);
    tx.send(&packet(60)).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            tell.send(Interruptible::current().unwrap()).unwrap();
            let waited = rx.wait(Deadline::NEVER);
            let start = Instant::now();
            let drained = tx.drain(start + SOON);
            (waited, drained, start.elapsed())
        });
        let thread = told.recv().unwrap();
        // Until it is over: a signal before the sleep is not heard.
        let over = until("the end of the wait", PATIENCE, || {
            let _ = thread.interrupt();
            Ok(waiting.is_finished().then_some(()))
        });
        over.unwrap();
        let (waited, drained, took) = waiting.join().unwrap();
        assert!(!waited.unwrap(), "there was no packet");
        assert!(drained.failed.is_none() && drained.left > 0 && took >= SOON, "{drained:?}");
    });
}

#[test]
fn a_removed_interface_ends_a_wait_without_deadline() {
    for policy in POLICIES {
        let net = net();
        let change = wanted(|builder| builder.busy_poll(BusyPoll::default()).wait(policy));
        let (_tx, mut rx) = open_with(&net.a, &umem(), change).split();
        thread::scope(|scope| {
            let thread = scope.spawn(|| rx.wait(Deadline::NEVER));
            let ifindex = net.a.ifindex("eth0").unwrap();
            net.a.netlink().unwrap().delete_link(ifindex).unwrap();
            let error = thread.join().unwrap().unwrap_err().to_string();
            assert!(error.contains("eth0"), "{policy:?}: {error}");
        });
        assert!(Rx::wait_any(&mut [&mut rx], Deadline::NEVER).is_err(), "{policy:?}");
    }
}

#[test]
fn a_receiver_without_frames_continues_when_some_are_free() {
    let net = net();
    let (mut tx, _rx) = open(&net.a);
    for policy in [Wait::Spin, Wait::Poll, Wait::Adaptive] {
        let memory = Umem::builder().frames(64).build().unwrap();
        let change = wanted(|builder| builder.rings(64).fill(64).wait(policy));
        let (_tx, mut rx) = open_with(&net.b, &memory, change).split();
        let mut held = Vec::new();
        while held.len() < 64 {
            tx.send(&packet(60)).unwrap();
            assert!(rx.wait(PATIENCE).unwrap());
            held.extend(rx.batch(64));
        }
        tx.send(&packet(60)).unwrap();
        assert!(!rx.wait(SOON).unwrap(), "the kernel has no frame: {policy:?}");
        thread::scope(|scope| {
            let thread = scope.spawn(|| rx.wait(PATIENCE));
            drop(held);
            until("the receiver is woken", PATIENCE, || {
                tx.send(&packet(60)).unwrap();
                Ok(thread.is_finished().then_some(()))
            })
            .unwrap();
            assert!(thread.join().unwrap().unwrap(), "{policy:?}");
        });
    }
}

#[test]
fn one_thread_waits_for_several_sockets() {
    let net = net();
    let ((mut left_tx, mut left), (mut right_tx, mut right)) = (open(&net.a), open(&net.b));
    assert!(!Rx::wait_any(&mut [], Deadline::NEVER).unwrap(), "no socket, no wait");
    for policy in [Wait::Spin, Wait::Poll, Wait::Adaptive] {
        left.set_wait(policy);
        left_tx.send(&packet(60)).unwrap();
        assert!(Rx::wait_any(&mut [&mut left, &mut right], PATIENCE).unwrap());
        assert_eq!((lengths(&mut right, 1), left.batch(64).count()), (vec![60], 0));
        thread::scope(|scope| {
            let tx = &mut right_tx;
            scope.spawn(move || tx.send(&packet(61)).unwrap());
            assert!(Rx::wait_any(&mut [&mut left, &mut right], PATIENCE).unwrap());
        });
        assert_eq!((lengths(&mut left, 1), right.batch(64).count()), (vec![61], 0));
    }
}

#[test]
fn an_event_loop_has_a_descriptor_that_keeps_nothing_open() {
    let net = net();
    let (mut tx, _rx) = open(&net.a);
    let memory = umem();
    let (back, mut rx) = open_with(&net.b, &memory, |builder| builder).split();
    let readiness = rx.readiness().unwrap();
    assert!(!readable(readiness.as_fd(), Duration::ZERO).unwrap());
    assert!(readable(back.readiness().unwrap().as_fd(), PATIENCE).unwrap(), "the ring has room");
    tx.send(&packet(60)).unwrap();
    assert!(readable(readiness.as_fd(), PATIENCE).unwrap());
    assert_eq!(lengths(&mut rx, 1), [60]);
    assert!(!readable(readiness.as_fd(), Duration::ZERO).unwrap());
    let copy = readiness.as_fd().try_clone_to_owned().unwrap();
    drop((back, rx));
    assert!(memory.audit().is_all_free(), "{:?}", memory.audit());
    open_with(&net.b, &memory, |builder| builder);
    assert!(!readable(copy.as_fd(), Duration::ZERO).unwrap());
}

#[test]
fn what_is_sent_is_drained() {
    let net = net();
    let (mut tx, _rx) = open_with(&net.a, &umem(), |builder| builder.batch(64)).split();
    let (_tx, mut rx) = open(&net.b);
    for _ in 0..100 {
        tx.send(&packet(60)).unwrap();
    }
    let drained = tx.drain(PATIENCE);
    assert!(drained.failed.is_none() && drained.left == 0, "{drained:?}");
    assert_eq!((tx.in_flight(), tx.counters().completed), (0, 100));
    assert_eq!(lengths(&mut rx, 100).len(), 100);
    assert_eq!(tx.drain(Duration::ZERO).completed, 0, "nothing is left");
}

#[test]
fn a_drain_does_not_hang_on_a_receiver_that_is_stuck() {
    let net = net();
    let memory = umem();
    let (mut tx, rx) = open_with(&net.a, &memory, |builder| builder).split();
    let (_tx, mut there) = open(&net.b);
    hold_back(&net.b, &mut tx, &mut there);
    for policy in [Wait::Spin, Wait::Poll, Wait::Adaptive] {
        tx.set_wait(policy);
        tx.send(&packet(60)).unwrap();
        let start = Instant::now();
        let drained = tx.drain(start + SOON);
        assert!(start.elapsed() >= SOON, "{policy:?}: it waits as long as it may");
        assert!(drained.failed.is_none() && drained.left > 0, "{policy:?}: {drained:?}");
        assert_eq!(drained.left, tx.in_flight());
    }
    drop((tx, rx));
    assert!(memory.audit().is_all_free(), "{:?}", memory.audit());
}

#[test]
fn a_drain_ends_when_the_interface_is_down_or_gone() {
    let net = net();
    let memory = umem();
    let (mut tx, rx) = open_with(&net.a, &memory, |builder| builder.batch(64)).split();
    let ifindex = net.a.ifindex("eth0").unwrap();
    let mut netlink = net.a.netlink().unwrap();
    tx.send(&packet(60)).unwrap();
    netlink.set_up(ifindex, false).unwrap();
    let drained = tx.drain(Deadline::NEVER);
    assert_eq!(drained.left, 1);
    assert!(drained.failed.unwrap().to_string().contains("is down"));
    netlink.set_up(ifindex, true).unwrap();
    // The other end finds its link again in its own time.
    let drained = until("sent after all", PATIENCE, || {
        let drained = tx.drain(PATIENCE);
        Ok((drained.left == 0).then_some(drained))
    });
    assert!(drained.unwrap().failed.is_none());
    netlink.delete_link(ifindex).unwrap();
    // Whether the packet is taken depends on when the socket hears of it.
    let _ = tx.send(&packet(60));
    let drained = tx.drain(PATIENCE);
    assert!(drained.left == 0 || drained.failed.is_some(), "{drained:?}");
    drop((tx, rx));
    assert!(memory.audit().is_all_free(), "{:?}", memory.audit());
}

#[test]
fn a_drain_ends_without_a_peer() {
    let net = net();
    let (mut tx, _rx) = open(&net.a);
    // Without a program on the other end the driver has no receiver for it.
    for _ in 0..1000 {
        tx.send_until(&packet(60), PATIENCE).unwrap();
    }
    assert_eq!(tx.drain(PATIENCE).left, 0);
    let ifindex = net.b.ifindex("eth0").unwrap();
    net.b.netlink().unwrap().set_up(ifindex, false).unwrap();
    for _ in 0..1000 {
        tx.send_until(&packet(60), PATIENCE).unwrap();
    }
    assert_eq!(tx.drain(PATIENCE).left, 0, "the packets are lost, the frames are not");
}

#[test]
fn a_sender_without_free_slots_reports_it_and_continues() {
    let net = net();
    let memory = Umem::builder().frames(128).build().unwrap();
    let (_tx, mut there) = open(&net.b);
    let change = wanted(|builder| builder.rings(64).fill(64));
    let (mut tx, _rx) = open_with(&net.a, &memory, change).split();
    hold_back(&net.b, &mut tx, &mut there);
    let taken = std::iter::repeat_with(|| tx.send(&packet(60))).take_while(Result::is_ok).count();
    assert_eq!(taken, 64, "as many as there are frames");
    for policy in [Wait::Spin, Wait::Poll, Wait::Adaptive] {
        tx.set_wait(policy);
        assert!(!tx.wait(SOON).unwrap(), "{policy:?}");
        let late = tx.send_until(&packet(60), SOON);
        assert!(matches!(late, Err(SendError::Full)), "{policy:?}: {late:?}");
        let bytes = packet(60);
        let all = tx.send_all([&bytes[..], &bytes[..]], SOON);
        assert_eq!(all.unwrap(), 0, "{policy:?}");
    }
    thread::scope(|scope| {
        let thread = scope.spawn(|| tx.send_until(&packet(60), PATIENCE));
        release(&net.b);
        thread.join().unwrap().unwrap();
    });
    assert!(tx.wait(PATIENCE).unwrap());
    assert_eq!(tx.drain(PATIENCE).left, 0);
}

#[test]
fn every_packet_to_a_slow_receiver_is_sent_or_refused() {
    let net = net();
    let memory = Umem::builder().frames(128).build().unwrap();
    let change = wanted(|builder| builder.rings(64).fill(64).batch(16));
    let (mut tx, _rx) = open_with(&net.a, &memory, change).split();
    let (_tx, mut rx) = open_with(&net.b, &umem(), |builder| builder.rings(64).fill(64)).split();
    let (mut sent, mut full, mut received) = (0u64, 0u64, 0u64);
    for round in 0..20_000 {
        match tx.send(&packet(60)) {
            Ok(()) => sent += 1,
            Err(SendError::Full) => {
                full += 1;
                assert!(tx.wait(PATIENCE).unwrap(), "stalled after {sent} packets");
            }
            Err(why) => panic!("{why}"),
        }
        if round % 4 == 0 {
            received += rx.for_each(1, |_| ()) as u64;
        }
    }
    assert_eq!(tx.drain(PATIENCE).left, 0);
    received += std::iter::repeat_with(|| rx.for_each(64, |_| ()) as u64)
        .take_while(|count| *count > 0)
        .sum::<u64>();
    let lost = rx.stats().unwrap().kernel;
    assert_eq!((tx.counters().sent, tx.counters().completed), (sent, sent));
    assert_eq!(sent + full, 20_000);
    let explained = received + lost.rx_ring_full + lost.rx_dropped;
    assert_eq!(explained, sent, "{received} received, {lost:?}");
}

#[test]
fn a_partial_batch_is_sent_in_time() {
    let net = net();
    let longest = Duration::from_millis(2);
    let change = wanted(|builder| builder.batch(64).longest_delay(longest));
    let (mut tx, _rx) = open_with(&net.a, &umem(), change).split();
    let (_tx, mut rx) = open(&net.b);
    tx.send(&packet(60)).unwrap();
    let sent = until("a call after the delay", PATIENCE, || {
        tx.reap();
        Ok((tx.counters().kicks > 0).then_some(()))
    });
    sent.unwrap();
    assert_eq!(lengths(&mut rx, 1), [60]);
    // Any packet that comes late enough takes those before it along.
    tx.send(&packet(61)).unwrap();
    let kicks = tx.counters().kicks;
    let sent = until("a packet after the delay", PATIENCE, || {
        tx.send(&packet(62)).unwrap();
        Ok((tx.counters().kicks > kicks).then_some(()))
    });
    sent.unwrap();
    let rest = lengths(&mut rx, tx.counters().sent as usize - 1);
    assert!(rest.starts_with(&[61, 62]), "{rest:?}");
}

#[test]
fn a_partial_batch_is_sent_by_every_wait() {
    let net = net();
    let (mut tx, _rx) = open_with(&net.a, &umem(), |builder| builder.batch(64)).split();
    let (_tx, mut rx) = open(&net.b);
    type Act = fn(&mut Tx);
    let acts: [(&str, Act); 4] = [
        ("flush", |tx| tx.flush().unwrap()),
        ("wait", |tx| assert!(tx.wait(PATIENCE).unwrap())),
        ("drain", |tx| assert_eq!(tx.drain(PATIENCE).left, 0)),
        ("send_all", |tx| assert_eq!(tx.send_all([], PATIENCE).unwrap(), 0)),
    ];
    for (name, act) in acts {
        let kicks = tx.counters().kicks;
        tx.send(&packet(60)).unwrap();
        assert_eq!(tx.counters().kicks, kicks, "{name}: one packet of 64 waits");
        act(&mut tx);
        assert_eq!(lengths(&mut rx, 1), [60], "{name}");
    }
}

#[test]
fn undelivered_frames_are_reclaimed() {
    let net = net();
    let memory = umem();
    let (mut tx, rx) = open_with(&net.a, &memory, |builder| builder.batch(64)).split();
    let (_tx, mut there) = open(&net.b);
    for length in 60..65 {
        tx.send(&packet(length)).unwrap();
    }
    tx.reap();
    assert_eq!((tx.in_flight(), tx.reset()), (5, 5));
    assert_eq!((tx.in_flight(), tx.reset(), tx.counters().sent), (0, 0, 0));
    tx.send(&packet(70)).unwrap();
    assert_eq!(tx.drain(PATIENCE).left, 0);
    assert_eq!(lengths(&mut there, 1), [70], "and none of those before it");
    drop((tx, rx));
    assert!(memory.audit().is_all_free(), "{:?}", memory.audit());
}

#[test]
fn many_threads_send_in_turns() {
    let net = net();
    let (tx, _rx) = open(&net.a);
    let (_tx, mut rx) = open_with(&net.b, &umem(), |builder| builder.rings(512).fill(512)).split();
    let tx = SharedTx::new(tx);
    thread::scope(|scope| {
        for thread in 0..4 {
            let tx = tx.clone();
            scope.spawn(move || {
                for _ in 0..16 {
                    let burst = |tx: &mut xsk::socket::TxBatch<'_>| {
                        (0..8).try_for_each(|_| tx.send_until(&packet(60 + thread), PATIENCE))
                    };
                    tx.burst(burst).unwrap().unwrap();
                }
            });
        }
    });
    let lengths = lengths(&mut rx, 512);
    for burst in lengths.chunks(8) {
        assert!(burst.iter().all(|length| *length == burst[0]), "bursts are not mixed: {burst:?}");
    }
    for thread in 0..4 {
        assert_eq!(lengths.iter().filter(|length| **length == 60 + thread).count(), 128);
    }
    let mut tx = tx.into_inner().unwrap();
    assert_eq!(tx.drain(PATIENCE).left, 0);
}
