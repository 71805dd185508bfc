//! What one packet came to.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vm::Run;

/// Verdict, packet and outputs of one run.
#[pyclass(frozen)]
pub struct Outcome {
    run: Run,
}

/// A copy of the packet that left: where to, and its bytes.
#[pyclass(frozen)]
pub struct Output {
    port: String,
    packet: Vec<u8>,
}

impl Outcome {
    pub fn new(run: Run) -> Self {
        Self { run }
    }
}

#[pymethods]
impl Outcome {
    /// `aborted`, `drop`, `pass`, `tx` or `redirect`.
    #[getter]
    fn verdict(&self) -> &'static str {
        self.run.verdict.name()
    }

    /// The number that the program returned.
    #[getter]
    fn code(&self) -> u32 {
        self.run.code
    }

    /// The packet as the program left it.
    #[getter]
    fn packet<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.run.packet)
    }

    /// The metadata that the program stored before the packet.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.run.metadata)
    }

    /// Each copy that went somewhere.
    #[getter]
    fn outputs(&self) -> Vec<Output> {
        let outputs = self.run.outputs.iter();
        outputs
            .map(|one| Output { port: one.port.to_string(), packet: one.packet.clone() })
            .collect()
    }

    /// Why copies went nowhere, by name.
    #[getter]
    fn losses(&self) -> Vec<&'static str> {
        self.run.losses.iter().map(|loss| loss.reason.name()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<xway.Outcome {}, {} bytes>", self.run.verdict, self.run.packet.len())
    }
}

#[pymethods]
impl Output {
    /// Such as `interface 3`, `stack of interface 1`, `cpu 1`.
    #[getter]
    fn port(&self) -> &str {
        &self.port
    }

    #[getter]
    fn packet<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.packet)
    }

    fn __repr__(&self) -> String {
        format!("<xway.Output {}, {} bytes>", self.port, self.packet.len())
    }
}
