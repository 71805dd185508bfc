//! What `xsk` answers: sockets measured, sockets there are, what an interface can do for them.
//!
//! Field names are promised in `docs/json.md`.

mod live;
mod measured;

use report::table::{Column, Table};
use serde::Serialize;

pub use live::{Playing, Sample};
pub use measured::{Facts, Loss, Measured, Ready};

use super::{Paint, View};

/// Queues with sockets.
#[derive(Clone, Debug, Serialize)]
pub struct List {
    pub sockets: Vec<Held>,
}

/// A queue that has sockets.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    pub interface: String,
    pub queue: u32,
    /// Whether these processes hold it; else one of them does.
    pub certain: bool,
    /// None where they cannot be seen from here.
    pub processes: Vec<Process>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Process {
    pub pid: u32,
    pub command: String,
}

impl View for List {
    fn text(&self, _paint: Paint) -> String {
        if self.sockets.is_empty() {
            return "no queue of this network namespace has an AF_XDP socket\n".to_owned();
        }
        let columns = [Column::text("interface"), Column::number("queue"), Column::text("held by")];
        let mut table = Table::new(columns);
        for held in &self.sockets {
            table.row([held.interface.clone(), held.queue.to_string(), held.holders()]);
        }
        table.to_string()
    }
}

impl Held {
    fn holders(&self) -> String {
        let names = self.processes.iter().map(|one| format!("{} ({})", one.command, one.pid));
        let names = names.collect::<Vec<_>>().join(", ");
        match (names.is_empty(), self.certain) {
            (true, _) => "a process that is not seen here".to_owned(),
            (false, true) => names,
            (false, false) => format!("one of {names}"),
        }
    }
}

/// What an interface is and can.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    pub interface: String,
    pub driver: String,
    pub mtu: u32,
    pub up: bool,
    pub rx_queues: u32,
    pub tx_queues: u32,
    /// As many as can be set, where the driver tells.
    pub most_queues: Option<u32>,
    pub numa_node: Option<u32>,
    /// What the driver says of itself; Linux before 6.3 does not tell.
    pub abilities: Option<Abilities>,
    /// Why packets are copied.
    pub why_copy: Option<String>,
    /// Why no socket can be opened with ordinary options.
    pub refused: Option<String>,
    /// Where the thread of each queue would run.
    pub workers: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Abilities {
    pub xdp: Vec<&'static str>,
    pub zero_copy: bool,
    /// Frames that one packet may have with zero copy.
    pub zero_copy_segments: u32,
    pub tx_checksum: bool,
    pub tx_timestamp: bool,
    pub launch_time: bool,
}

impl View for Info {
    fn text(&self, paint: Paint) -> String {
        let most = self.most_queues.map_or(String::new(), |most| format!(", {most} at most"));
        let up = if self.up { "up" } else { "down" };
        let mut lines = vec![
            format!(
                "{}: driver {}, MTU {}, {up}",
                paint.bold(&self.interface),
                self.driver,
                self.mtu
            ),
            format!("queues: {} receive, {} transmit{most}", self.rx_queues, self.tx_queues),
        ];
        lines.extend(self.numa_node.map(|node| format!("NUMA node: {node}")));
        match &self.abilities {
            None => lines.push("abilities: this kernel does not tell".to_owned()),
            Some(abilities) => lines.extend(abilities.lines()),
        }
        lines.extend(self.why_copy.iter().map(|why| format!("packets are copied: {why}")));
        lines.extend(self.refused.iter().map(|why| paint.bad(&format!("no socket: {why}"))));
        lines.extend(self.workers.iter().map(|place| format!("thread of {place}")));
        lines.join("\n") + "\n"
    }
}

impl Abilities {
    fn lines(&self) -> [String; 2] {
        let offloads = [
            (self.zero_copy, "zero copy"),
            (self.tx_checksum, "checksums"),
            (self.tx_timestamp, "transmit timestamps"),
            (self.launch_time, "launch times"),
        ];
        let can = |can: bool| {
            let words: Vec<_> =
                offloads.iter().filter(|(has, _)| *has == can).map(|(_, word)| *word).collect();
            if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
        };
        [
            format!("XDP: {}", self.xdp.join(", ")),
            format!("for sockets: {}; not: {}", can(true), can(false)),
        ]
    }
}

#[cfg(test)]
mod tests;
