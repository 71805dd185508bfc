//! `Interrupt`: requests to end a run, visible to everything that takes long: packets, programs,
//! maps.
//!
//! Rule: requests are counted, not consumed. One that comes while packets are played ends the
//! playing; the maps are still listed then, until another one comes. Not here: signals, which the
//! caller counts.

use std::fmt;
use std::sync::Arc;

/// A check for requests to end a run. By default there are none.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> u32 + Send + Sync>);

impl Interrupt {
    /// Uses a function that returns the number of requests so far. It is called often, also by the
    /// engine while a program runs.
    pub fn new(count: impl Fn() -> u32 + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    pub(crate) fn has_come(&self) -> bool {
        self.count() > 0
    }

    /// A condition that holds until the next request. Its clones hold until the same one: a second
    /// condition would miss a request that came while it was made.
    pub(crate) fn until_next(&self) -> impl Fn() -> bool + Clone + Send + use<> {
        let (interrupt, before) = (self.clone(), self.count());
        move || interrupt.count() == before
    }

    fn count(&self) -> u32 {
        (self.0)()
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Self::new(|| 0)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}
