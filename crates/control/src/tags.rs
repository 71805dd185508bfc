//! `Tagging`: VLAN tags that the receiver took out of frames, made visible to a program.
//!
//! Rule: a program that would treat a frame of some VLAN as untagged is not attached. In order: the
//! program asks the device; the offload is switched off while it is attached; it is refused.

use functions::tags::ask_device;
use kernel::{Mode, Tags};
use spec::Spec;

use crate::error::{Error, Result};
use crate::state::Offload;
use crate::target::Target;

/// How a program on an interface comes to see tags. A guard: dropped before [`keep`](Self::keep),
/// an offload that it switched off is on again.
#[derive(Debug, Default)]
pub struct Tagging {
    asks_device: bool,
    switched: Option<Switched>,
}

#[derive(Debug)]
struct Switched {
    offload: Offload,
    interface: String,
}

impl Tagging {
    /// What a program that needs to see tags needs on this interface.
    ///
    /// # Errors
    /// Tags cannot be seen there, unless that is to be ignored.
    pub fn prepare(target: &Target, asked: Mode, ignore: bool) -> Result<Self> {
        let interface = &target.interface;
        match kernel::tags(target.ifindex, asked)? {
            Tags::InFrame => Ok(Self::default()),
            Tags::Device => Ok(Self { asks_device: true, switched: None }),
            _ if ignore => Ok(Self::default()),
            Tags::Switchable(features) => {
                let offload = target.slot.offload();
                let switched = Switched { offload, interface: interface.clone() };
                switched.offload.switch_off(interface, &features)?;
                Ok(Self { asks_device: false, switched: Some(switched) })
            }
            Tags::Hidden(reason) => {
                Err(Error::HiddenTags { interface: interface.clone(), reason: reason.to_string() })
            }
        }
    }

    /// Changes these programs so that they see tags.
    pub fn apply(&self, spec: &mut Spec, programs: &[&str]) -> Result<()> {
        if self.asks_device {
            ask_device(spec, programs)?;
        }
        Ok(())
    }

    /// The program is attached: an offload stays off until it is detached.
    pub fn keep(mut self) {
        self.switched = None;
    }
}

impl Drop for Tagging {
    /// Errors have nowhere to go: the next command that writes tries again.
    fn drop(&mut self) {
        if let Some(Switched { offload, interface }) = self.switched.take() {
            let _ = offload.restore(Some(&interface));
        }
    }
}
