//! Waiting for something to become true, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::limits::LOOK_EVERY;

/// Calls `probe` until it returns a value, at least once. After `limit` the result is
/// [`Error::Timeout`] with `what` as its subject.
pub fn until<T>(
    what: &str,
    limit: Duration,
    mut probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = probe()? {
            return Ok(found);
        }
        if start.elapsed() >= limit {
            return Err(Error::Timeout { what: what.to_owned(), limit });
        }
        thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_condition_and_not_for_ever() {
        let mut looks = 0;
        let found = until("three looks", Duration::from_secs(5), || {
            looks += 1;
            Ok((looks == 3).then_some(looks))
        });
        assert_eq!(found.unwrap(), 3);
        let never = until::<()>("nothing", Duration::ZERO, || Ok(None)).unwrap_err();
        assert_eq!(never.to_string(), "nothing did not happen within 0 ms");
    }
}
