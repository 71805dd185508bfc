//! The table of advice: from a system call and its errno to the setting to change.
//!
//! Rule: an errno with a single meaning has its text here; for an errno with several causes, the
//! row calls a function that finds the cause. Sources: net/xdp/xsk.c, xsk_buff_pool.c and
//! xdp_umem.c at v6.18. Without a row the result is `None`, and the kernel's error is reported
//! alone.

use super::environment::{Attempt, Environment, Kernel};
use super::memory;
use crate::device::Device;

/// The advice after `call` failed with `errno`. Calls have the names that [`sys`] uses.
pub fn advice(call: &str, errno: i32, environment: &Environment<'_>) -> Option<String> {
    TABLE
        .iter()
        .find(|(of, number, _)| *number == errno && call.starts_with(*of))
        .map(|(_, _, advice)| advice.text(environment))
}

/// The advice of one row.
enum Advice {
    /// A text that applies in all cases.
    Always(&'static str),
    /// An option, and the first Linux release that has it.
    Since(&'static str, Kernel),
    /// Computed from the environment.
    Depends(fn(&Environment<'_>) -> String),
}

impl Advice {
    fn text(&self, environment: &Environment<'_>) -> String {
        match self {
            Self::Always(text) => (*text).to_owned(),
            Self::Since(what, first) if environment.kernel < *first => {
                format!("{what} needs Linux {first}, this is {}", environment.kernel)
            }
            Self::Since(what, first) => {
                format!("{what} needs Linux {first}; this one was built without it")
            }
            Self::Depends(find) => find(environment),
        }
    }
}

use Advice::{Always, Depends, Since};
use sys::errno::{
    EACCES, EAFNOSUPPORT, EBADF, EBUSY, EFAULT, EINVAL, EMFILE, ENETDOWN, ENOBUFS, ENODEV, ENOMEM,
    ENOPROTOOPT, ENXIO, EOPNOTSUPP, EPERM,
};

/// The first matching row applies. A call matches if it starts with the given text.
const TABLE: &[(&str, i32, Advice)] = &[
    ("socket(AF_XDP)", EPERM, Depends(raw_sockets)),
    ("socket(AF_XDP)", EACCES, Depends(raw_sockets)),
    ("socket(AF_XDP)", EAFNOSUPPORT, Always("this kernel was built without CONFIG_XDP_SOCKETS")),
    ("socket(AF_XDP)", EMFILE, Always("raise the limit on open files (`ulimit -n`)")),
    ("setsockopt(XDP_UMEM_REG)", EINVAL, Depends(memory::invalid)),
    ("setsockopt(XDP_UMEM_REG)", ENOBUFS, Depends(memory::over_the_limit)),
    ("setsockopt(XDP_UMEM_REG)", ENOMEM, Always("the machine has too little free memory")),
    ("setsockopt(XDP_UMEM_REG)", EFAULT, Always("the memory is not mapped for writing")),
    ("setsockopt(XDP_UMEM_REG)", EBUSY, Always("the memory of this socket was registered already")),
    ("setsockopt(XDP_MAX_TX_SKB_BUDGET)", EACCES, Depends(budget)),
    ("setsockopt(XDP_MAX_TX_SKB_BUDGET)", ENOPROTOOPT, Since("a transmit budget", Kernel(6, 17))),
    ("setsockopt(XDP_", EINVAL, Depends(ring)),
    (
        "setsockopt(XDP_",
        ENOMEM,
        Always("the machine has too little free memory: use fewer entries"),
    ),
    ("setsockopt(XDP_", EBUSY, Always("rings must be created before the socket is bound")),
    ("setsockopt(SO_BUSY_POLL)", EPERM, Always(NEEDS_ADMIN)),
    ("setsockopt(SO_BUSY_POLL)", ENOPROTOOPT, Always(NO_BUSY_POLL)),
    ("setsockopt(SO_PREFER_BUSY_POLL)", EPERM, Always(NEEDS_ADMIN)),
    (
        "setsockopt(SO_PREFER_BUSY_POLL)",
        ENOPROTOOPT,
        Since("preferred busy polling", Kernel(5, 11)),
    ),
    ("setsockopt(SO_BUSY_POLL_BUDGET)", EPERM, Always(NEEDS_ADMIN)),
    ("setsockopt(SO_BUSY_POLL_BUDGET)", ENOPROTOOPT, Since("a busy poll budget", Kernel(5, 11))),
    (
        "mmap",
        EINVAL,
        Always("a ring must be mapped with the number of entries that it was created with"),
    ),
    ("bind(AF_XDP)", EINVAL, Depends(binding)),
    ("bind(AF_XDP)", EOPNOTSUPP, Depends(zero_copy)),
    ("bind(AF_XDP)", ENODEV, Depends(gone)),
    ("bind(AF_XDP)", ENETDOWN, Depends(down)),
    ("bind(AF_XDP)", EBADF, Always("the socket whose memory is shared must be bound first")),
    ("bind(AF_XDP)", ENOPROTOOPT, Always("memory can only be shared with an AF_XDP socket")),
    ("sendto(AF_XDP)", ENETDOWN, Depends(down)),
    ("sendto(AF_XDP)", ENXIO, Depends(gone)),
    ("sendto(AF_XDP)", EBUSY, Depends(refused_by_driver)),
    (
        "sendto(AF_XDP)",
        EINVAL,
        Always("the metadata of a packet requests something that the kernel rejects"),
    ),
    ("sendto(AF_XDP)", ENOBUFS, Depends(no_ring_or_memory)),
    ("recvfrom(AF_XDP)", ENETDOWN, Depends(down)),
    ("recvfrom(AF_XDP)", ENXIO, Depends(gone)),
    ("recvfrom(AF_XDP)", ENOBUFS, Always("this socket has no rx ring")),
];

fn raw_sockets(environment: &Environment<'_>) -> String {
    let text = if environment.can_use_raw_sockets {
        "this process has CAP_NET_RAW, but not for this network namespace, or a filter of system \
         calls (a container's seccomp profile) forbids AF_XDP"
    } else {
        "this process lacks CAP_NET_RAW: run it as root, or `setcap cap_net_raw,cap_net_admin,\
         cap_bpf+ep` its program, or let a process with this capability open the socket and pass it"
    };
    text.to_owned()
}

fn budget(environment: &Environment<'_>) -> String {
    let Attempt { entries, tx_ring, .. } = environment.attempt;
    format!("a transmit budget must be 32 to the size of the tx ring ({tx_ring}), not {entries}")
}

fn ring(environment: &Environment<'_>) -> String {
    let entries = environment.attempt.entries;
    if entries.is_power_of_two() {
        return "a socket can have each ring only once".to_owned();
    }
    let better = entries.checked_next_power_of_two().unwrap_or(1 << 31);
    format!("the entries of a ring must be a power of two, such as {better}, not {entries}")
}

/// An invalid binding that [`Device::check`] does not detect: an option that is too new.
fn binding(environment: &Environment<'_>) -> String {
    let Attempt { wanted, device, .. } = environment.attempt;
    if let Some(Err(error)) = device.map(|device| device.check(&wanted)) {
        return error.to_string();
    }
    let missing = [(wanted.multi_buffer, "packets of several frames", Kernel(6, 6))];
    let missing = missing.iter().find(|(asked, _, since)| *asked && environment.kernel < *since);
    if let Some((_, what, since)) = missing {
        return format!("{what} need Linux {since}, this is {}", environment.kernel);
    }
    if environment.kernel < NEED_WAKEUP {
        return format!(
            "waking on demand needs Linux {NEED_WAKEUP}, this is {}",
            environment.kernel
        );
    }
    if environment.kernel < SHARED_ELSEWHERE {
        return format!(
            "memory shared with another queue needs Linux {SHARED_ELSEWHERE}, this is {}",
            environment.kernel
        );
    }
    "the queue was removed meanwhile, or the driver rejects this size of frames or rings".to_owned()
}

fn zero_copy(environment: &Environment<'_>) -> String {
    let Attempt { wanted, device, .. } = environment.attempt;
    let why = device.and_then(|device| device.why_copy(&wanted));
    let why = why.unwrap_or_else(|| "the driver has no zero copy for AF_XDP".to_owned());
    format!("{why}; allow copying, or use another interface")
}

fn gone(environment: &Environment<'_>) -> String {
    format!(
        "{} was removed or moved to another network namespace: open it again when it is back",
        name(environment.attempt.device)
    )
}

fn down(environment: &Environment<'_>) -> String {
    let name = name(environment.attempt.device);
    format!("{name} is down: `ip link set {name} up`")
}

/// The kernel completes the frame and reports that it was dropped.
fn refused_by_driver(environment: &Environment<'_>) -> String {
    let name = name(environment.attempt.device);
    format!(
        "{name} accepted the packet and dropped it: it has no link (is its peer up?), or its \
         queue is full"
    )
}

fn no_ring_or_memory(environment: &Environment<'_>) -> String {
    let text = match environment.attempt.wanted.transmit {
        false => "this socket has no tx ring",
        true => "the kernel currently has no memory for the packet; try again",
    };
    text.to_owned()
}

fn name(device: Option<&Device>) -> &str {
    device.map_or("the interface", |device| device.name.as_str())
}

const NEEDS_ADMIN: &str =
    "busy polling requires CAP_NET_ADMIN: run as root, or disable busy polling";
const NO_BUSY_POLL: &str = "this kernel was built without CONFIG_NET_RX_BUSY_POLL";
const NEED_WAKEUP: Kernel = Kernel(5, 4);
const SHARED_ELSEWHERE: Kernel = Kernel(5, 10);

#[cfg(test)]
mod tests;
