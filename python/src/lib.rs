//! The engine as a Python module: an object, its maps as mappings, packets in, results out.
//!
//! Rule: bytes in and bytes out; a number where bytes are wanted takes the whole width in the
//! machine's order. What a program does wrong is `xway.Fault`, what the caller does wrong
//! `xway.Error`. Not here: anything that the crate `vm` does not do.
#![forbid(unsafe_code)]

mod capture;
mod machine;
mod map;
mod outcome;
mod width;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(xway, Error, PyException, "A file, name or value that cannot be used.");
create_exception!(xway, Fault, Error, "What a program did that the kernel would not have let it.");

/// XDP programs on packets, in user space.
#[pymodule]
fn xway(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<machine::Machine>()?;
    module.add_class::<map::Map>()?;
    module.add_class::<outcome::Outcome>()?;
    module.add_class::<outcome::Output>()?;
    module.add_class::<capture::Packet>()?;
    module.add_function(wrap_pyfunction!(capture::read_capture, module)?)?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add("Fault", module.py().get_type::<Fault>())
}

/// An error of ours in Python's terms.
fn raised(error: vm::Error) -> PyErr {
    match error {
        vm::Error::Fault(fault) => Fault::new_err(fault.to_string()),
        other => Error::new_err(other.to_string()),
    }
}
