//! All queues of an interface together: memory of their own or one for all, a thread for each.

use std::time::{Duration, Instant};

use lab::{LinkOptions, TwoHosts};
use xsk::workers::Cpus;
use xsk::{Error, Interface, Stop, Umem};

const PATIENCE: Duration = Duration::from_secs(10);
const QUEUES: u32 = 2;

fn net() -> TwoHosts {
    TwoHosts::build(&LinkOptions { queues: QUEUES, ..LinkOptions::default() }).unwrap()
}

/// An Ethernet frame of an EtherType of our own.
fn packet(queue: u32) -> [u8; 60] {
    let mut bytes = [0xff; 60];
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes[14] = queue as u8;
    bytes
}

#[test]
fn each_queue_sends_and_receives_with_its_thread() {
    for shared in [false, true] {
        let net = net();
        let umems = [(); 2].map(|()| Umem::builder().frames(16 << 10).build().unwrap());
        let open = |umem: &Umem| {
            let interface = Interface::open("eth0").unwrap();
            let sockets =
                interface.sockets(|socket| if shared { socket.umem(umem) } else { socket });
            let sockets = sockets.unwrap();
            (interface, sockets)
        };
        let (from, senders) = net.a.run(|| open(&umems[0])).unwrap();
        let (to, receivers) = net.b.run(|| open(&umems[1])).unwrap();
        assert_eq!((senders.len(), receivers.len()), (QUEUES as usize, QUEUES as usize));
        let same = senders[0].umem().alloc().unwrap().is_of(&senders[1].umem());
        assert_eq!(same, shared);
        let sent = from.run(senders, &Cpus::Auto, &Stop::new(), |mut socket, worker| {
            let queue = worker.place.queue;
            (0..100).for_each(|_| socket.tx().send(&packet(queue)).unwrap());
            Ok::<_, Error>(queue)
        });
        assert_eq!(sent.unwrap(), [0, 1]);
        let came = to.run(receivers, &Cpus::Anywhere, &Stop::new(), |mut socket, worker| {
            let (mut own, deadline) = (0, Instant::now() + PATIENCE);
            while own < 100 && socket.rx().wait(deadline)? {
                let mark = worker.place.queue as u8;
                let is_own = |bytes: &[u8]| bytes[12..15] == [0x88, 0xb5, mark];
                socket.rx().for_each(64, |packet| own += u32::from(is_own(packet)));
            }
            Ok::<_, Error>(own)
        });
        assert_eq!(came.unwrap(), [100; 2], "shared memory: {shared}");
        assert!(umems.iter().all(|umem| umem.audit().is_all_free()));
    }
}

#[test]
fn after_a_panic_every_queue_is_free_again() {
    let net = net();
    net.b
        .run(|| {
            let interface = Interface::open("eth0").unwrap();
            for _ in 0..2 {
                let sockets = interface.sockets(|socket| socket).unwrap();
                let answer =
                    interface.run(sockets, &Cpus::Auto, &Stop::new(), |mut socket, worker| {
                        assert!(worker.place.queue != 1, "broken");
                        while !worker.stop.is_set() {
                            socket.rx().wait(Duration::from_millis(10))?;
                        }
                        Ok::<_, Error>(())
                    });
                let said = answer.unwrap_err().to_string();
                assert_eq!(said, "the worker of queue 1 panicked: broken");
            }
        })
        .unwrap();
}

#[test]
fn a_queue_that_is_taken_leaves_none_open() {
    let net = net();
    net.b
        .run(|| {
            let interface = Interface::open("eth0").unwrap();
            let taken = interface.socket(1).open().unwrap();
            let again = || interface.sockets(|socket| socket.patience(Duration::ZERO));
            let said = again().unwrap_err().to_string();
            assert!(said.contains("queue 1"), "{said}");
            drop(taken);
            let all = interface.sockets(|socket| socket).unwrap();
            assert_eq!(all.len(), QUEUES as usize);
        })
        .unwrap();
}
