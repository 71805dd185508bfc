//! `Detections`: one detection of floods for each interface that declares it.

use std::time::Instant;

use crate::Control;
use crate::apply::Plan;
use crate::filter::auto_detection::{AutoCounts, AutoDetection, AutoEvent};

#[derive(Debug, Default)]
pub(super) struct Detections {
    all: Vec<AutoDetection>,
}

impl Detections {
    /// Begins detections that are declared and ends those that are not any more. A detection whose
    /// options did not change continues.
    pub fn follow(&mut self, control: &Control, plan: &Plan) {
        let mut before = std::mem::take(&mut self.all);
        for one in plan.interfaces.iter().filter(|one| one.present) {
            let Some(options) = one.detection() else { continue };
            let known = before
                .iter()
                .position(|known| known.interface() == one.name && known.options() == options);
            self.all.push(match known {
                Some(number) => before.swap_remove(number),
                None => AutoDetection::new(control, &one.name, options.clone()),
            });
        }
    }

    /// Makes the next step of each detection that is due.
    pub fn step(&mut self, mut log: impl FnMut(&str, &AutoEvent)) {
        for number in 0..self.all.len() {
            let observing = self.all.iter().filter(|one| one.is_observing()).count();
            let one = &mut self.all[number];
            if one.due() <= Instant::now() {
                let events = one.step(observing < MOST_OBSERVATIONS);
                events.iter().for_each(|event| log(one.interface(), event));
            }
        }
    }

    /// Time of the next step.
    pub fn due(&self) -> Option<Instant> {
        self.all.iter().map(AutoDetection::due).min()
    }

    /// What was detected on each interface.
    pub fn counts(&self) -> Vec<(String, AutoCounts)> {
        self.all.iter().map(|one| (one.interface().to_owned(), one.counts())).collect()
    }
}

/// Most interfaces that are observed at the same time, which limits memory and processor time.
const MOST_OBSERVATIONS: usize = 4;
