//! What the processors of the machine did meanwhile.

use std::fs;

/// Time of all processors since the machine began, in ticks: `/proc/stat`.
#[derive(Clone, Debug)]
pub struct Times(Vec<u64>);

/// Shares of the time of all processors, of 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    pub user: f64,
    pub system: f64,
    /// Interrupts, also those of software: packets on their way.
    pub interrupts: f64,
    pub idle: f64,
}

impl Times {
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let words = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
        Self(words.filter_map(|word| word.parse().ok()).collect())
    }

    /// Since then.
    pub fn shares(&self) -> Shares {
        let spent: Vec<u64> = Self::now()
            .0
            .iter()
            .zip(&self.0)
            .map(|(now, then)| now.saturating_sub(*then))
            .collect();
        // user, nice, system, idle, iowait, irq, softirq, steal
        let all: u64 = spent.iter().take(8).sum();
        let share = |fields: &[usize]| {
            let sum: u64 = fields.iter().filter_map(|field| spent.get(*field)).sum();
            sum as f64 / all.max(1) as f64
        };
        Shares {
            user: share(&[0, 1]),
            system: share(&[2]),
            interrupts: share(&[5, 6]),
            idle: share(&[3, 4]),
        }
    }
}
