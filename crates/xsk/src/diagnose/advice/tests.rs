//! Every row of the table, and every cause of the rows that compute one.

use sys::net::XdpFeatures;

use super::*;
use crate::device::{Queues, Wanted};

fn device() -> Device {
    Device {
        name: "eth1".to_owned(),
        driver: "veth".to_owned(),
        mtu: 1500,
        up: true,
        queues: Queues { rx: 1, tx: 1, most: None },
        features: Some(XdpFeatures { bits: 7, ..XdpFeatures::default() }),
        ..Device::default()
    }
}

fn environment(device: &Device) -> Environment<'_> {
    Environment {
        attempt: Attempt { device: Some(device), memory: 1 << 24, ..Attempt::default() },
        kernel: Kernel(6, 18),
        can_use_raw_sockets: true,
        lockable: Some(8 << 20),
    }
}

/// The advice for `call` and `errno` after `change`.
fn said(call: &str, errno: i32, change: impl FnOnce(&mut Environment<'_>)) -> String {
    let device = device();
    let mut environment = environment(&device);
    change(&mut environment);
    advice(call, errno, &environment).unwrap_or_default()
}

#[test]
fn a_call_and_its_errno_lead_to_what_to_change() {
    let cases = [
        ("socket(AF_XDP)", EPERM, "seccomp"),
        ("socket(AF_XDP)", EAFNOSUPPORT, "CONFIG_XDP_SOCKETS"),
        ("socket(AF_XDP)", EMFILE, "ulimit -n"),
        ("setsockopt(XDP_UMEM_REG)", ENOMEM, "too little free memory"),
        ("setsockopt(XDP_UMEM_REG)", EFAULT, "not mapped"),
        ("setsockopt(XDP_UMEM_REG)", EBUSY, "was registered already"),
        ("setsockopt(XDP_RX_RING)", ENOMEM, "fewer entries"),
        ("setsockopt(XDP_TX_RING)", EBUSY, "before the socket is bound"),
        ("setsockopt(SO_BUSY_POLL)", EPERM, "CAP_NET_ADMIN"),
        ("setsockopt(SO_BUSY_POLL)", ENOPROTOOPT, "CONFIG_NET_RX_BUSY_POLL"),
        ("setsockopt(SO_PREFER_BUSY_POLL)", EPERM, "CAP_NET_ADMIN"),
        ("setsockopt(SO_BUSY_POLL_BUDGET)", EPERM, "CAP_NET_ADMIN"),
        ("mmap", EINVAL, "the number of entries"),
        ("bind(AF_XDP)", EINVAL, "the queue was removed meanwhile"),
        ("bind(AF_XDP)", EOPNOTSUPP, "driver veth has no zero copy for AF_XDP; allow copying"),
        ("bind(AF_XDP)", ENODEV, "eth1 was removed"),
        ("bind(AF_XDP)", ENETDOWN, "ip link set eth1 up"),
        ("bind(AF_XDP)", EBADF, "must be bound first"),
        ("bind(AF_XDP)", ENOPROTOOPT, "only be shared with an AF_XDP socket"),
        ("sendto(AF_XDP)", ENETDOWN, "ip link set eth1 up"),
        ("sendto(AF_XDP)", ENXIO, "another network namespace"),
        ("sendto(AF_XDP)", EBUSY, "is its peer up?"),
        ("sendto(AF_XDP)", EINVAL, "metadata"),
        ("sendto(AF_XDP)", ENOBUFS, "no memory for the packet"),
        ("recvfrom(AF_XDP)", ENETDOWN, "ip link set eth1 up"),
        ("recvfrom(AF_XDP)", ENXIO, "open it again"),
        ("recvfrom(AF_XDP)", ENOBUFS, "no rx ring"),
    ];
    for (call, errno, expected) in cases {
        let text = said(call, errno, |_| {});
        assert!(text.contains(expected), "{call} {errno}: {text}");
    }
}

#[test]
fn a_missing_capability_is_named_only_where_it_is_missing() {
    for errno in [EPERM, EACCES] {
        let text =
            said("socket(AF_XDP)", errno, |environment| environment.can_use_raw_sockets = false);
        assert!(text.contains("lacks CAP_NET_RAW") && text.contains("setcap"), "{text}");
    }
}

#[test]
fn an_option_names_the_kernel_that_has_it() {
    let cases = [
        ("setsockopt(XDP_MAX_TX_SKB_BUDGET)", Kernel(6, 12), "6.17, this is 6.12"),
        ("setsockopt(SO_PREFER_BUSY_POLL)", Kernel(5, 10), "5.11, this is 5.10"),
        ("setsockopt(SO_BUSY_POLL_BUDGET)", Kernel(5, 10), "5.11, this is 5.10"),
        ("setsockopt(SO_BUSY_POLL_BUDGET)", Kernel(6, 18), "5.11; this one was built without"),
    ];
    for (call, kernel, expected) in cases {
        let text = said(call, ENOPROTOOPT, |environment| environment.kernel = kernel);
        assert!(text.contains(expected), "{call}: {text}");
    }
}

#[test]
fn what_is_wrong_with_memory_is_found() {
    type Change = fn(&mut Attempt<'_>);
    let cases: [(Change, &str); 9] = [
        (|a| a.wanted.frame_size = 1024, "2048 to 4096 bytes, not 1024"),
        (|a| a.wanted.frame_size = 8192, "2048 to 4096 bytes, not 8192"),
        (|a| a.wanted.frame_size = 3000, "3000 is not a power of two"),
        (|a| a.memory = 4095, "4095 bytes cannot hold a frame"),
        (|a| a.memory = 6 << 10, "6144 bytes are not a multiple of the frame size 4096"),
        (|a| a.wanted.headroom = 3393, "headroom of 3393 bytes leaves less than 704"),
        (|a| a.tx_metadata = 256, "multiple of 8, not 256"),
        (|a| a.tx_metadata = 20, "multiple of 8, not 20"),
        (|a| (a.unaligned, a.wanted.frame_size, a.memory) = (true, 3000, 10_000), "page boundary"),
    ];
    for (change, expected) in cases {
        let text = said("setsockopt(XDP_UMEM_REG)", EINVAL, |environment| {
            change(&mut environment.attempt)
        });
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let text = said("setsockopt(XDP_UMEM_REG)", EINVAL, |environment| {
        environment.attempt.tx_metadata = 24;
        environment.kernel = Kernel(6, 1);
    });
    assert!(text.contains("requires Linux 6.11, or 6.8 with its updates; this is 6.1"), "{text}");
}

#[test]
fn the_memory_limit_is_reported_with_the_required_one() {
    let text = said("setsockopt(XDP_UMEM_REG)", ENOBUFS, |_| {});
    assert!(text.contains("16384 KiB") && text.contains("8192 KiB: raise"), "{text}");
    let text = said("setsockopt(XDP_UMEM_REG)", ENOBUFS, |environment| environment.lockable = None);
    assert!(text.contains("CAP_IPC_LOCK"), "{text}");
}

#[test]
fn rings_and_budgets_name_their_limits() {
    let entries = |entries| {
        move |environment: &mut Environment<'_>| {
            (environment.attempt.entries, environment.attempt.tx_ring) = (entries, 64)
        }
    };
    let cases = [
        ("setsockopt(XDP_TX_RING)", EINVAL, 1000, "such as 1024, not 1000"),
        ("setsockopt(XDP_UMEM_FILL_RING)", EINVAL, 0, "such as 1, not 0"),
        ("setsockopt(XDP_RX_RING)", EINVAL, u32::MAX, "such as 2147483648, not 4294967295"),
        ("setsockopt(XDP_RX_RING)", EINVAL, 512, "each ring only once"),
        ("setsockopt(XDP_MAX_TX_SKB_BUDGET)", EACCES, 65, "32 to the size of the tx ring (64)"),
    ];
    for (call, errno, count, expected) in cases {
        let text = said(call, errno, entries(count));
        assert!(text.contains(expected), "{call}: {text}");
    }
}

#[test]
fn a_refused_bind_is_what_does_not_fit_or_is_too_new() {
    type Change = fn(&mut Environment<'_>);
    let cases: [(Change, &str); 4] = [
        (|environment| environment.attempt.wanted.queue = 4, "eth1: it has no receive queue 4"),
        (
            |environment| {
                (environment.attempt.wanted.multi_buffer, environment.kernel) = (true, Kernel(6, 5))
            },
            "packets of several frames need Linux 6.6, this is 6.5",
        ),
        (
            |environment| environment.kernel = Kernel(5, 3),
            "waking on demand needs Linux 5.4, this is 5.3",
        ),
        (
            |environment| environment.kernel = Kernel(5, 9),
            "another queue needs Linux 5.10, this is 5.9",
        ),
    ];
    for (change, expected) in cases {
        let text = said("bind(AF_XDP)", EINVAL, change);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn sending_without_a_ring_is_distinguished_from_a_shortage() {
    let text = said("sendto(AF_XDP)", ENOBUFS, |environment| {
        environment.attempt.wanted = Wanted { transmit: false, ..Wanted::default() };
    });
    assert_eq!(text, "this socket has no tx ring");
}

#[test]
fn what_is_not_known_is_not_explained() {
    for (call, errno) in [("bind(AF_XDP)", 4), ("socket(AF_INET)", EPERM), ("", 0)] {
        assert_eq!(said(call, errno, |_| {}), "", "{call} {errno}");
    }
}
