//! libpcap's compiler of tcpdump expressions, found at run time.
//!
//! Rule: the library is loaded at its first use, and nothing of it outlives a call: its results are
//! copied. Not here: what its programs mean.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::ptr::NonNull;

use libloading::Library as Shared;

/// An instruction of classic BPF; the layout of `struct bpf_insn` in `pcap/bpf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Instruction {
    /// Operation code.
    pub code: u16,
    /// Instructions to skip if a comparison is true.
    pub jump_true: u8,
    /// Instructions to skip if a comparison is false.
    pub jump_false: u8,
    /// Constant operand.
    pub k: u32,
}

/// Why there is no program for an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The library is not there; the loader's words.
    Absent(String),
    /// libpcap does not take the expression; its words.
    Refused { expression: String, reason: String },
}

/// libpcap, loaded.
#[derive(Debug)]
pub struct Library {
    open_dead: OpenDead,
    compile: Compile,
    freecode: FreeCode,
    geterr: GetErr,
    close: Close,
    /// Holds the code that the pointers above lead to.
    _shared: Shared,
}

impl Library {
    /// Loads the library.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn open() -> Result<Self, Error> {
        let absent = |error: &libloading::Error| Error::Absent(error.to_string());
        let mut first = None;
        let shared = NAMES.iter().find_map(|name| {
            // SAFETY: libpcap's initialisers have no conditions of their own.
            unsafe { Shared::new(name) }
                .map_err(|error| first.get_or_insert(error).to_string())
                .ok()
        });
        let Some(shared) = shared else {
            return Err(first.as_ref().map_or_else(|| Error::Absent(String::new()), absent));
        };
        Self::bind(shared).map_err(|error| absent(&error))
    }

    /// The program that libpcap makes of an expression for Ethernet frames. Names of hosts in it
    /// are looked up by the system's resolver now.
    ///
    /// # Errors
    /// The expression is invalid, or cannot be decided from a frame alone.
    pub fn compile(&self, expression: &str) -> Result<Vec<Instruction>, Error> {
        let refused = |reason: &str| Error::Refused {
            expression: expression.to_owned(),
            reason: reason.to_owned(),
        };
        let text = CString::new(expression).map_err(|_| refused("it has a zero byte"))?;
        // SAFETY: takes plain numbers; the signature is that of pcap.h.
        let handle = unsafe { (self.open_dead)(ETHERNET, SNAPLEN) };
        let handle = Handle { library: self, pcap: NonNull::new(handle).ok_or_else(no_memory)? };
        let mut program = RawProgram { len: 0, insns: std::ptr::null_mut() };
        let pcap = handle.pcap.as_ptr();
        // SAFETY: the handle is open, `program` is writable and `text` ends with a zero.
        let code = unsafe { (self.compile)(pcap, &raw mut program, text.as_ptr(), 1, NO_NETMASK) };
        if code != 0 {
            return Err(refused(&handle.complaint()));
        }
        let insns = program.copied();
        // SAFETY: compiled above and not used any more.
        unsafe { (self.freecode)(&raw mut program) };
        Ok(insns)
    }

    fn bind(shared: Shared) -> Result<Self, libloading::Error> {
        // SAFETY: the type is the function's in pcap.h, as for all below.
        let open_dead = *unsafe { shared.get::<OpenDead>(b"pcap_open_dead\0") }?;
        // SAFETY: as above.
        let compile = *unsafe { shared.get::<Compile>(b"pcap_compile\0") }?;
        // SAFETY: as above.
        let freecode = *unsafe { shared.get::<FreeCode>(b"pcap_freecode\0") }?;
        // SAFETY: as above.
        let geterr = *unsafe { shared.get::<GetErr>(b"pcap_geterr\0") }?;
        // SAFETY: as above.
        let close = *unsafe { shared.get::<Close>(b"pcap_close\0") }?;
        Ok(Self { open_dead, compile, freecode, geterr, close, _shared: shared })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(reason) => write!(
                f,
                "tcpdump expressions need libpcap, which is not installed (Debian: \
                 `apt install libpcap0.8`): {reason}"
            ),
            Self::Refused { expression, reason } => {
                write!(f, "expression `{expression}`: {reason}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// An open handle; closed on drop.
struct Handle<'a> {
    library: &'a Library,
    pcap: NonNull<c_void>,
}

impl Handle<'_> {
    /// Its message about the last failure.
    fn complaint(&self) -> String {
        // SAFETY: the handle is open.
        let text = unsafe { (self.library.geterr)(self.pcap.as_ptr()) };
        if text.is_null() {
            return "libpcap reports no reason".to_owned();
        }
        // SAFETY: a string in the handle, which ends with a zero and is not written meanwhile.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: opened by this library and closed only here.
        unsafe { (self.library.close)(self.pcap.as_ptr()) };
    }
}

/// `struct bpf_program`.
#[repr(C)]
struct RawProgram {
    len: c_uint,
    insns: *mut Instruction,
}

impl RawProgram {
    fn copied(&self) -> Vec<Instruction> {
        if self.insns.is_null() {
            return Vec::new();
        }
        // SAFETY: libpcap wrote `len` instructions of this layout there (`compile`).
        unsafe { std::slice::from_raw_parts(self.insns, self.len as usize) }.to_vec()
    }
}

fn no_memory() -> Error {
    Error::Absent("it has no memory left".to_owned())
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut c_void;
type Compile =
    unsafe extern "C" fn(*mut c_void, *mut RawProgram, *const c_char, c_int, u32) -> c_int;
type FreeCode = unsafe extern "C" fn(*mut RawProgram);
type GetErr = unsafe extern "C" fn(*mut c_void) -> *mut c_char;
type Close = unsafe extern "C" fn(*mut c_void);

/// Debian's name first, then other distributions', then that of a development package.
const NAMES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];
/// `DLT_EN10MB`
const ETHERNET: c_int = 1;
/// Longer than any frame: what a matching program answers.
const SNAPLEN: c_int = 262_144;
/// `PCAP_NETMASK_UNKNOWN`
const NO_NETMASK: u32 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_become_programs_or_libpcaps_words() {
        let library = match Library::open() {
            Ok(library) => library,
            Err(error) => {
                assert!(error.to_string().contains("libpcap0.8"), "{error}");
                return;
            }
        };
        let program = library.compile("ip").unwrap();
        let first = Instruction { code: 0x28, jump_true: 0, jump_false: 0, k: 12 };
        assert_eq!((program.len(), program[0]), (4, first));
        for (expression, word) in
            [("udp port", "syntax"), ("a\0b", "zero"), ("ifname eth0", "ifname")]
        {
            let error = library.compile(expression).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
