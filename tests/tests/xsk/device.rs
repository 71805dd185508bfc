//! What is reported of an interface and of the owners of its queues.

use lab::{LinkOptions, TwoHosts, until};
use sys::net::{NetdevFamily, xsk_listed};
use xsk::device::Queues;
use xsk::diagnose::{Kernel, QueueHolders, holders};
use xsk::{Device, Interface};

use xway_tests::xsk::{Holder, PATIENCE, umem};

#[test]
fn a_device_is_as_the_kernel_reports_it() {
    let options = LinkOptions { queues: 3, mtu: 2000, ..LinkOptions::default() };
    let net = TwoHosts::build(&options).unwrap();
    let open = || net.a.run(|| Device::open("eth0")).unwrap().unwrap();
    let device = open();
    assert_eq!((device.name.as_str(), device.driver.as_str()), ("eth0", "veth"));
    assert_eq!((device.mtu, device.up, device.running, device.node), (2000, true, true, None));
    assert_eq!(device.queues, Queues { rx: 3, tx: 3, most: Some(3) });
    assert_eq!(device.ifindex, net.a.ifindex("eth0").unwrap());
    if Kernel::running() >= Kernel(6, 3) {
        let features = device.features.expect("told since 6.3");
        assert!(features.native() && features.multi_buffer() && !features.zero_copy());
    }
    net.a.netlink().unwrap().set_up(device.ifindex, false).unwrap();
    let down = open();
    assert_eq!((down.up, down.running), (false, false));
    assert_eq!(down.queues, device.queues, "as many queues as while it is up");
}

#[test]
fn the_holder_of_a_queue_is_known_while_it_lives() {
    let net = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    let ask = |queue| net.a.run(|| holders(ifindex, queue)).unwrap();
    let holder = Holder::start(&net.a, &[], &["eth0", "1", "--bare"]).unwrap();
    let _other = Holder::start(&net.b, &[], &["eth0", "0", "--bare"]).unwrap();
    match ask(1) {
        QueueHolders::Known(known) => {
            assert_eq!((known.len(), known[0].pid), (1, holder.pid()), "{known:?}");
            assert_eq!(known[0].command, "xsk-hold");
        }
        unknown => panic!("{unknown:?}"),
    }
    assert_eq!(ask(0), QueueHolders::None, "the other queue");
    holder.kill();
    until("the kernel to close it", PATIENCE, || Ok((ask(1) == QueueHolders::None).then_some(())))
        .unwrap();
}

#[test]
fn queues_with_sockets_are_distinguished() {
    if Kernel::running() < Kernel(6, 15) {
        eprintln!("skipped: queues do not tell of sockets before Linux 6.15");
        return;
    }
    let net = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    let interface = || Interface::builder("eth0").without_steering().open();
    let _socket = net.a.run(|| interface()?.socket(1).umem(&umem()).open()).unwrap().unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    let queues = net.a.run(|| NetdevFamily::open()?.queues(ifindex)).unwrap().unwrap();
    assert_eq!(queues.len(), 4, "two that receive, two that send: {queues:?}");
    assert!(queues.iter().all(|queue| queue.has_socket == (queue.id == 1)), "{queues:?}");
}

#[test]
fn the_kernels_own_list_has_the_socket() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let interface = || Interface::builder("eth0").without_steering().open();
    let memory = umem();
    let build = || interface()?.socket(0).umem(&memory).rings(512).fill(1024).open();
    let _socket = net.a.run(build).unwrap().unwrap();
    match net.a.run(xsk_listed).unwrap() {
        Err(error) => {
            assert!(error.to_string().contains("CONFIG_XDP_SOCKETS_DIAG"), "{error}");
            eprintln!("skipped: {error}");
        }
        Ok(listed) => {
            let ifindex = net.a.ifindex("eth0").unwrap();
            let umem = listed[0].umem.expect("it has memory");
            assert_eq!((listed.len(), listed[0].bound), (1, Some((ifindex, 0))), "{listed:?}");
            assert_eq!((listed[0].rx, listed[0].tx), (512, 512));
            assert_eq!((umem.fill, umem.completion, umem.chunk_size), (1024, 512, 2048));
        }
    }
}
