//! A map as a Python mapping of bytes.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};
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
        let size = self.map.attributes().value_size as usize;
        if !self.map.attributes().kind.is_per_cpu() {
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
        let size = self.map.attributes().value_size as usize;
        let mut raw = Vec::new();
        if let Ok(each) = value.cast::<PyList>() {
            for one in each {
                raw.extend(bytes(&one, size, "value")?);
                raw.resize(raw.len().next_multiple_of(8), 0);
            }
        } else {
            raw = bytes(value, size, "value")?;
            if self.map.attributes().kind.is_per_cpu() {
                raw.resize(size.next_multiple_of(8), 0);
                raw = raw.repeat(self.map.attributes().cpus as usize);
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

    /// Iterates over the keys that the map has now, in no promised order.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.keys(py)?)?.try_iter()
    }

    /// All keys, in no promised order.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let keys = self.map.keys().map_err(told)?;
        Ok(keys.iter().map(|key| PyBytes::new(py, key)).collect())
    }

    /// All values, in the order of `keys`.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(self.items(py)?.into_iter().map(|(_, value)| value).collect())
    }

    /// All keys with their values, in no promised order.
    fn items<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, Bound<'py, PyAny>)>> {
        let mut items = Vec::new();
        for key in self.map.keys().map_err(told)? {
            // An element that is deleted meanwhile is left out.
            if let Some(value) = self.map.lookup(&key).map_err(told)? {
                items.push((PyBytes::new(py, &key), self.value(py, &value)?));
            }
        }
        Ok(items)
    }

    /// The value of a key, or `default` if the map has none.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.map.lookup(&self.key(key)?).map_err(told)? {
            Some(value) => self.value(py, &value).map(Some),
            None => Ok(default),
        }
    }

    fn __repr__(&self) -> String {
        let attributes = self.map.attributes();
        let kind = attributes.kind.name().unwrap_or("unknown");
        format!("<xway.Map {} ({kind}, at most {})>", attributes.name, attributes.max_entries)
    }
}

fn told(error: vm::MapError) -> PyErr {
    Error::new_err(error.to_string())
}
