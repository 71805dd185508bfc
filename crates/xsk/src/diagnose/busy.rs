//! A queue that is taken, in words.

use super::holder::{Holder, QueueHolders, holders};
use crate::device::Device;

/// Who is in the way of a socket on `queue`, and what to do about it.
pub fn busy(device: &Device, queue: u32) -> String {
    describe(&device.name, queue, &holders(device.ifindex, queue), std::process::id())
}

fn describe(name: &str, queue: u32, holders: &QueueHolders, own: u32) -> String {
    let queue = format!("queue {queue} of {name}");
    match holders {
        QueueHolders::Known(processes) if processes.iter().any(|holder| holder.pid == own) => {
            format!("{queue} has a socket of this process: close it, or take another queue")
        }
        QueueHolders::Known(processes) => {
            format!("{queue} is used by {}: end it, or take another queue", list(processes))
        }
        QueueHolders::Suspected(processes) => format!(
            "{queue} is used by somebody with an AF_XDP socket, which {} has; as root it could be \
             told for sure",
            list(processes)
        ),
        QueueHolders::Unseen => format!(
            "{queue} has a socket of no process that is seen here: it is being closed (try \
             again), or its process is in another container"
        ),
        QueueHolders::Nobody => {
            format!("{queue} was just given back by its last user: try again")
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

/// Processes that a sentence names.
const NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Holder {
        Holder { pid, command: "zmap".to_owned() }
    }

    #[test]
    fn the_sentence_names_who_is_in_the_way() {
        let many = (1..6).map(process).collect();
        let cases = [
            (
                QueueHolders::Known(vec![process(7)]),
                "queue 3 of eth1 is used by `zmap` (process 7):",
            ),
            (QueueHolders::Known(vec![process(9)]), "eth1 has a socket of this process: close it"),
            (QueueHolders::Known(many), "(process 2) and `zmap` (process 3) and 2 more:"),
            (QueueHolders::Suspected(vec![process(7)]), "which `zmap` (process 7) has"),
            (QueueHolders::Unseen, "another container"),
            (QueueHolders::Nobody, "try again"),
        ];
        for (holders, expected) in cases {
            let text = describe("eth1", 3, &holders, 9);
            assert!(text.contains(expected), "{text}");
        }
    }
}
