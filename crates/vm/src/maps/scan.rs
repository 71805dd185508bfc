//! Reads a whole map: element by element, without a list of keys.
//!
//! Rule: it passes what user space would read; array elements that are zero are omitted, because
//! arrays may have tens of millions that were never written.

use super::{Map, Storage as _, Table};
use crate::errno::Errno;

/// Callbacks of a scan.
pub(crate) struct Scan<'a> {
    /// Returns `false` to end the scan.
    pub proceed: &'a mut dyn FnMut() -> bool,
    /// Receives key and value.
    pub each: &'a mut dyn FnMut(&[u8], &[u8]),
}

impl Map {
    /// Passes every element to `each`; of arrays only those that are not zero. Calls `proceed` at
    /// intervals and stops when it returns `false`. Returns whether all elements were passed.
    ///
    /// # Errors
    /// The error number of the map's lookup, if user space cannot read the map.
    pub fn scan(
        &self,
        proceed: &mut dyn FnMut() -> bool,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<bool, Errno> {
        self.check_readable()?;
        let mut scan = Scan { proceed, each };
        match self.table() {
            Table::Array(array) => array.scan(self.attributes(), &mut scan),
            _ => self.scan_keys(&mut scan),
        }
    }

    /// Passes at most `max_entries` elements: if other threads change the map meanwhile, an element
    /// may be passed twice.
    fn scan_keys(&self, scan: &mut Scan<'_>) -> Result<bool, Errno> {
        let mut last: Option<Vec<u8>> = None;
        for count in 0..self.attributes().max_entries {
            if count % ROUND == 0 && !(scan.proceed)() {
                return Ok(false);
            }
            let storage = self.table();
            let next = each!(storage, map => map.next_key(self.attributes(), last.as_deref()));
            let key = match next {
                Err(Errno::ENOENT) => break,
                key => key?,
            };
            match each!(storage, map => map.read(self.attributes(), &key)) {
                Ok(value) => (scan.each)(&key, &value),
                Err(Errno::ENOENT) => {}
                Err(errno) => return Err(errno),
            }
            last = Some(key);
        }
        Ok(true)
    }
}

/// Elements that are read between two calls of `proceed`.
const ROUND: u32 = 4096;
