//! Text of `filter sample`: sampled packets and their verdicts.

use control::filter::samples::SampleReport;
use report::number::human;

use crate::view::{Paint, View};

impl View for SampleReport {
    fn text(&self, paint: Paint) -> String {
        let packets = human(self.packets as f64, "");
        let head = format!("{}: {packets} packets in {:.1} s", self.interface, self.seconds);
        let mut text = format!("{}\n", paint.bold(&head));
        if self.lost > 0 {
            let lost = human(self.lost as f64, "");
            text.push_str(&format!(
                "{lost} more were lost: they came faster than they were read\n"
            ));
        }
        for sample in &self.samples {
            text.push_str(&format!("{}\n    {}\n", sample.packet, sample.comment()));
        }
        text
    }
}
