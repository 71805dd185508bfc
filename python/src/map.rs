//! A map as a Python mapping of bytes.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use spec::{Expect, Map as _};

use crate::Error;
use crate::width::bytes;

/// A map of the object. Keys and values are bytes, or numbers in the machine's order; the value
/// of a per-CPU map is a list of one value for each processor.
#[pyclass]
pub struct Map {
    map: Arc<vm::Map>,
}

impl Map {
    pub fn new(map: Arc<vm::Map>) -> Self {
        Self { map }
    }

    fn key(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        bytes(key, self.map.key_size(), "key")
    }

    fn value<'py>(&self, py: Python<'py>, value: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let size = self.map.facts().value_size as usize;
        if !self.map.facts().kind.is_per_cpu() {
            return Ok(PyBytes::new(py, value).into_any());
        }
        let step = size.next_multiple_of(8).max(8);
        let each = value.chunks(step).map(|one| PyBytes::new(py, &one[..size]));
        Ok(PyList::new(py, each)?.into_any())
    }
}

#[pymethods]
impl Map {
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.map.lookup(&self.key(key)?).map_err(told)? {
            Some(value) => self.value(py, &value),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let size = self.map.facts().value_size as usize;
        let mut raw = Vec::new();
        if let Ok(each) = value.cast::<PyList>() {
            for one in each {
                raw.extend(bytes(&one, size, "value")?);
                raw.resize(raw.len().next_multiple_of(8), 0);
            }
        } else {
            raw = bytes(value, size, "value")?;
            if self.map.facts().kind.is_per_cpu() {
                raw.resize(size.next_multiple_of(8), 0);
                raw = raw.repeat(self.map.facts().cpus as usize);
            }
        }
        self.map.update(&self.key(key)?, &raw, Expect::Any).map_err(told)
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.map.delete(&self.key(key)?).map_err(told)? {
            true => Ok(()),
            false => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.map.lookup(&self.key(key)?).map_err(told)?.is_some())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.map.keys().map_err(told)?.len())
    }

    /// All keys, in no promised order.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let keys = self.map.keys().map_err(told)?;
        Ok(keys.iter().map(|key| PyBytes::new(py, key)).collect())
    }

    fn __repr__(&self) -> String {
        let facts = self.map.facts();
        let kind = facts.kind.name().unwrap_or("unknown");
        format!("<xway.Map {} ({kind}, at most {})>", facts.name, facts.max_entries)
    }
}

fn told(error: vm::MapError) -> PyErr {
    Error::new_err(error.to_string())
}
