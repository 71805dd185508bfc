//! `InterfaceReason`: why an interface cannot be used as requested.

/// Why an interface cannot be used as requested, and how to change that. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceReason {
    /// No interface of this name exists.
    #[error("there is no such interface in this network namespace; existing: {existing}")]
    Unknown { existing: String },
    /// The interface with this name is not the one that was opened.
    #[error(
        "it was removed and another interface has its name, or this thread is in another network \
         namespace: open the interface again"
    )]
    Replaced,
    /// The interface is down.
    #[error("it is down: `ip link set {interface} up`")]
    Down { interface: String },
    /// The queue does not exist; `max` is the number of queues that the driver can set up.
    #[error("{}", no_queue(interface, direction, *queue, *count, *max))]
    NoQueue {
        interface: String,
        /// `receive` or `transmit`.
        direction: &'static str,
        queue: u32,
        count: u32,
        max: Option<u32>,
    },
    /// Received packets can be longer than a frame.
    #[error(
        "packets of up to {longest} bytes arrive (MTU {mtu}) and a frame of {frame_size} bytes has \
         room for {room}: {remedy}"
    )]
    FrameTooSmall { longest: u32, mtu: u32, frame_size: u32, room: u32, remedy: String },
    /// The driver has no launch time.
    #[error(
        "driver {driver} sends immediately, without a launch time (which requires Linux 6.15 and a \
         capable device); pace in software"
    )]
    NoLaunchTime { driver: String },
    /// Zero copy is required and not possible.
    #[error("{why}; allow copying, or use another interface")]
    NoZeroCopy { why: String },
    /// The memory is in use in the other mode.
    #[error(
        "another socket of this memory is in the other copy mode: use the same mode for all, or \
         other memory"
    )]
    OtherMode,
    /// The queue already has a socket.
    #[error(
        "queue {queue} goes to another socket already, of {holders}; close that one or use another \
         queue"
    )]
    QueueTaken { queue: u32, holders: String },
    /// All places for groups of rules are in use.
    #[error("all {count} places for rules are taken; end one of {holders}")]
    GroupsTaken { count: u32, holders: String },
    /// The attached redirect program has other options.
    #[error("{difference}; request the same, or end {holders} first")]
    OtherOptions { difference: String, holders: String },
}

fn no_queue(interface: &str, direction: &str, queue: u32, count: u32, max: Option<u32>) -> String {
    let has = match count {
        0 => format!("it has no {direction} queue"),
        1 => format!("it has no {direction} queue {queue}; its only one is 0"),
        _ => format!("it has no {direction} queue {queue}; it has 0 to {}", count - 1),
    };
    match max {
        Some(max) if queue < max => {
            format!("{has}; `ethtool -L {interface}` can set up to {max}")
        }
        _ => has,
    }
}
