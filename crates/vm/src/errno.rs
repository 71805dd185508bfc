//! Error numbers as a BPF program sees them: negative in r0, the same on every system.
//!
//! Not here: errors of this crate's interface (`error`), faults of a program (`fault`).

use std::fmt;

/// An error number of Linux, positive as in `errno.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Errno(pub i32);

impl Errno {
    /// The number as a helper returns it in r0: negative, 64 bits.
    pub const fn in_r0(self) -> u64 {
        -(self.0 as i64) as u64
    }

    /// Name in `errno.h`; `None` for unknown numbers.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(number, _, _)| *number == self.0).map(|(_, name, _)| *name)
    }

    /// Description of the error, as in `strerror`.
    fn words(self) -> Option<&'static str> {
        NAMES.iter().find(|(number, _, _)| *number == self.0).map(|(_, _, words)| *words)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.words(), self.name()) {
            (Some(words), Some(name)) => write!(f, "{words} ({name})"),
            _ => write!(f, "error {}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Errno({})", self.0),
        }
    }
}

/// One row defines the constant, its name and its description.
macro_rules! errnos {
    ($($number:literal $constant:ident $words:literal)*) => {
        impl Errno {
            $(pub const $constant: Self = Self($number);)*
        }
        const NAMES: &[(i32, &str, &str)] = &[$(($number, stringify!($constant), $words)),*];
    };
}

errnos! {
    1 EPERM "Operation not permitted"
    2 ENOENT "No such file or directory"
    7 E2BIG "Argument list too long"
    9 EBADF "Bad file descriptor"
    11 EAGAIN "Resource temporarily unavailable"
    12 ENOMEM "Cannot allocate memory"
    13 EACCES "Permission denied"
    14 EFAULT "Bad address"
    16 EBUSY "Device or resource busy"
    17 EEXIST "File exists"
    19 ENODEV "No such device"
    22 EINVAL "Invalid argument"
    28 ENOSPC "No space left on device"
    33 EDOM "Numerical argument out of domain"
    34 ERANGE "Numerical result out of range"
    35 EDEADLK "Resource deadlock avoided"
    56 EBADRQC "Invalid request code"
    61 ENODATA "No data available"
    62 ETIME "Timer expired"
    64 ENONET "Machine is not on the network"
    71 EPROTO "Protocol error"
    75 EOVERFLOW "Value too large for defined data type"
    90 EMSGSIZE "Message too long"
    91 EPROTOTYPE "Protocol wrong type for socket"
    93 EPROTONOSUPPORT "Protocol not supported"
    95 EOPNOTSUPP "Operation not supported"
    97 EAFNOSUPPORT "Address family not supported by protocol"
    98 EADDRINUSE "Address already in use"
    100 ENETDOWN "Network is down"
    101 ENETUNREACH "Network is unreachable"
    110 ETIMEDOUT "Connection timed out"
    524 ENOTSUPP "Operation not supported by the kernel"
}
