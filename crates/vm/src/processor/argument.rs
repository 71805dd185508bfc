//! Access to memory arguments of helpers: checked, loaded and stored, with a fault that explains.
//!
//! Rule: every method takes the function and the number of the argument, from 1, for the fault.

use crate::fault::{Cause, Fault};
use crate::memory::Refused;
use crate::processor::Processor;

/// The fault of an argument that the kernel's verifier would not accept. `argument` counts from 1.
#[cold]
pub(crate) fn bad_argument(function: &str, argument: u8, why: impl Into<String>) -> Box<Fault> {
    Fault::new(Cause::Argument { function: function.to_owned(), argument, why: why.into() })
}

impl Processor {
    /// Turns a refused access to a helper's argument into a fault that explains it.
    #[cold]
    pub(crate) fn bad_memory(
        &self,
        function: &str,
        argument: u8,
        (address, len, write): (u64, usize, bool),
    ) -> impl Fn(Refused) -> Box<Fault> {
        let why = self.memory.explain(address, len, write);
        let function = function.to_owned();
        move |Refused| bad_argument(&function, argument, why.clone())
    }

    /// Checks that `len` bytes at an argument's address can be read, or written.
    pub(crate) fn check_argument(
        &self,
        function: &str,
        argument: u8,
        (address, len, write): (u64, usize, bool),
    ) -> Result<(), Box<Fault>> {
        match self.memory.check(address, len, write) {
            Ok(()) => Ok(()),
            Err(refused) => {
                Err(self.bad_memory(function, argument, (address, len, write))(refused))
            }
        }
    }

    /// The bytes at an argument's address, at most [`CHUNK`].
    pub(crate) fn argument(
        &mut self,
        function: &str,
        argument: u8,
        address: u64,
        len: usize,
    ) -> Result<&[u8], Box<Fault>> {
        self.check_argument(function, argument, (address, len, false))?;
        let Self { memory, local, .. } = self;
        Ok(memory.view(address, len, &mut local.buffer[..]).unwrap_or(&[]))
    }

    /// Loads a byte at an argument's address.
    pub(crate) fn load_u8(
        &self,
        function: &str,
        argument: u8,
        address: u64,
    ) -> Result<u8, Box<Fault>> {
        match self.memory.load8(address) {
            Ok(byte) => Ok(byte as u8),
            Err(refused) => Err(self.bad_memory(function, argument, (address, 1, false))(refused)),
        }
    }

    /// Loads eight bytes at an argument's address.
    pub(crate) fn load_u64(
        &self,
        function: &str,
        argument: u8,
        address: u64,
    ) -> Result<u64, Box<Fault>> {
        let loaded = self.memory.load64(address);
        loaded.map_err(|refused| self.bad_memory(function, argument, (address, 8, false))(refused))
    }

    /// Stores eight bytes at an argument's address.
    pub(crate) fn store_u64(
        &mut self,
        function: &str,
        argument: u8,
        address: u64,
        value: u64,
    ) -> Result<(), Box<Fault>> {
        let stored = self.memory.store64(address, value);
        stored.map_err(|refused| self.bad_memory(function, argument, (address, 8, true))(refused))
    }

    /// Sets `len` bytes at an argument's address.
    pub(crate) fn fill(
        &mut self,
        function: &str,
        argument: u8,
        (address, len): (u64, usize),
        byte: u8,
    ) -> Result<(), Box<Fault>> {
        self.check_argument(function, argument, (address, len, true))?;
        self.charge(len as u64)?;
        let bytes = [byte; CHUNK];
        let mut done = 0;
        while done < len {
            let chunk = (len - done).min(CHUNK);
            if self.memory.write(address + done as u64, &bytes[..chunk]).is_err() {
                return Err(bad_argument(function, argument, "changed while it was written"));
            }
            done += chunk;
        }
        Ok(())
    }
}

/// Bytes that helpers copy in one step.
pub(crate) const CHUNK: usize = 1024;
