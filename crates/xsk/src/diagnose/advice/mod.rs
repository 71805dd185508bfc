//! The table: from a system call and its errno to what to change.
//!
//! Rule: an errno that means one thing only in every case has its sentence here; where the kernel
//! has one errno for many causes, the row calls a function that looks for the cause. Sources:
//! net/xdp/xsk.c, xsk_buff_pool.c and xdp_umem.c at v6.18. No row: `None`, and the kernel's own
//! words stand alone.

use super::facts::{Attempt, Facts, Kernel};
use super::memory;
use crate::device::Device;

/// What to change after `call` failed with `errno`. Calls are named as [`sys`] names them.
pub fn advice(call: &str, errno: i32, facts: &Facts<'_>) -> Option<String> {
    TABLE
        .iter()
        .find(|(of, number, _)| *number == errno && call.starts_with(*of))
        .map(|(_, _, advice)| advice.say(facts))
}

enum Advice {
    Always(&'static str),
    /// An option, and the Linux that has it first.
    Since(&'static str, Kernel),
    Depends(fn(&Facts<'_>) -> String),
}

impl Advice {
    fn say(&self, facts: &Facts<'_>) -> String {
        match self {
            Self::Always(text) => (*text).to_owned(),
            Self::Since(what, first) if facts.kernel < *first => {
                format!("{what} needs Linux {first}, this is {}", facts.kernel)
            }
            Self::Since(what, first) => {
                format!("{what} needs Linux {first}; this one was built without it")
            }
            Self::Depends(find) => find(facts),
        }
    }
}

use Advice::{Always, Depends, Since};
use sys::errno::{
    EACCES, EAFNOSUPPORT, EBADF, EBUSY, EFAULT, EINVAL, EMFILE, ENETDOWN, ENOBUFS, ENODEV, ENOMEM,
    ENOPROTOOPT, ENXIO, EOPNOTSUPP, EPERM,
};

/// The first row that fits counts. A call is named by how it starts.
const TABLE: &[(&str, i32, Advice)] = &[
    ("socket(AF_XDP)", EPERM, Depends(raw_sockets)),
    ("socket(AF_XDP)", EACCES, Depends(raw_sockets)),
    ("socket(AF_XDP)", EAFNOSUPPORT, Always("this kernel was built without CONFIG_XDP_SOCKETS")),
    ("socket(AF_XDP)", EMFILE, Always("raise the limit on open files (`ulimit -n`)")),
    ("setsockopt(XDP_UMEM_REG)", EINVAL, Depends(memory::invalid)),
    ("setsockopt(XDP_UMEM_REG)", ENOBUFS, Depends(memory::over_the_limit)),
    ("setsockopt(XDP_UMEM_REG)", ENOMEM, Always("the machine has too little free memory")),
    ("setsockopt(XDP_UMEM_REG)", EFAULT, Always("the memory is not mapped for writing")),
    ("setsockopt(XDP_UMEM_REG)", EBUSY, Always("this socket has its memory already")),
    ("setsockopt(XDP_MAX_TX_SKB_BUDGET)", EACCES, Depends(budget)),
    ("setsockopt(XDP_MAX_TX_SKB_BUDGET)", ENOPROTOOPT, Since("a transmit budget", Kernel(6, 17))),
    ("setsockopt(XDP_", EINVAL, Depends(ring)),
    (
        "setsockopt(XDP_",
        ENOMEM,
        Always("the machine has too little free memory: use fewer entries"),
    ),
    ("setsockopt(XDP_", EBUSY, Always("rings are made before the socket is bound")),
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
    ("mmap", EINVAL, Always("a ring is mapped with as many entries as it was made with")),
    ("bind(AF_XDP)", EINVAL, Depends(binding)),
    ("bind(AF_XDP)", EOPNOTSUPP, Depends(zero_copy)),
    ("bind(AF_XDP)", ENODEV, Depends(gone)),
    ("bind(AF_XDP)", ENETDOWN, Depends(down)),
    ("bind(AF_XDP)", EBADF, Always("the socket whose memory is shared must be bound first")),
    ("bind(AF_XDP)", ENOPROTOOPT, Always("memory is shared with a socket of AF_XDP only")),
    ("sendto(AF_XDP)", ENETDOWN, Depends(down)),
    ("sendto(AF_XDP)", ENXIO, Depends(gone)),
    ("sendto(AF_XDP)", EBUSY, Depends(refused_by_driver)),
    ("sendto(AF_XDP)", EINVAL, Always("a packet's metadata asks for what the kernel refuses")),
    ("sendto(AF_XDP)", ENOBUFS, Depends(no_ring_or_memory)),
    ("recvfrom(AF_XDP)", ENETDOWN, Depends(down)),
    ("recvfrom(AF_XDP)", ENXIO, Depends(gone)),
    ("recvfrom(AF_XDP)", ENOBUFS, Always("this socket has no rx ring")),
];

fn raw_sockets(facts: &Facts<'_>) -> String {
    let text = if facts.can_use_raw_sockets {
        "this process has CAP_NET_RAW, but not for this network namespace, or a filter of system \
         calls (a container's seccomp profile) forbids AF_XDP"
    } else {
        "this process lacks CAP_NET_RAW: run it as root, or `setcap cap_net_raw,cap_net_admin,\
         cap_bpf+ep` its program, or let a process that may open the socket and hand it over"
    };
    text.to_owned()
}

fn budget(facts: &Facts<'_>) -> String {
    let Attempt { entries, tx_ring, .. } = facts.attempt;
    format!("a transmit budget is 32 to the size of the tx ring ({tx_ring}), not {entries}")
}

fn ring(facts: &Facts<'_>) -> String {
    let entries = facts.attempt.entries;
    if entries.is_power_of_two() {
        return "a socket has each ring once".to_owned();
    }
    let better = entries.checked_next_power_of_two().unwrap_or(1 << 31);
    format!("a ring has a power of two of entries, such as {better}, not {entries}")
}

/// What is left when [`Device::check`] found nothing: an option that is too new.
fn binding(facts: &Facts<'_>) -> String {
    let Attempt { wanted, device, .. } = facts.attempt;
    if let Some(Err(error)) = device.map(|device| device.check(&wanted)) {
        return error.to_string();
    }
    let missing = [(wanted.multi_buffer, "packets of several frames", Kernel(6, 6))];
    let missing = missing.iter().find(|(asked, _, since)| *asked && facts.kernel < *since);
    if let Some((_, what, since)) = missing {
        return format!("{what} need Linux {since}, this is {}", facts.kernel);
    }
    if facts.kernel < NEED_WAKEUP {
        return format!("waking on demand needs Linux {NEED_WAKEUP}, this is {}", facts.kernel);
    }
    if facts.kernel < SHARED_ELSEWHERE {
        return format!(
            "memory shared with another queue needs Linux {SHARED_ELSEWHERE}, this is {}",
            facts.kernel
        );
    }
    "the queue went away meanwhile, or the driver refuses this size of frames or rings".to_owned()
}

fn zero_copy(facts: &Facts<'_>) -> String {
    let Attempt { wanted, device, .. } = facts.attempt;
    let why = device.and_then(|device| device.why_copy(&wanted));
    let why = why.unwrap_or_else(|| "the driver has no zero copy for AF_XDP".to_owned());
    format!("{why}; allow copying, or use another interface")
}

fn gone(facts: &Facts<'_>) -> String {
    format!(
        "{} was removed or went to another network namespace: open it again when it is back",
        name(facts.attempt.device)
    )
}

fn down(facts: &Facts<'_>) -> String {
    let name = name(facts.attempt.device);
    format!("{name} is down; switch it on with `ip link set {name} up`")
}

/// The kernel completes the frame and says that nobody got it.
fn refused_by_driver(facts: &Facts<'_>) -> String {
    let name = name(facts.attempt.device);
    format!(
        "{name} took the packet and dropped it: it has no link (is its other end up?), or its \
         queue is full"
    )
}

fn no_ring_or_memory(facts: &Facts<'_>) -> String {
    let text = match facts.attempt.wanted.transmit {
        false => "this socket has no tx ring",
        true => "the kernel has no memory for the packet now; try again",
    };
    text.to_owned()
}

fn name(device: Option<&Device>) -> &str {
    device.map_or("the interface", |device| device.name.as_str())
}

const NEEDS_ADMIN: &str = "busy polling needs CAP_NET_ADMIN: run it as root, or poll without it";
const NO_BUSY_POLL: &str = "this kernel was built without CONFIG_NET_RX_BUSY_POLL";
const NEED_WAKEUP: Kernel = Kernel(5, 4);
const SHARED_ELSEWHERE: Kernel = Kernel(5, 10);

#[cfg(test)]
mod tests;
