//! Text of `route why`: the verdict, and the steps that led to it.

use std::fmt::Write;

use control::route::RouteExplanation;

use crate::view::{Paint, View};

impl View for RouteExplanation {
    fn text(&self, paint: Paint) -> String {
        let Self { n, ingress, verdict, port, vlan, next_hop, reason, steps } = self;
        let head = match *verdict {
            "redirect" | "tx" => paint.good(verdict),
            _ => paint.bad(verdict),
        };
        let mut to = String::new();
        if let Some(port) = port {
            to += &format!(" to {port}");
        }
        if let Some(vlan) = vlan {
            to += &format!(" vlan {vlan}");
        }
        if let Some(next_hop) = next_hop {
            to += &format!(" next hop {next_hop}");
        }
        let mut text = format!("{n:>6}  {head}  {} from {ingress}{to}\n", paint.bold(reason));
        for step in steps {
            // Writing to a string does not fail.
            let _ = writeln!(text, "        {:<9} {}", step.step, step.text);
        }
        text
    }
}
