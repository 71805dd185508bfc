//! Text of `asm` and of `disasm --assembly`.

use control::assembly::{AssemblyReport, AssemblySource};
use report::text;

use super::{Paint, View};

impl View for AssemblyReport {
    fn text(&self, paint: Paint) -> String {
        let path = paint.bold(&text::line(&self.object));
        let mut lines = vec![format!("{path}: {} bytes", self.bytes)];
        for program in &self.programs {
            let (name, section) = (text::line(&program.name), text::line(&program.section));
            let count = program.instructions;
            lines.push(format!("  program {name} ({section}): {count} instructions"));
        }
        lines.extend(self.maps.iter().map(|name| format!("  map {}", text::line(name))));
        lines.join("\n")
    }
}

impl View for AssemblySource {
    fn text(&self, _paint: Paint) -> String {
        self.source.clone()
    }
}
