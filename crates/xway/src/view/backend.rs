//! Text of `balance backend`: which tunnels are opened, and what was received.

use control::backend::Tunnels;
use report::table::{Column, Table};

use super::{Paint, View};

impl View for Tunnels {
    fn text(&self, _paint: Paint) -> String {
        let Some(mode) = self.mode else {
            return format!("{}: no tunnels are opened", self.interface);
        };
        let port = |port: u16| if port == 0 { "off".to_owned() } else { format!("port {port}") };
        let mss = match self.mss {
            Some([mss4, mss6]) => format!(
                "announced MSS at most {mss4} (IPv4), {mss6} (IPv6); lowered {}",
                self.lowered
            ),
            None => "announced MSS is that of the stack".to_owned(),
        };
        let mut table = Table::new([Column::text("packets in tunnels"), Column::number("packets")]);
        for (reason, packets) in &self.packets {
            table.row([reason.clone(), packets.to_string()]);
        }
        format!(
            "{}: tunnels are opened in {mode} mode: IPIP, GUE ({}), Geneve ({})\n\
             from {}\nto {}\nfor services {}\n{mss}\n{table}",
            self.interface,
            port(self.gue_port),
            port(self.geneve_port),
            self.from.join(", "),
            self.address.join(", "),
            self.service.join(", "),
        )
    }
}
