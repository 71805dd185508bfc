//! Impossible requests: each refusal names the remedy, and nothing remains.

use std::time::{Duration, Instant};

use lab::{Host, LinkOptions, TwoHosts, until};
use xsk::socket::Mode;
use xsk::umem::HugePages;
use xsk::{ConfigError, Interface, SendError, Socket, Umem};

use xway_tests::xsk::{Holder, PATIENCE, lengths, packet, quiet_hosts, umem};

fn plain() -> TwoHosts {
    quiet_hosts(&LinkOptions::default())
}

/// A socket on eth0 of `host`, as `change` wants it.
fn open_with(
    host: &Host,
    queue: u32,
    umem: &Umem,
    change: impl FnOnce(xsk::socket::Builder<'_>) -> xsk::socket::Builder<'_> + Send,
) -> xsk::Result<Socket> {
    host.run(|| {
        let interface = Interface::open("eth0")?;
        change(interface.socket(queue).umem(umem).rings(512).fill(512)).open()
    })
    .unwrap()
}

fn open(host: &Host, queue: u32, umem: &Umem) -> xsk::Result<Socket> {
    open_with(host, queue, umem, |builder| builder)
}

#[track_caller]
fn fails<T>(outcome: Result<T, impl ToString>, expected: &[&str]) {
    let Err(error) = outcome else { panic!("it was not refused: {expected:?}") };
    let text = error.to_string();
    for part in expected {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[track_caller]
fn refuses<T>(outcome: xsk::Result<T>, expected: &ConfigError) {
    match outcome {
        Err(xsk::Error::Config(error)) => assert_eq!(error, *expected),
        Err(other) => panic!("{other} instead of {expected}"),
        Ok(_) => panic!("not refused: {expected}"),
    }
}

#[test]
fn memory_that_cannot_be() {
    let cases = [
        (Umem::builder().frame_size(1024), ConfigError::FrameSize { size: 1024, page: 4096 }),
        (Umem::builder().frame_size(8192), ConfigError::FrameSize { size: 8192, page: 4096 }),
        (Umem::builder().frame_size(3000), ConfigError::FrameAlignment { size: 3000, near: 4096 }),
        (Umem::builder().frames(0), ConfigError::FrameCount { count: 0 }),
        (Umem::builder().frames(u32::MAX), ConfigError::FrameCount { count: u32::MAX }),
        (
            Umem::builder().headroom(1345),
            ConfigError::Headroom { headroom: 1345, size: 2048, max: 1344 },
        ),
        (
            Umem::builder().headroom(u32::MAX),
            ConfigError::Headroom { headroom: u32::MAX, size: 2048, max: 1344 },
        ),
    ];
    for (builder, expected) in cases {
        refuses(builder.build(), &expected);
    }
    let huge = Umem::builder().frames(1 << 24).frame_size(4096).huge_pages(HugePages::Require);
    fails(huge.build(), &["vm.nr_hugepages"]);
    let fallen_back = Umem::builder().frames(1 << 10).huge_pages(HugePages::Try).build().unwrap();
    let refusal = fallen_back.huge_pages_refused().map(ToString::to_string);
    assert_eq!(refusal.is_none(), fallen_back.uses_huge_pages(), "{refusal:?}");
}

#[test]
fn rings_that_cannot_be() {
    let net = plain();
    let umem = umem();
    let slots = |ring, slots, near| ConfigError::RingSlots { ring, slots, near };
    refuses(open_with(&net.a, 0, &umem, |b| b.rings(1000)), &slots("rings", 1000, 1024));
    refuses(open_with(&net.a, 0, &umem, |b| b.rings(0)), &slots("rings", 0, 1));
    refuses(
        open_with(&net.a, 0, &umem, |b| b.fill(1 << 20)),
        &slots("a fill ring", 1 << 20, 1 << 16),
    );
    for batch in [0, 513] {
        let opened = open_with(&net.a, 0, &umem, |b| b.batch(batch));
        refuses(opened, &ConfigError::Batch { batch, slots: 512 });
    }
    let budget = open_with(&net.a, 0, &umem, |b| b.transmit_budget(16));
    fails(budget, &["XDP_MAX_TX_SKB_BUDGET", "32 to the size of the tx ring (512), not 16"]);
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn packets_that_cannot_be_sent() {
    let net = plain();
    let (memory, other) = (umem(), umem());
    let (mut tx, _rx) = open(&net.a, 0, &memory).unwrap().split();
    assert!(matches!(tx.send(&[]), Err(SendError::Empty)));
    let room = memory.transmit_room() as usize;
    fails(tx.send(&vec![0; room + 1]), &[&format!("there is room for {room}"), "larger frames"]);
    let mut foreign = other.alloc().unwrap();
    assert!(foreign.write(&packet(60)));
    fails(tx.push(foreign).map_err(|rejected| rejected.why), &["other memory than the socket's"]);
    let mut chain = tx.alloc().unwrap();
    assert!(chain.write(&packet(60)));
    let mut tail = tx.alloc().unwrap();
    assert!(tail.write(&packet(60)));
    chain.append(tail).unwrap();
    fails(tx.push(chain).map_err(|rejected| rejected.why), &["2 parts", "multi-buffer on"]);
    tx.send(&packet(60)).unwrap();
    drop((tx, _rx));
    for (name, umem) in [("own", memory), ("foreign", other)] {
        assert!(umem.audit().is_all_free(), "{name}: {:?}", umem.audit());
    }
}

#[test]
fn an_interface_that_is_not_there() {
    let net = plain();
    let opened = net.a.run(|| Interface::open("eth9")).unwrap();
    fails(opened, &["eth9: there is no such interface", "existing: lo, eth0"]);
}

#[test]
fn a_queue_that_is_not_there() {
    let net = quiet_hosts(&LinkOptions { queues: 2, ..LinkOptions::default() });
    let umem = umem();
    fails(open(&net.a, 2, &umem), &["eth0: it has no receive queue 2; it has 0 to 1"]);
    // The kernel itself would take it for queue 0.
    fails(open(&net.a, 1 << 16, &umem), &["no receive queue 65536"]);
    open(&net.a, 1, &umem).unwrap();
}

#[test]
fn a_queue_that_is_taken_names_who_has_it() {
    let net = plain();
    let umem = umem();
    let holder = Holder::start(&net.a, &[], &["eth0", "0", "--bare"]).unwrap();
    let soon = Duration::from_millis(50);
    let taken = open_with(&net.a, 0, &umem, |builder| builder.patience(soon));
    fails(taken, &["queue 0 of eth0 is used by `xsk-hold`", &format!("process {}", holder.pid())]);
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
    holder.kill();
    let socket = open(&net.a, 0, &umem).expect("a killed process gives its queue back");
    let own = open_with(&net.a, 0, &xway_tests::xsk::umem(), |builder| builder.patience(soon));
    fails(own, &["queue 0 of eth0 has a socket of this process: close it"]);
    drop(socket);
    open(&net.a, 0, &umem).expect("a closed socket gives its queue back");
}

#[test]
fn an_interface_that_is_down() {
    let net = plain();
    let umem = umem();
    let mut netlink = net.a.netlink().unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    netlink.set_up(ifindex, false).unwrap();
    fails(open(&net.a, 0, &umem), &["eth0: it is down", "`ip link set eth0 up`"]);
    netlink.set_up(ifindex, true).unwrap();

    let (mut tx, _rx) = open(&net.a, 0, &umem).unwrap().split();
    netlink.set_up(ifindex, false).unwrap();
    fails(tx.send(&packet(60)), &["ENETDOWN", "eth0 is down", "`ip link set eth0 up`"]);
    netlink.set_up(ifindex, true).unwrap();
    until("sending again", PATIENCE, || Ok(tx.send(&packet(60)).ok())).unwrap();
    drop((tx, _rx));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn an_interface_that_is_removed_in_use() {
    let net = plain();
    let umem = umem();
    let (mut tx, mut rx) = open(&net.a, 0, &umem).unwrap().split();
    tx.send(&packet(60)).unwrap();
    net.a.netlink().unwrap().delete_link(net.a.ifindex("eth0").unwrap()).unwrap();
    let gone = ["ENXIO", "eth0 was removed", "open it again"];
    fails(tx.send(&packet(60)), &gone);
    fails(tx.flush(), &gone);
    fails(rx.wait(PATIENCE), &gone);
    drop((tx, rx));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
    fails(open(&net.a, 0, &umem), &["eth0: there is no such interface"]);
}

#[test]
fn a_peer_without_xdp_still_receives() {
    // What redirect sends would be lost there. Copies go the way of ordinary packets.
    let net = quiet_hosts(&LinkOptions { gro: false, ..LinkOptions::default() });
    let wire = lab::Capture::open(&net.b, "eth0").unwrap();
    let (mut tx, _rx) = open(&net.a, 0, &umem()).unwrap().split();
    let sent = packet(60);
    tx.send(&sent).unwrap();
    assert_eq!(wire.next(PATIENCE, |seen| seen == sent).unwrap(), sent);
}

#[test]
fn a_link_whose_other_end_is_down() {
    let net = plain();
    let umem = umem();
    let (mut tx, _rx) = open(&net.a, 0, &umem).unwrap().split();
    let mut netlink = net.a.netlink().unwrap();
    net.b.netlink().unwrap().set_up(net.b.ifindex("eth0").unwrap(), false).unwrap();
    until("the link to be down", PATIENCE, || Ok((!netlink.link("eth0")?.running).then_some(())))
        .unwrap();
    for _ in 0..10 {
        tx.send(&packet(60)).unwrap();
    }
    until("the frames back", PATIENCE, || {
        tx.reap();
        Ok((tx.counters().completed == 10).then_some(()))
    })
    .unwrap();
    let counters = tx.counters();
    assert_eq!((counters.sent, counters.dropped), (10, 10), "{counters:?}");
    drop((tx, _rx));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn frames_smaller_than_the_mtu() {
    let net = quiet_hosts(&LinkOptions { mtu: 3000, ..LinkOptions::default() });
    let small = umem();
    let refused = open(&net.b, 0, &small);
    fails(refused, &["eth0: packets of up to 3018 bytes", "frames of 4096", "MTU to 1774"]);
    let large = Umem::builder().frames(2048).frame_size(4096).build().unwrap();
    let (_tx, mut rx) = open(&net.b, 0, &large).unwrap().split();
    let wire = lab::Capture::open(&net.a, "eth0").unwrap();
    wire.send(&packet(3014)).unwrap();
    assert_eq!(lengths(&mut rx, 1), [3014]);
}

#[test]
fn packets_longer_than_a_frame_are_dropped_and_counted() {
    let net = plain();
    let umem = umem();
    let (_tx, mut rx) = open(&net.b, 0, &umem).unwrap().split();
    // Set higher afterwards, without the socket's knowledge.
    for host in [&net.a, &net.b] {
        let ifindex = host.ifindex("eth0").unwrap();
        host.netlink().unwrap().set_mtu(ifindex, 3000).unwrap();
    }
    let wire = lab::Capture::open(&net.a, "eth0").unwrap();
    let room = umem.receive_room() as usize;
    for len in [3000, room + 1, room, 1000] {
        wire.send(&packet(len)).unwrap();
    }
    assert_eq!(lengths(&mut rx, 2), [room, 1000], "the long ones are not cut");
    assert_eq!(rx.stats().unwrap().kernel.rx_dropped, 2);
}

#[test]
fn zero_copy_that_the_driver_has_not() {
    let net = plain();
    let umem = umem();
    let refused = open_with(&net.a, 0, &umem, |builder| builder.mode(Mode::ZeroCopy));
    fails(refused, &["eth0: driver veth has no zero copy for AF_XDP; allow copying"]);
    let copied = open(&net.a, 0, &umem).unwrap();
    assert!(!copied.is_zero_copy(), "what is not there is not told");
    assert_eq!(copied.why_copied(), Some("driver veth has no zero copy for AF_XDP"));
}

#[test]
fn memory_beyond_what_the_user_may_lock() {
    let net = plain();
    let limited = ["prlimit", "--memlock=65536:65536", "setpriv", "--bounding-set=-ipc_lock"];
    let refused = Holder::start(&net.a, &limited, &["eth0", "0", "--frames", "1024"]);
    fails(refused, &["XDP_UMEM_REG", "2048 KiB", "64 KiB", "ulimit -l", "CAP_IPC_LOCK"]);
    let privileged = &limited[..2];
    Holder::start(&net.a, privileged, &["eth0", "0", "--frames", "1024"])
        .expect("the limit does not count for who has CAP_IPC_LOCK");
}

#[test]
fn rights_that_are_missing() {
    let net = plain();
    let without = |set: &str| {
        let set = format!("--bounding-set={set}");
        Holder::start(&net.a, &["setpriv", &set], &["eth0", "0"])
    };
    fails(without("-net_raw"), &["socket(AF_XDP)", "lacks CAP_NET_RAW", "setcap"]);
    fails(without("-all"), &["CAP_BPF", "CAP_NET_ADMIN"]);
    fails(without("-net_admin,-sys_admin"), &["CAP_NET_ADMIN"]);
    // Without CAP_IPC_LOCK the limit counts, and with it what others of this user have locked.
    let bare = ["eth0", "0", "--bare", "--frames", "256"];
    let only_raw = ["setpriv", "--bounding-set=-all,+net_raw"];
    Holder::start(&net.a, &only_raw, &bare).expect("a socket without a program needs no more");
}

#[test]
fn nothing_lasts_of_a_killed_process() {
    let net = plain();
    let wire = lab::Capture::open(&net.b, "eth0").unwrap();
    let holder = Holder::start(&net.a, &[], &["eth0", "0", "--send"]).unwrap();
    wire.next(PATIENCE, |seen| seen[12..14] == [0x88, 0xb5]).unwrap();
    holder.kill();
    let start = Instant::now();
    let umem = umem();
    let (mut tx, _rx) = open(&net.a, 0, &umem).unwrap().split();
    assert!(start.elapsed() < PATIENCE);
    tx.send(&packet(100)).unwrap();
    wire.next(PATIENCE, |seen| seen.len() == 100).unwrap();
}
