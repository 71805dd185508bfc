//! From a job to a program.

use super::job::{Job, Made};
use crate::error::{Error, Result};

/// Makes the program of a job.
///
/// # Errors
/// [`Error::Config`] when a template does not mean frames, or together they need more than a
/// program has.
pub fn compile(job: &Job) -> Result<Made> {
    job.templates.iter().try_for_each(|template| template.check())?;
    Err(Error::Config("programs are not made yet".into()))
}
