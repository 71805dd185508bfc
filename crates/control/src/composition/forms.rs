//! The forms in which members become a chain, tried one after the other.
//!
//! Rule: while another form is left, the kernel does not explain a refusal, which would cost
//! further verifications. The form that is used in the end, or the error, is explained.

use super::link::ChainLink;
use super::{Chain, LoadedChain, tail_calls};
use crate::error::{ChainError, Context as _, Error, Result};
use crate::member::ChainForm;
use crate::object::called;

impl<'t> Chain<'t> {
    /// Composes and loads the members.
    ///
    /// # Errors
    /// They cannot be composed, or the kernel refuses them.
    pub fn load(mut self) -> Result<LoadedChain<'t>> {
        let members = self.links.len();
        self.links.iter_mut().for_each(|one| one.member.members = members);
        self.assign_slots()?;
        let (mut refused, mut tail_calls) = (None, None);
        let forms = self.forms();
        for form in forms.iter().copied() {
            match self.load_as(form, self.is_tentative(form)) {
                Ok(loaded) => {
                    let explains = form == ChainForm::TailCalls;
                    let refused = refused.map(|error| match explains {
                        true => self.explained(forms[0], error),
                        false => error,
                    });
                    return Ok(self.loaded(loaded, form, refused.as_ref()));
                }
                Err(error)
                    if form == ChainForm::TailCalls
                        && refused.as_ref().is_some_and(is_by_verifier) =>
                {
                    tail_calls = Some(tail_calls::reason(&error));
                }
                // The reason why they are not inlined is the one that matters.
                Err(error) if self.may_fit_otherwise(&error) => refused = refused.or(Some(error)),
                Err(_) if refused.as_ref().is_some_and(is_by_verifier) => break,
                Err(error) => return Err(error),
            }
        }
        if self.tentative
            && let Some(refused) = refused.take_if(|error| is_by_verifier(error))
        {
            return Err(refused);
        }
        // The program that is refused alone as well is the one to report.
        self.links.iter().try_for_each(|link| self.load_alone(link))?;
        let together = ChainError::Together { members, tail_calls };
        match refused {
            Some(refused) => {
                Err(self.explained(forms[0], refused)).with_context(|| together.to_string())
            }
            None => Err(together.into()),
        }
    }

    /// The forms to try, in order. What the verifier refused earlier it would refuse again, and it
    /// takes seconds, so those forms are not tried while all of these members remain.
    fn forms(&self) -> Vec<ChainForm> {
        let all = [ChainForm::Inlined, ChainForm::Functions, ChainForm::TailCalls];
        let (form, names) = &self.earlier;
        let is_member = |name: &String| self.links.iter().any(|link| link.member.name == *name);
        let remain = names.iter().all(is_member);
        let first = all.iter().position(|one| one == form && remain && self.links.len() > 1);
        all[first.unwrap_or(0)..].to_vec()
    }

    /// Whether members that cannot become one program in a form may be chained in another.
    fn may_fit_otherwise(&self, error: &Error) -> bool {
        self.links.len() > 1 && (is_by_verifier(error) || tail_calls::is_way_out(error))
    }

    /// Whether something else is loaded if the verifier refuses the members in this form.
    fn is_tentative(&self, form: ChainForm) -> bool {
        self.tentative || (self.links.len() > 1 && form != ChainForm::TailCalls)
    }

    /// The refusal of a form with the verifier's reason, for which it is loaded again.
    fn explained(&self, form: ChainForm, refused: Error) -> Error {
        match refused.kernel() {
            Some(kernel::Error::Unexplained { .. }) => {
                self.load_as(form, false).err().unwrap_or(refused)
            }
            _ => refused,
        }
    }

    fn load_alone(&self, link: &ChainLink) -> Result<()> {
        let program = &link.member.program;
        let programs = [&[program.clone()][..], &called(&link.spec, program)].concat();
        let mode = self.mode.into();
        let loaded = self.target.load_sharing(&link.spec, programs, mode, Vec::new());
        loaded.map(drop).with_context(|| format!("`{}` was not added", link.member.name))
    }
}

fn is_by_verifier(error: &Error) -> bool {
    error.kernel().is_some_and(kernel::Error::is_by_verifier)
}
