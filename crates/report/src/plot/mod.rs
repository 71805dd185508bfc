//! Figures as SVG: bars with whiskers, grouped bars, curves, and panels over time.
//!
//! Rule: a figure is text that stands alone (no script, font or network), follows the reader's
//! light or dark setting by CSS, never relies on color alone, and is readable on a phone: layouts
//! reserve the width of the larger letters that narrow screens get. A value that is not a number is
//! shown as missing, never drawn.
//!
//! `theme` holds colours and letters, `canvas` writes the marks, `axis` finds round ticks, and
//! each figure is one file.

mod axis;
mod bars;
mod canvas;
mod chart;
mod curves;
mod footnote;
mod grouped;
mod heading;
mod logarithm;
mod mark;
mod marker;
mod published;
mod theme;

pub use bars::Bars;
pub use canvas::Svg;
pub use chart::{Chart, Panel, Phase, Tone};
pub use curves::{Curves, Point};
pub use grouped::Grouped;
