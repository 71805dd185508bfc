//! Error numbers of Linux, for comparison with [`Error::is`](crate::Error::is).
//!
//! Rule: the numbers are libc's, and other crates name them from here alone. Not here: the text of
//! an error number, which is that of [`std::io::Error`].

pub use libc::{
    E2BIG, EACCES, EAFNOSUPPORT, EAGAIN, EBADF, EBUSY, EEXIST, EFAULT, EHOSTUNREACH, EINTR, EINVAL,
    EMFILE, EMSGSIZE, ENETDOWN, ENOBUFS, ENODEV, ENOENT, ENOMEM, ENOPROTOOPT, ENOSPC, ENXIO,
    EOPNOTSUPP, EOVERFLOW, EPERM, ESRCH,
};

/// Operation not supported, by the kernel's internal number, which BPF calls return as well.
pub const ENOTSUPP: i32 = 524;
