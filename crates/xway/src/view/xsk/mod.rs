//! Text of `xsk`: measured sockets, sockets of others, what an interface can do for them.

mod live;
mod measured;

use report::table::{Column, Table};
use xsk::device::{Abilities, DeviceReport};
use xsk::diagnose::{HeldQueue, Sockets};

pub use live::HEIGHT;
pub use measured::{Ready, setup_line};

use super::{Paint, View};

impl View for Sockets {
    fn text(&self, _paint: Paint) -> String {
        if self.sockets.is_empty() {
            return "no queue of this network namespace has an AF_XDP socket\n".to_owned();
        }
        let columns = [Column::text("interface"), Column::number("queue"), Column::text("held by")];
        let mut table = Table::new(columns);
        for held in &self.sockets {
            table.row([held.interface.clone(), held.queue.to_string(), holders(held)]);
        }
        table.to_string()
    }
}

fn holders(held: &HeldQueue) -> String {
    let names = held.processes.iter().map(|one| format!("{} ({})", one.command, one.pid));
    let names = names.collect::<Vec<_>>().join(", ");
    match (names.is_empty(), held.certain) {
        (true, _) => "a process that is not visible here".to_owned(),
        (false, true) => names,
        (false, false) => format!("one of {names}"),
    }
}

impl View for DeviceReport {
    fn text(&self, paint: Paint) -> String {
        let most = self.most_queues.map_or(String::new(), |most| format!(", {most} at most"));
        let up = if self.up { "up" } else { "down" };
        let driver = match self.driver.as_str() {
            "" => "no driver".to_owned(),
            name => format!("driver {name}"),
        };
        let mut lines = vec![
            format!("{}: {driver}, MTU {}, {up}", paint.bold(&self.interface), self.mtu),
            format!("queues: {} receive, {} transmit{most}", self.rx_queues, self.tx_queues),
        ];
        lines.extend(self.numa_node.map(|node| format!("NUMA node: {node}")));
        match &self.abilities {
            None => lines.push("abilities: not reported by this kernel".to_owned()),
            Some(abilities) => lines.extend(abilities_lines(abilities)),
        }
        lines.extend(self.why_copy.iter().map(|why| format!("packets are copied: {why}")));
        lines.extend(self.refused.iter().map(|why| paint.bad(&format!("no socket: {why}"))));
        lines.extend(self.workers.iter().map(|place| format!("thread of {place}")));
        lines.join("\n") + "\n"
    }
}

fn abilities_lines(abilities: &Abilities) -> [String; 2] {
    let offloads = [
        (abilities.zero_copy, "zero copy"),
        (abilities.tx_checksum, "checksums"),
        (abilities.tx_timestamp, "transmit timestamps"),
        (abilities.launch_time, "launch times"),
    ];
    let can = |can: bool| {
        let words: Vec<_> =
            offloads.iter().filter(|(has, _)| *has == can).map(|(_, word)| *word).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
    };
    [
        format!("XDP: {}", abilities.xdp.join(", ")),
        format!("for sockets: {}; not: {}", can(true), can(false)),
    ]
}

#[cfg(test)]
mod tests;
