//! Text of `balance why`: the backend, and what decided it.

use control::balance::{BalanceExplanation, BalanceTranslation};

use crate::view::{Paint, View};

impl View for BalanceExplanation {
    fn text(&self, paint: Paint) -> String {
        let Self { interface, flow, service, slot, backend, by, new, translation } = self;
        let service = match service {
            Some(name) => format!("service {name} on {interface}"),
            None => format!("a service that {interface} has no more"),
        };
        let Some(backend) = backend else {
            let none = paint.bad("no backend");
            return format!("{none}  {flow}: {service} has none");
        };
        let reason = match *by {
            "slot" => "the backend of its slot",
            "id" => "named by its QUIC connection ID",
            "flow" => "remembered, because it began after a change",
            "former" => "the former backend of its slot, because it is older than the last change",
            "drain" => "older than the last change, and its backend drains",
            "translation" => "the backend of its translation",
            other => other,
        };
        let head = paint.good(&backend.to_string());
        let slot = slot.map(|slot| format!(", slot {slot}")).unwrap_or_default();
        let mut text = format!("{head}  {flow}: {service}{slot}: {reason}");
        if let Some(one) = translation {
            let BalanceTranslation { client, service, source, backend, state, age_s } = one;
            text += &format!(
                "; {client} to {service} is {source} to {backend}, {state}, last used {age_s} s ago"
            );
        }
        match new {
            Some(new) if new != backend => format!("{text}; new connections go to {new}"),
            None => format!("{text}; new connections go nowhere"),
            Some(_) => text,
        }
    }
}
