//! What a campaign found, for people and for scripts.

use std::fmt;

use serde_json::{Value, json};

use super::reason::REASONS;

/// Counts of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Packets that were sent to both routers.
    pub packets: usize,
    /// Packets that both treated in the same way, byte by byte.
    pub same: usize,
    /// One entry for each reason or unlisted signature.
    pub differing: Vec<Class>,
}

/// Differences of one kind.
#[derive(Clone, Debug)]
pub struct Class {
    /// Name of the reason, or a signature of what both routers did.
    pub name: String,
    /// Whether it is in the list of reasons.
    pub is_listed: bool,
    pub is_by_nature: bool,
    pub count: usize,
    /// The first cases.
    pub cases: Vec<usize>,
    /// How to repeat the first case, its packet, and what each router did.
    pub example: String,
}

impl Report {
    /// Counts one difference; `example` is called for the first of its kind.
    pub fn add(&mut self, name: &str, case: usize, example: impl FnOnce() -> String) {
        let at = self.differing.iter().position(|class| class.name == name).unwrap_or_else(|| {
            let listed = REASONS.iter().find(|reason| reason.name == name);
            self.differing.push(Class {
                name: name.to_owned(),
                is_listed: listed.is_some(),
                is_by_nature: listed.is_some_and(|reason| reason.is_by_nature),
                count: 0,
                cases: Vec::new(),
                example: example(),
            });
            self.differing.len() - 1
        });
        let class = &mut self.differing[at];
        class.count += 1;
        if class.cases.len() < CASES {
            class.cases.push(case);
        }
    }

    /// Names of the kinds of differences that are not listed.
    pub fn unlisted(&self) -> Vec<&str> {
        let unlisted = self.differing.iter().filter(|class| !class.is_listed);
        unlisted.map(|class| class.name.as_str()).collect()
    }

    /// The contract of `cargo xtask route-truth --json`.
    pub fn json(&self) -> Value {
        let class = |class: &Class| {
            json!({
                "reason": class.name,
                "listed": class.is_listed,
                "by_nature": class.is_by_nature,
                "count": class.count,
                "cases": class.cases,
                "example": class.example,
            })
        };
        let differing: Vec<Value> = self.differing.iter().map(class).collect();
        json!({ "packets": self.packets, "same": self.same, "differing": differing })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for class in self.differing.iter().filter(|class| !class.is_listed) {
            writeln!(f, "{}: {} packets\n{}\n", class.name, class.count, class.example)?;
        }
        for class in self.differing.iter().filter(|class| class.is_listed) {
            let about =
                REASONS.iter().find(|one| one.name == class.name).map_or("", |one| one.about);
            writeln!(f, "{:16} {:>7}  {about}", class.name, class.count)?;
        }
        let unlisted: usize =
            self.differing.iter().filter(|one| !one.is_listed).map(|one| one.count).sum();
        let listed = self.packets - self.same - unlisted;
        write!(
            f,
            "{} packets: {} the same, {listed} differ for a listed reason, {unlisted} for none",
            self.packets, self.same
        )
    }
}

/// Cases that are kept of each kind.
const CASES: usize = 10;
