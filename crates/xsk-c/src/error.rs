//! Failures of calls: a negative number, a message, and no panic.
//!
//! Rule: every function that C can call does its work in [`call`]. The message of the last failure
//! is kept per thread. Failures that are normal under load (no free frame, full ring) have constant
//! messages, so that they do not allocate.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use sys::errno::{EACCES, EBUSY, EPERM};
use xsk::SendError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Negative results of functions. xway_xsk_error() returns the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Code {
    /// A NULL pointer, or a length or value that is out of range: a mistake of the program.
    Argument = -1,
    /// A handle that is closed or of another kind, or a frame that the program does not own: a
    /// mistake of the program.
    Handle = -2,
    /// Another thread is in a call with this handle: a mistake of the program.
    InUse = -3,
    /// Options that contradict each other.
    Config = -4,
    /// The interface or its driver does not support this.
    Interface = -5,
    /// A permission is missing: run as root, or with the capabilities in the message.
    Permission = -6,
    /// The interface has another XDP program, or the queue another socket.
    Taken = -7,
    /// A system call failed; see xway_xsk_errno().
    System = -8,
    /// No free frame, or no space in the tx ring: wait until packets are sent.
    Full = -9,
    /// The packet is longer than a frame, or than the MTU of the interface.
    TooLong = -10,
    /// A defect of the library. The handle of the call can only be closed.
    Defect = -11,
}

#[derive(Debug)]
pub struct Error {
    code: Code,
    errno: i32,
    text: Cow<'static, str>,
}

impl Error {
    pub fn argument(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Argument, text)
    }

    pub fn new(code: Code, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, errno: 0, text: text.into() }
    }

    fn with_errno(self, errno: Option<i32>) -> Self {
        Self { errno: errno.unwrap_or(0), ..self }
    }

    /// Stores this as the last failure of this thread; returns its code.
    pub fn keep(self) -> c_int {
        let code = self.code as c_int;
        // Without thread-local storage the thread is ending, and will not read the failure.
        let _ = LAST.try_with(|last| *last.borrow_mut() = Last::from(self));
        code
    }
}

impl From<sys::Error> for Error {
    fn from(error: sys::Error) -> Self {
        Self::new(code_of(error.errno), error.to_string()).with_errno(Some(error.errno))
    }
}

impl From<xsk::Error> for Error {
    fn from(error: xsk::Error) -> Self {
        let (code, errno) = match &error {
            xsk::Error::Config(_) => (Code::Config, None),
            xsk::Error::Interface { .. } => (Code::Interface, None),
            xsk::Error::Refused { source, .. } => (code_of(source.errno), Some(source.errno)),
            xsk::Error::Object(_) | xsk::Error::Panicked { .. } => (Code::Defect, None),
            xsk::Error::System(error) => (code_of(error.errno), Some(error.errno)),
            xsk::Error::Kernel(error) => match **error {
                kernel::Error::Denied { .. } => (Code::Permission, error.errno()),
                kernel::Error::Occupied { .. } => (Code::Taken, Some(EBUSY)),
                _ => (error.errno().map_or(Code::System, code_of), error.errno()),
            },
            _ => (Code::System, None),
        };
        Self::new(code, error.to_string()).with_errno(errno)
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full => Self::new(Code::Full, FULL),
            SendError::TooLong { .. } | SendError::OverMtu { .. } => {
                Self::new(Code::TooLong, error.to_string())
            }
            SendError::Failed(error) => (*error).into(),
            SendError::Fragmented { .. } | SendError::Request(_) => {
                Self::new(Code::Config, error.to_string())
            }
            _ => Self::argument(error.to_string()),
        }
    }
}

/// The result of a call for several objects that failed after the first `count`: their number, if
/// any succeeded. The failure is kept, so that the program can read why not all did.
pub fn partly(count: c_int, error: Error) -> Result<c_int> {
    if count == 0 {
        return Err(error);
    }
    error.keep();
    Ok(count)
}

fn code_of(errno: i32) -> Code {
    match errno {
        EPERM | EACCES => Code::Permission,
        EBUSY => Code::Taken,
        _ => Code::System,
    }
}

/// Executes a function of the header; neither errors nor panics leave it.
pub fn call(act: impl FnOnce() -> Result<c_int>) -> c_int {
    static QUIET: Once = Once::new();
    QUIET.call_once(keep_panics);
    let outer = INSIDE.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(act));
    INSIDE.set(outer);
    match result {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => error.keep(),
        Err(_) => PANIC.take().unwrap_or_else(|| Error::new(Code::Defect, DEFECT)).keep(),
    }
}

/// The message of a panic inside a call is returned by `xway_xsk_error`, not printed to stderr.
fn keep_panics() {
    let otherwise = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !INSIDE.get() {
            return otherwise(info);
        }
        let text = format!("{DEFECT}: {info}").replace('\n', " ");
        PANIC.set(Some(Error::new(Code::Defect, text)));
    }));
}

/// The last failure, in the form that C reads.
struct Last {
    errno: i32,
    text: Cow<'static, CStr>,
}

impl Last {
    const NONE: Self = Self { errno: 0, text: Cow::Borrowed(c"") };
}

impl From<Error> for Last {
    fn from(error: Error) -> Self {
        let text = match error.text {
            Cow::Borrowed(FULL) => Cow::Borrowed(FULL_C),
            text => Cow::Owned(CString::new(text.replace('\0', " ")).unwrap_or_default()),
        };
        Self { errno: error.errno, text }
    }
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last::NONE) };
    static PANIC: Cell<Option<Error>> = const { Cell::new(None) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Return the reason of this thread's last failed call, and the remedy: one line of text, empty if
/// no call failed. It is valid until the next call of the library in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().text.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Return the `errno` of the system call that caused this thread's last failure; 0 if no system
/// call did.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_errno() -> c_int {
    LAST.try_with(|last| last.borrow().errno).unwrap_or(0)
}

/// Return the general meaning of a code. Never NULL; the text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_strerror(code: c_int) -> *const c_char {
    let text = match code {
        0.. => c"success",
        -1 => c"an argument is NULL or out of range",
        -2 => c"the handle or frame is closed, or of another kind",
        -3 => c"another thread is using the handle",
        -4 => c"the options contradict each other",
        -5 => c"the interface or its driver does not support this",
        -6 => c"a permission is missing",
        -7 => c"another program or socket has the interface or queue",
        -8 => c"a system call failed",
        -9 => c"no free frame, or no space in the tx ring",
        -10 => c"the packet is longer than a frame or the MTU",
        -11 => c"a defect of the library",
        _ => c"unknown code",
    };
    text.as_ptr()
}

const FULL: &str = "no free frame, or no space in the tx ring: wait until packets are sent";
const FULL_C: &CStr = c"no free frame, or no space in the tx ring: wait until packets are sent";
const DEFECT: &str = "a defect of the library";

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: never NULL, ends with a zero, valid until the next failure.
        unsafe { CStr::from_ptr(xway_xsk_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn failures_are_numbers_and_a_sentence_for_each_thread() {
        assert_eq!(call(|| Ok(7)), 7);
        assert_eq!(call(|| Err(Error::argument("packet is NULL"))), Code::Argument as c_int);
        assert_eq!(last(), "packet is NULL");
        let there = std::thread::spawn(last).join();
        assert_eq!(there.ok().as_deref(), Some(""), "of another thread");
        assert_eq!(call(|| Err(SendError::Full.into())), Code::Full as c_int);
        assert_eq!(last(), SendError::Full.to_string(), "the constant is the error's own text");
    }

    #[test]
    fn a_panic_ends_in_the_call() {
        extern "C" fn broken(at: u32) -> c_int {
            call(|| if at > 0 { panic!("index {at}\nis wrong") } else { Ok(0) })
        }
        assert_eq!(broken(3), Code::Defect as c_int);
        assert!(last().starts_with("a defect of the library: "), "{}", last());
        assert!(last().contains("src/error.rs") && last().contains("index 3 is wrong"));
        assert_eq!(broken(0), 0, "and the thread goes on");
    }

    #[test]
    fn every_code_has_a_text_of_its_own() {
        let text = |code| {
            // SAFETY: constant texts.
            unsafe { CStr::from_ptr(xway_xsk_strerror(code)) }.to_str().expect("UTF-8")
        };
        let mut texts: Vec<&str> = (Code::Defect as c_int..=0).map(text).collect();
        texts.push(text(c_int::MIN));
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), 13);
        assert_eq!(text(c_int::MAX), "success", "counts are not failures");
    }

    #[test]
    fn failed_system_calls_are_sorted_by_who_must_act() {
        for (errno, code) in [(1, Code::Permission), (16, Code::Taken), (19, Code::System)] {
            assert_eq!(call(|| Err(sys::Error::new("bind", "x", errno).into())), code as c_int);
            assert_eq!(xway_xsk_errno(), errno);
        }
        assert_eq!(call(|| Err(Error::argument("a\0b"))), -1);
        assert_eq!((xway_xsk_errno(), last().as_str()), (0, "a b"));
    }
}
