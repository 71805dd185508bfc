//! Program arrays that the object fills itself, once its programs are loaded.

use spec::{Initial, Spec};

use super::maps::Made;
use crate::error::Result;
use crate::program::Program;

/// `programs` holds numbers of [`Spec::programs`] and the loaded programs.
pub(super) fn fill_programs(
    spec: &Spec,
    made: &[Option<Made>],
    programs: &[(usize, Program)],
) -> Result<()> {
    for (def, made) in spec.maps.iter().zip(made) {
        let Some(made) = made else { continue };
        for initial in &def.initial {
            let Initial::Program { index, program } = initial else { continue };
            if let Some((_, loaded)) = programs.iter().find(|(number, _)| number == program) {
                made.map.put_program(*index, loaded)?;
            }
        }
    }
    Ok(())
}
