//! What Expressway measured, made readable: samples become statistics, tables, SVG figures and
//! one HTML page.
//!
//! Rule: the same values give the same text; only [`Host::read`] inspects the machine, and it reads
//! files only. Every text from outside is escaped where it is written. Not here: measuring (crate
//! `bench`), printing, choosing what to show (the binary).
#![forbid(unsafe_code)]

pub mod bench;
pub mod comparison;
pub mod date;
pub mod drawing;
mod error;
mod escape;
pub mod figure;
pub mod host;
pub mod number;
pub mod page;
pub mod plot;
mod rounds;
mod row;
mod rows;
pub mod run;
pub mod samples;
pub mod table;
pub mod text;
pub mod timeline;

pub use bench::Bench;
pub use comparison::Comparison;
pub use drawing::Drawing;
pub use error::Error;
pub use figure::Figure;
pub use host::Host;
pub use page::Page;
pub use plot::Svg;
pub use rounds::Rounds;
pub use run::Run;
pub use samples::{Samples, Stats};
pub use table::Table;
pub use timeline::Timeline;
