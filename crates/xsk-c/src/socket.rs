//! Opens sockets. A socket has two halves, each with a handle.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use xsk::socket::SharedQueue;

use crate::border;
use crate::error::{Error, Result, call};
use crate::handle;
use crate::interface::InterfaceHandle;
use crate::options::SocketOptions;
use crate::rx::{Receiving, RxHandle};
use crate::tx::{Sending, TxHandle};
use crate::umem::{Memory, UmemHandle};

/// Open a socket on a queue of an interface. Its two halves may be used by different threads. If
/// `umem` is NULL, the socket gets its own; `options` may be NULL for the defaults. Sockets on
/// other queues, also of other interfaces, may share a umem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_socket_open(
    interface: *mut InterfaceHandle,
    queue: u32,
    umem: *mut UmemHandle,
    options: *const SocketOptions,
    tx: *mut *mut TxHandle,
    rx: *mut *mut RxHandle,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory for both halves, and a struct with its size.
        let (halves, options) = unsafe { given(tx, rx, options) }?;
        let memory = match umem.is_null() {
            true => None,
            false => Some(handle::share(umem)?),
        };
        open(interface, queue, Place { memory, beside: None }, &options, halves)
    })
}

/// Open another socket on the queue of `first`, which must have been opened with `shareable`, with
/// the same umem. Each of these sockets needs an interface handle with its own rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_socket_open_beside(
    interface: *mut InterfaceHandle,
    first: *mut TxHandle,
    options: *const SocketOptions,
    tx: *mut *mut TxHandle,
    rx: *mut *mut RxHandle,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory for both halves, and a struct with its size.
        let (halves, options) = unsafe { given(tx, rx, options) }?;
        let (queue, memory, beside) = handle::with(first, |first| {
            let shared = first.shared.clone();
            let not = "the first socket of the queue was not opened with `shareable`";
            Ok((first.queue, first.memory.clone(), shared.ok_or(Error::argument(not))?))
        })?;
        let place = Place { memory: Some(memory), beside: Some(beside) };
        open(interface, queue, place, &options, halves)
    })
}

/// The umem and the queue of a socket.
struct Place {
    memory: Option<Memory>,
    beside: Option<SharedQueue>,
}

type Halves<'a> = (&'a mut MaybeUninit<*mut TxHandle>, &'a mut MaybeUninit<*mut RxHandle>);

/// The places of the halves, and the options.
///
/// # Safety
/// As for [`border::place`], for both, and [`border::options`].
unsafe fn given<'a>(
    tx: *mut *mut TxHandle,
    rx: *mut *mut RxHandle,
    options: *const SocketOptions,
) -> Result<(Halves<'a>, SocketOptions)> {
    // SAFETY: the caller guarantees the memory.
    let tx = unsafe { border::place(tx, "tx") }?;
    // SAFETY: the caller guarantees the memory; `rx` is not `tx`, whose type differs.
    let rx = unsafe { border::place(rx, "rx") }?;
    // SAFETY: the caller guarantees a struct with its size.
    let options = unsafe { border::options(options) }?;
    Ok(((tx, rx), options))
}

fn open(
    interface: *mut InterfaceHandle,
    queue: u32,
    place: Place,
    options: &SocketOptions,
    halves: Halves<'_>,
) -> Result<c_int> {
    let interface = handle::share(interface)?;
    let mut builder = options.apply(interface.socket(queue))?;
    if let Some(memory) = &place.memory {
        builder = builder.umem(&memory.umem);
    }
    if let Some(beside) = place.beside {
        builder = builder.beside(beside);
    }
    let socket = builder.open()?;
    let memory = place.memory.unwrap_or_else(|| Memory::of(socket.umem()));
    let (zero_copy, shared) = (socket.is_zero_copy(), socket.shared_queue());
    let (tx, rx) = socket.split();
    let tx = handle::open(Sending { tx, queue, zero_copy, shared, memory: memory.clone() })?;
    match handle::open(Receiving { rx, memory }) {
        Ok(rx) => (halves.0.write(tx), halves.1.write(rx)),
        Err(error) => {
            handle::close(tx)?;
            return Err(error);
        }
    };
    Ok(0)
}

/// Open another handle of the socket's umem; it must be closed, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_umem(tx: *mut TxHandle, umem: *mut *mut UmemHandle) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
        let place = unsafe { border::place(umem, "umem") }?;
        let memory = handle::with(tx, |half| Ok(half.memory.clone()))?;
        place.write(handle::open(memory)?);
        Ok(0)
    })
}

/// Open another handle of the socket's umem; it must be closed, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_umem(rx: *mut RxHandle, umem: *mut *mut UmemHandle) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
        let place = unsafe { border::place(umem, "umem") }?;
        let memory = handle::with(rx, |half| Ok(half.memory.clone()))?;
        place.write(handle::open(memory)?);
        Ok(0)
    })
}
