//! Why frames were lost: the kernel's numbers as causes, and what to change.
//!
//! Errors are those of `xdp_do_redirect` (net/core/filter.c), `xsk_rcv` (net/xdp/xsk.c) and
//! `ndo_xdp_xmit` of drivers, Linux 6.18.

use functions::losses::{Key, Point};
use serde::Serialize;
use spec::Verdict;
use sys::bpf::uapi::map_type;
use sys::errno::{
    EINVAL, EMSGSIZE, ENETDOWN, ENOBUFS, ENODEV, ENOMEM, ENOSPC, ENXIO, EOPNOTSUPP, EOVERFLOW,
};

/// Why frames were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The program returned `XDP_ABORTED`.
    Aborted,
    /// The program returned a number that is not a verdict.
    InvalidVerdict,
    /// The driver could not pass a frame to the stack.
    PassFailed,
    /// The driver could not send a frame with the verdict `XDP_TX`.
    TxFailed,
    /// The map has no entry for the key, or no interface has the index.
    NoTarget,
    /// The target interface is down.
    TargetDown,
    /// The frame is longer than the MTU of the target.
    TooLong,
    /// The driver of the target cannot send XDP frames.
    NoXdpTransmit,
    /// The peer of the target, a veth, does not receive XDP frames.
    PeerWithoutXdp,
    /// The driver of the target has no XDP queue for the processor.
    NoXdpQueue,
    /// The transmit queue of the target, or the receive queue of its peer, was full.
    QueueFull,
    /// The target was removed.
    TargetRemoved,
    /// The frame has too little headroom to be redirected.
    NoHeadroom,
    /// The AF_XDP socket receives from another interface or queue.
    WrongQueue,
    /// The AF_XDP socket is not bound.
    SocketUnbound,
    /// The receive ring of the AF_XDP socket was full.
    SocketRingFull,
    /// The AF_XDP socket had no free frame in its fill ring.
    FillRingEmpty,
    /// The frame is longer than a frame of the AF_XDP socket.
    SocketFrameShort,
    /// The queue of the target processor was full.
    CpuQueueFull,
    /// The target processor could not pass the frame to the stack.
    CpuStackFailed,
    /// Another error; `errno` names it.
    Other,
}

/// What is known of the frames of one cause, for the text of its remedy.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject {
    /// Name of the interface whose losses are counted.
    pub interface: String,
    /// Name of the interface to which the frames were to go; `the target` if it is unknown.
    pub target: String,
    /// Name of the other end of the target, if it is a veth.
    pub peer: Option<String>,
    /// Name or id of the map to which the frames were redirected.
    pub map: Option<String>,
    /// Maps of the program that hold targets of redirects.
    pub redirect_maps: Vec<String>,
}

impl Cause {
    /// The cause of a key. Returns `None` for the second report of a refused redirect.
    pub(super) fn of(key: &Key, is_veth: bool) -> Option<Self> {
        let errno = key.code.cast_signed();
        match key.point() {
            Some(Point::Exception) => Self::of_exception(key.code),
            Some(Point::Redirect) if key.map_type == map_type::XSKMAP => Some(Self::socket(errno)),
            Some(Point::Redirect | Point::Transmit | Point::Tx) => {
                Some(Self::of_errno(errno, is_veth))
            }
            Some(Point::CpuQueue) => Some(Self::CpuQueueFull),
            Some(Point::CpuStack) => Some(Self::CpuStackFailed),
            None => Some(Self::Other),
        }
    }

    fn of_exception(code: u32) -> Option<Self> {
        match Verdict::ALL.into_iter().find(|verdict| *verdict as u32 == code) {
            Some(Verdict::Aborted) => Some(Self::Aborted),
            Some(Verdict::Pass) => Some(Self::PassFailed),
            Some(Verdict::Tx) => Some(Self::TxFailed),
            Some(Verdict::Redirect) => None,
            Some(Verdict::Drop) => Some(Self::Other),
            None => Some(Self::InvalidVerdict),
        }
    }

    fn of_errno(errno: i32, is_veth: bool) -> Self {
        match errno {
            0 => Self::QueueFull,
            ENXIO | EOPNOTSUPP if is_veth => Self::PeerWithoutXdp,
            EOPNOTSUPP => Self::NoXdpTransmit,
            ENXIO => Self::NoXdpQueue,
            EINVAL => Self::NoTarget,
            ENETDOWN => Self::TargetDown,
            EMSGSIZE => Self::TooLong,
            EOVERFLOW => Self::NoHeadroom,
            ENODEV => Self::TargetRemoved,
            _ => Self::Other,
        }
    }

    fn socket(errno: i32) -> Self {
        match errno {
            EINVAL => Self::WrongQueue,
            ENXIO => Self::SocketUnbound,
            ENOBUFS => Self::SocketRingFull,
            ENOMEM => Self::FillRingEmpty,
            ENOSPC => Self::SocketFrameShort,
            EOVERFLOW => Self::NoHeadroom,
            _ => Self::Other,
        }
    }

    /// Whether the key's code is an errno.
    pub(super) fn has_errno(key: &Key) -> bool {
        key.code != 0 && key.point() != Some(Point::Exception)
    }

    /// The reason in words.
    pub(super) fn reason(self, key: &Key, subject: &Subject) -> String {
        let target = &subject.target;
        match self {
            Self::Aborted => "the program returned XDP_ABORTED".to_owned(),
            Self::InvalidVerdict => {
                format!("the program returned {}, which is not a verdict", key.code)
            }
            Self::PassFailed => "the driver could not pass them to the stack".to_owned(),
            Self::TxFailed => "the driver could not send them back".to_owned(),
            Self::NoTarget => match key.index {
                0 => "the map has no entry for the key".to_owned(),
                index => format!("no interface has the index {index}"),
            },
            Self::TargetDown => format!("{target} is down"),
            Self::TooLong => format!("they are longer than the MTU of {target}"),
            Self::NoXdpTransmit => format!("the driver of {target} cannot send XDP frames"),
            Self::PeerWithoutXdp => {
                format!("{} does not receive XDP frames", peer(subject))
            }
            Self::NoXdpQueue => {
                format!("the driver of {target} has no XDP queue for the processor")
            }
            Self::QueueFull => format!("the queue of {target} was full"),
            Self::TargetRemoved => format!("{target} was removed"),
            Self::NoHeadroom => "they have too little headroom to be redirected".to_owned(),
            Self::WrongQueue => {
                "the AF_XDP socket receives from another interface or queue".to_owned()
            }
            Self::SocketUnbound => "the AF_XDP socket is not bound".to_owned(),
            Self::SocketRingFull => "the receive ring of the AF_XDP socket was full".to_owned(),
            Self::FillRingEmpty => "the fill ring of the AF_XDP socket was empty".to_owned(),
            Self::SocketFrameShort => {
                "they are longer than a frame of the AF_XDP socket".to_owned()
            }
            Self::CpuQueueFull => format!("the queue of processor {} was full", key.index),
            Self::CpuStackFailed => {
                format!("processor {} could not pass them to the stack", key.index)
            }
            Self::Other => match Self::has_errno(key) {
                true => format!("the kernel refused them: {}", errno_name(key)),
                false => "the driver rejected them".to_owned(),
            },
        }
    }

    /// What to change so that no more frames are lost.
    pub(super) fn remedy(self, subject: &Subject) -> String {
        let Subject { interface, target, .. } = subject;
        match self {
            Self::Aborted => aborted(subject),
            Self::NoTarget => no_target(subject),
            Self::TargetDown => format!("ip link set {target} up"),
            Self::TooLong => format!("ip link set {target} mtu N, or send shorter frames to it"),
            Self::PeerWithoutXdp => {
                let name = subject.peer.as_deref().unwrap_or("PEER");
                format!(
                    "attach an XDP program to the other end of {target}, or let it receive with \
                     GRO: `ethtool -K {name} gro on`; it must be up"
                )
            }
            Self::NoXdpQueue => format!(
                "attach an XDP program to {target}, or give it more queues (`ethtool -L {target}`)"
            ),
            Self::QueueFull if subject.peer.is_some() => {
                "its other end receives more slowly, or frames are longer than the MTU there: give \
                 it a processor of its own, or send slower"
                    .to_owned()
            }
            Self::QueueFull => {
                format!("send slower, or enlarge the queue (`ethtool -G {target}`)")
            }
            Self::TxFailed => format!(
                "attach the program in native mode, and give {interface} an XDP transmit queue for \
                 each processor (`ethtool -L {interface}`)"
            ),
            other => other.fixed_remedy().to_owned(),
        }
    }

    /// The remedies that name no object.
    fn fixed_remedy(self) -> &'static str {
        match self {
            Self::InvalidVerdict => {
                "return a verdict on each path of the program; `xway run OBJECT --in FILE \
                 --explain N` shows the path of a packet"
            }
            Self::PassFailed => "the kernel lacked memory, or the program left an invalid frame",
            Self::NoXdpTransmit => {
                "redirect in generic mode (`xway attach --mode generic`), or pass the frames to \
                 the stack; frames of several buffers need `ndo-xmit-sg` in `xway xsk info`"
            }
            Self::TargetRemoved => "remove its entry from the map",
            Self::NoHeadroom => {
                "let the program add fewer bytes before the frame, and leave no metadata before \
                 redirecting"
            }
            Self::WrongQueue => {
                "enter each socket under the queue to which it is bound: `xway xsk list`"
            }
            Self::SocketUnbound => {
                "remove sockets of ended processes from the map: `xway xsk list`"
            }
            Self::SocketRingFull => "read the ring more often, or make it larger",
            Self::FillRingEmpty => "return frames to the fill ring sooner, or register more memory",
            Self::SocketFrameShort => {
                "use larger frames, or several for one packet (XDP_USE_SG); before Linux 6.6 also: \
                 the receive ring was full"
            }
            Self::CpuQueueFull => {
                "make the queue larger (`qsize` of the entry), or spread the frames over more \
                 processors"
            }
            Self::CpuStackFailed => {
                "the kernel lacked memory for packets, or the program of the CPU map dropped them"
            }
            _ => "see the counters below, and the messages of the driver (`dmesg`)",
        }
    }
}

fn aborted(subject: &Subject) -> String {
    let interface = &subject.interface;
    if subject.redirect_maps.is_empty() {
        return format!(
            "`xway capture {interface} --dropped` shows the packets, `xway run OBJECT --in FILE \
             --explain N` the path of one through the program"
        );
    }
    let maps = subject.redirect_maps.join("`, `xway map dump ");
    format!(
        "a redirect to a key without an entry returns it as well: see `xway map dump {maps}`; \
         `xway capture {interface} --dropped` shows the packets"
    )
}

fn no_target(subject: &Subject) -> String {
    let map = subject.map.as_ref().or(subject.redirect_maps.first());
    let dump = map.map(|map| format!(" (`xway map dump {map}`)")).unwrap_or_default();
    format!(
        "enter the target in the map{dump}, or choose an index of `ip link`; return the value of \
         bpf_redirect_map(), whose flags choose the verdict without an entry"
    )
}

/// The symbol of the key's error number.
pub(super) fn errno_name(key: &Key) -> String {
    sys::errno_name(key.code.cast_signed())
}

fn peer(subject: &Subject) -> String {
    match &subject.peer {
        Some(peer) => format!("{peer}, the other end of {},", subject.target),
        None => format!("the other end of {}", subject.target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(point: Point, code: i32, map_type: u32) -> Key {
        Key { point: point as u32, code: code.cast_unsigned(), map_type, ..Key::default() }
    }

    #[test]
    fn errors_become_causes() {
        let socket = map_type::XSKMAP;
        for (key, is_veth, cause) in [
            (key(Point::Exception, 0, 0), false, Some(Cause::Aborted)),
            (key(Point::Exception, 77, 0), false, Some(Cause::InvalidVerdict)),
            (key(Point::Exception, 3, 0), false, Some(Cause::TxFailed)),
            (key(Point::Exception, 4, 0), false, None),
            (key(Point::Redirect, EOPNOTSUPP, 0), true, Some(Cause::PeerWithoutXdp)),
            (key(Point::Redirect, EOPNOTSUPP, 0), false, Some(Cause::NoXdpTransmit)),
            (key(Point::Redirect, EINVAL, 0), false, Some(Cause::NoTarget)),
            (key(Point::Redirect, EINVAL, socket), false, Some(Cause::WrongQueue)),
            (key(Point::Redirect, ENETDOWN, 0), true, Some(Cause::TargetDown)),
            (key(Point::Redirect, EMSGSIZE, 0), true, Some(Cause::TooLong)),
            (key(Point::Redirect, 999, 0), true, Some(Cause::Other)),
            (key(Point::Transmit, 0, 0), true, Some(Cause::QueueFull)),
            (key(Point::Transmit, ENXIO, 0), true, Some(Cause::PeerWithoutXdp)),
            (key(Point::Tx, ENXIO, 0), false, Some(Cause::NoXdpQueue)),
            (key(Point::CpuQueue, 0, 0), false, Some(Cause::CpuQueueFull)),
        ] {
            assert_eq!(Cause::of(&key, is_veth), cause, "{key:?}");
        }
    }

    #[test]
    fn words_name_what_is_concerned() {
        let subject = Subject {
            interface: "eth0".to_owned(),
            target: "eth1".to_owned(),
            peer: Some("eth2".to_owned()),
            map: None,
            redirect_maps: vec!["ports".to_owned()],
        };
        let key = Key { index: 9, ..key(Point::Redirect, EINVAL, 0) };
        for (cause, reason, remedy) in [
            (Cause::PeerWithoutXdp, "eth2", "ethtool -K eth2 gro on"),
            (Cause::TargetDown, "eth1 is down", "ip link set eth1 up"),
            (Cause::NoTarget, "index 9", "xway map dump ports"),
            (Cause::Aborted, "XDP_ABORTED", "xway map dump ports"),
            (Cause::Other, "EINVAL", "dmesg"),
        ] {
            let texts = (cause.reason(&key, &subject), cause.remedy(&subject));
            assert!(texts.0.contains(reason), "{texts:?}");
            assert!(texts.1.contains(remedy), "{texts:?}");
        }
    }
}
