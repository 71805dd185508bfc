//! What `filter sample` answers: packets that rules chose, and what became of them.

use report::number::human;
use serde::Serialize;

use crate::view::{Paint, View};

/// Sampling that is over.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sampled {
    pub interface: String,
    pub seconds: f64,
    pub packets: u64,
    /// Not written by the program, because nobody had read the ones before.
    pub lost: u64,
    pub samples: Vec<Chosen>,
}

/// One packet.
#[derive(Clone, Debug, Serialize)]
pub struct Chosen {
    /// Seconds since the beginning, when it was read.
    pub t: f64,
    pub packet: String,
    pub length: u32,
    /// The rule that chose it.
    pub sampled_by: Option<String>,
    pub verdict: &'static str,
    /// The rule that decided; `null` when none did.
    pub rule: Option<String>,
    pub reason: Option<&'static str>,
    pub queue: u32,
}

impl Chosen {
    /// As a capture tells it.
    pub fn comment(&self) -> String {
        let sampled_by = self.sampled_by.as_deref().unwrap_or("a rule that is gone");
        format!("{} by {}, sampled by {sampled_by}", self.verdict, self.by())
    }

    /// The rule, else the reason.
    fn by(&self) -> String {
        match (&self.rule, self.reason) {
            (Some(rule), _) => rule.clone(),
            (None, Some(reason)) => format!("({reason})"),
            (None, None) => "(unknown)".to_owned(),
        }
    }
}

impl View for Sampled {
    fn text(&self, paint: Paint) -> String {
        let packets = human(self.packets as f64, "");
        let head = format!("{}: {packets} packets in {:.1} s", self.interface, self.seconds);
        let mut text = format!("{}\n", paint.bold(&head));
        if self.lost > 0 {
            let lost = human(self.lost as f64, "");
            text.push_str(&format!("{lost} more were lost: they came faster than they are read\n"));
        }
        for sample in &self.samples {
            text.push_str(&format!("{}\n    {}\n", sample.packet, sample.comment()));
        }
        text
    }
}
