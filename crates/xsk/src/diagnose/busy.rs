//! Describes the holder of a queue that is in use.

use super::holder::{Holder, QueueHolders, holders};
use crate::device::Device;

/// Describes the holder of `queue`, and how to obtain the queue.
pub fn busy(device: &Device, queue: u32) -> String {
    describe(&device.name, queue, &holders(device.ifindex, queue), std::process::id())
}

fn describe(name: &str, queue: u32, holders: &QueueHolders, own: u32) -> String {
    let queue = format!("queue {queue} of {name}");
    match holders {
        QueueHolders::Known(processes) if processes.iter().any(|holder| holder.pid == own) => {
            format!("{queue} has a socket of this process: close it, or use another queue")
        }
        QueueHolders::Known(processes) => {
            format!("{queue} is used by {}: end it, or use another queue", list(processes))
        }
        QueueHolders::Suspected(processes) => format!(
            "{queue} is used by a process with an AF_XDP socket, probably {}; run as root to be \
             certain",
            list(processes)
        ),
        QueueHolders::Invisible => format!(
            "{queue} has a socket of a process that is not visible here: it is being closed (try \
             again), or its process is in another container"
        ),
        QueueHolders::None => {
            format!("{queue} was just released by its last user: try again")
        }
    }
}

fn list(processes: &[Holder]) -> String {
    let names: Vec<_> = processes
        .iter()
        .take(NAMED)
        .map(|holder| format!("`{}` (process {})", holder.command, holder.pid))
        .collect();
    let more = processes.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(" and "))
}

/// Most processes that a message names.
const NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Holder {
        Holder { pid, command: "zmap".to_owned() }
    }

    #[test]
    fn the_message_names_the_holder() {
        let many = (1..6).map(process).collect();
        let cases = [
            (
                QueueHolders::Known(vec![process(7)]),
                "queue 3 of eth1 is used by `zmap` (process 7):",
            ),
            (QueueHolders::Known(vec![process(9)]), "eth1 has a socket of this process: close it"),
            (QueueHolders::Known(many), "(process 2) and `zmap` (process 3) and 2 more:"),
            (QueueHolders::Suspected(vec![process(7)]), "probably `zmap` (process 7);"),
            (QueueHolders::Invisible, "another container"),
            (QueueHolders::None, "try again"),
        ];
        for (holders, expected) in cases {
            let text = describe("eth1", 3, &holders, 9);
            assert!(text.contains(expected), "{text}");
        }
    }
}
