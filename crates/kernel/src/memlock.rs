//! Kernels before 5.11 charge maps and programs to `RLIMIT_MEMLOCK` and answer `EPERM` when it is
//! used up. The limit is lifted then, and only then.

use sys::errno::EPERM;

/// Makes a call; after `EPERM` lifts the limit and makes it once more.
pub(crate) fn with_room<T>(call: impl Fn() -> sys::Result<T>) -> sys::Result<T> {
    match call() {
        Err(error) if error.is(EPERM) && is_limited() => match sys::cap::lift_memlock() {
            Ok(()) => call(),
            Err(_) => Err(error),
        },
        other => other,
    }
}

fn is_limited() -> bool {
    matches!(sys::cap::memlock(), Ok(Some(_)))
}
