//! The error of this crate: which system call failed, on which object, and why.

use std::fmt;
use std::io;

/// A failed system call. Displays as `bpf(PROG_LOAD) "filter": Operation not permitted (EPERM)`,
/// followed by the kernel's own message if it sent one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The call as the manual writes it, such as `bpf(PROG_LOAD)`.
    pub call: &'static str,
    /// What it was called on: a path, an interface, a map's name. May be empty.
    pub object: String,
    /// A positive `errno`.
    pub errno: i32,
    /// The kernel's extended acknowledgement or advice. May be empty.
    pub detail: String,
}

/// Result with the error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error without detail.
    pub fn new(call: &'static str, object: impl Into<String>, errno: i32) -> Self {
        Self { call, object: object.into(), errno, detail: String::new() }
    }

    /// From the calling thread's `errno`.
    pub fn last(call: &'static str, object: impl Into<String>) -> Self {
        Self::from_io(call, object, &io::Error::last_os_error())
    }

    /// From a standard-library error; one without an errno becomes `EIO` with its text as detail.
    pub fn from_io(call: &'static str, object: impl Into<String>, error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(errno) => Self::new(call, object, errno),
            None => Self::new(call, object, libc::EIO).with_detail(error.to_string()),
        }
    }

    /// Adds the kernel's message or advice.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Whether the call failed with this errno.
    pub fn is(&self, errno: i32) -> bool {
        self.errno == errno
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.call)?;
        if !self.object.is_empty() {
            write!(f, " \"{}\"", self.object)?;
        }
        let text = io::Error::from_raw_os_error(self.errno).to_string();
        let sentence = text.split(" (os error").next().unwrap_or(&text);
        write!(f, ": {sentence} ({})", errno_name(self.errno))?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The symbol of an errno, such as `EPERM`, or its number.
pub fn errno_name(errno: i32) -> String {
    NAMES
        .iter()
        .find(|(number, _)| *number == errno)
        .map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).to_owned())
}

macro_rules! names {
    ($($name:ident)*) => {
        &[$((libc::$name, stringify!($name))),*, (crate::errno::ENOTSUPP, "ENOTSUPP")]
    };
}

/// The errors that BPF, netlink, namespace and AF_XDP calls return.
const NAMES: &[(i32, &str)] = names! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV
    ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY EFBIG ENOSPC EROFS EPIPE EDOM ERANGE EDEADLK
    ENAMETOOLONG ENOSYS ENOTEMPTY ELOOP ENODATA EPROTO EOVERFLOW EILSEQ EMSGSIZE EPROTONOSUPPORT
    EOPNOTSUPP EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ECONNREFUSED ECONNRESET
    ENOBUFS ENOTCONN ETIMEDOUT EHOSTUNREACH EALREADY ESTALE ECANCELED ENOKEY EBADMSG ENOPROTOOPT
    ESOCKTNOSUPPORT
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_call_object_and_reason() {
        let error =
            Error::new("bpf(PROG_LOAD)", "filter", libc::EPERM).with_detail("needs CAP_BPF");
        assert_eq!(
            error.to_string(),
            "bpf(PROG_LOAD) \"filter\": Operation not permitted (EPERM): needs CAP_BPF"
        );
        assert_eq!(errno_name(524), "ENOTSUPP");
    }
}
