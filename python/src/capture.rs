//! Packets of a capture.

use std::fs::File;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::Error;

/// A packet of a capture.
#[pyclass(frozen)]
pub struct Packet {
    packet: pcap::Packet,
}

#[pymethods]
impl Packet {
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.packet.data)
    }

    /// Nanoseconds since 1970.
    #[getter]
    fn timestamp_ns(&self) -> u64 {
        self.packet.timestamp_ns
    }

    /// Bytes that it had on the wire.
    #[getter]
    fn original_len(&self) -> u32 {
        self.packet.original_len
    }

    fn __repr__(&self) -> String {
        format!("<xway.Packet {} bytes>", self.packet.data.len())
    }
}

/// All packets of a pcap or pcapng file.
#[pyfunction]
pub fn read_capture(path: PathBuf) -> PyResult<Vec<Packet>> {
    let reader = pcap::Reader::new(File::open(&path)?).map_err(told)?;
    reader.map(|packet| packet.map(|packet| Packet { packet }).map_err(told)).collect()
}

fn told(error: pcap::Error) -> PyErr {
    Error::new_err(error.to_string())
}
