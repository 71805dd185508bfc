//! Text of `route`; that of `route start` is in `attach`, since other functions print it too.

mod show;
mod top;
mod why;

use control::route::Stopped;

use super::{Paint, View};

impl View for Stopped {
    fn text(&self, _paint: Paint) -> String {
        let lines = self.interfaces.iter().map(|name| format!("{name}: router stopped"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
