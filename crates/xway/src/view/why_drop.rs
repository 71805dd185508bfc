//! Text of `why-drop`.

use control::losses::{DropRow, Loss, LossReport};

use super::{Paint, View};

impl View for LossReport {
    fn text(&self, paint: Paint) -> String {
        let head =
            format!("{}: {} frames lost in {:.1} s", self.interface, self.lost, self.seconds);
        let mut lines = vec![paint.bold(&head)];
        for loss in &self.losses {
            lines.push(format!("{:>10}  {}", loss.frames, paint.bad(&loss.reason)));
            lines.push(format!("{:12}{}", "", place(loss)));
            lines.push(format!("{:12}remedy: {}", "", loss.remedy));
        }
        if self.uncounted > 0 {
            lines.push(format!("{:>10}  of this host, by further causes", self.uncounted));
        }
        if !self.drops.is_empty() {
            lines.push("dropped by programs, on purpose:".to_owned());
        }
        for DropRow { program, reason, packets } in &self.drops {
            let reason = reason.iter().map(|reason| format!(": {reason}")).collect::<String>();
            lines.push(format!("{packets:>10}  {} (id {}){reason}", program.name, program.id));
        }
        if !self.counters.is_empty() {
            lines.push("counters that grew, which may count the same frames:".to_owned());
        }
        for counter in &self.counters {
            let owner = if counter.of_driver { " (driver)" } else { "" };
            lines.push(format!("{:>10}  {}{owner}", counter.increase, counter.name));
        }
        lines.join("\n")
    }
}

/// Where the frames were lost.
fn place(loss: &Loss) -> String {
    let from = loss.received_on.as_deref().map(|name| format!("received on {name}"));
    let to = loss.target.as_deref().map(|name| format!("to {name}"));
    let program = loss.program.as_ref().map(|one| format!("program {} (id {})", one.name, one.id));
    let key = loss.key.map(|key| format!(", key {key}")).unwrap_or_default();
    let map = loss.map.as_ref().map(|map| format!("map {}{key}", map.name));
    let parts = [from, to, program, map, loss.errno.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
