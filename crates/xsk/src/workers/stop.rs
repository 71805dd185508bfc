//! `Stop`: the word that ends workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Clones are the same word: whoever has one can say it, everybody sees it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    said: Arc<AtomicBool>,
}

impl Stop {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&self) {
        self.said.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.said.load(Ordering::Relaxed)
    }
}
