//! The seam between cases and the engines that run them.

use super::case::Case;

/// Something that runs programs. `Err` is the reason why it did not, or did not to the end.
pub trait Engine {
    /// Runs with r1 at the memory and r2 its number of bytes, and returns the final value of r0.
    fn run(&mut self, case: &Case) -> Result<u64, String>;
}
