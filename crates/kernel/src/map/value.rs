//! Values of maps that hold kernel objects: devices, CPUs, sockets, programs, maps.
//!
//! Layouts are `struct bpf_devmap_val` and `struct bpf_cpumap_val` of `include/uapi/linux/bpf.h`;
//! a map declared with four-byte values takes no program.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use spec::{Expect, Map as _};
use sys::net::Ifindex;

use super::Map;
use crate::error::{Error, Result};
use crate::program::Program;

impl Map {
    /// Devmap or devmap hash: `XDP_REDIRECT` with `key` goes out of `ifindex`, through `program`
    /// first where one is given (Linux 5.8).
    pub fn put_device(&self, key: u32, ifindex: Ifindex, program: Option<&Program>) -> Result<()> {
        self.put_pair(key, ifindex.0, program)
    }

    /// Cpumap: frames redirected to `cpu` wait in a queue of `queue` frames.
    pub fn put_cpu(&self, cpu: u32, queue: u32, program: Option<&Program>) -> Result<()> {
        self.put_pair(cpu, queue, program)
    }

    /// Xskmap: frames redirected to `queue` go to an AF_XDP socket.
    pub fn put_socket(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<()> {
        self.put_fd(&queue.to_ne_bytes(), socket)
    }

    /// Program array: tail calls of `index` run `program`.
    pub fn put_program(&self, index: u32, program: &Program) -> Result<()> {
        self.put_fd(&index.to_ne_bytes(), program.as_fd())
    }

    /// Map of maps.
    pub fn put_map(&self, key: &[u8], inner: &Self) -> Result<()> {
        self.put_fd(key, inner.as_fd())
    }

    fn put_fd(&self, key: &[u8], fd: BorrowedFd<'_>) -> Result<()> {
        self.update(key, &fd.as_raw_fd().to_ne_bytes(), Expect::Any)
    }

    fn put_pair(&self, key: u32, first: u32, program: Option<&Program>) -> Result<()> {
        let mut value = first.to_ne_bytes().to_vec();
        if self.raw.value_size() == PAIR {
            // -1 stands for "no program" (0 is a descriptor).
            let fd = program.map_or(-1, |program| program.as_fd().as_raw_fd());
            value.extend(fd.to_ne_bytes());
        } else if program.is_some() {
            return Err(Error::Unsupported {
                what: format!("map `{}` with a program for each entry", self.name),
                why: "declare it with values of eight bytes (struct bpf_devmap_val)".to_owned(),
            });
        }
        self.update(&key.to_ne_bytes(), &value, Expect::Any)
    }
}

/// Bytes of a value that holds a program too.
const PAIR: usize = 8;
