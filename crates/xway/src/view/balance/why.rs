//! Text of `balance why`: the backend, and what decided it.

use control::balance::BalanceExplanation;

use crate::view::{Paint, View};

impl View for BalanceExplanation {
    fn text(&self, paint: Paint) -> String {
        let Self { interface, flow, service, slot, backend, by, new } = self;
        let Some(backend) = backend else {
            let none = paint.bad("no backend");
            return format!("{none}  {flow}: service {service} on {interface} has none");
        };
        let reason = match *by {
            "slot" => "the backend of its slot",
            "id" => "named by its QUIC connection ID",
            "flow" => "remembered, because it began after a change",
            "former" => "the former backend of its slot, because it is older than the last change",
            "drain" => "older than the last change, and its backend drains",
            other => other,
        };
        let head = paint.good(&backend.to_string());
        let text =
            format!("{head}  {flow}: service {service} on {interface}, slot {slot}: {reason}");
        match new {
            Some(new) if new != backend => format!("{text}; new connections go to {new}"),
            None => format!("{text}; new connections go nowhere"),
            Some(_) => text,
        }
    }
}
