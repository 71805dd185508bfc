//! Settings of a namespace that only `/proc/sys/net` and `/sys/class/net` have.
//!
//! Rule: the namespace in which the process was started is never changed. Nothing here can change
//! the host.

use std::fs;
use std::path::Path;

use super::{NetNs, THREAD, mounts, unshare};
use crate::error::{Error, Result};
use crate::thread::run_alone;

impl NetNs {
    /// Writes `/proc/sys/net/PATH`, such as `ipv4/ip_forward`.
    pub fn set_sysctl(&self, path: &str, value: &str) -> Result<()> {
        let file = below("/proc/sys/net", path)?;
        self.refuse_home(path)?;
        self.enter(|| write(&file, value))?
    }

    /// Reads `/proc/sys/net/PATH`, without the line's end.
    pub fn sysctl(&self, path: &str) -> Result<String> {
        let file = below("/proc/sys/net", path)?;
        // Entering a namespace needs privileges, even the one that the thread is in.
        match Self::current()?.id()? == self.id()? {
            true => read(&file),
            false => self.enter(|| read(&file))?,
        }
    }

    /// Writes `/sys/class/net/INTERFACE/ATTRIBUTE`, such as `threaded` or `gro_flush_timeout`.
    pub fn set_attribute(&self, interface: &str, attribute: &str, value: &str) -> Result<()> {
        let file = below("/sys/class/net", &format!("{interface}/{attribute}"))?;
        self.refuse_home(attribute)?;
        self.with_own_sys(|| write(&file, value))
    }

    /// Reads an attribute of an interface, `/sys/class/net/INTERFACE/ATTRIBUTE`.
    pub fn attribute(&self, interface: &str, attribute: &str) -> Result<String> {
        let file = below("/sys/class/net", &format!("{interface}/{attribute}"))?;
        self.with_own_sys(|| read(&file))
    }

    /// `/sys` shows the network of the process that mounted it, so the thread mounts its own.
    fn with_own_sys<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        run_alone(THREAD, || {
            self.join()?;
            unshare(libc::CLONE_NEWNS, self.name())?;
            mounts::private_sys(0).map_err(|error| Error::from_io("mount", "/sys", &error))?;
            work()
        })
    }

    fn refuse_home(&self, object: &str) -> Result<()> {
        if !self.is_home()? {
            return Ok(());
        }
        Err(Error::new("write", object, libc::EPERM)
            .with_detail("settings are only changed in namespaces made for it"))
    }
}

fn below(folder: &str, path: &str) -> Result<String> {
    let climbs = path.split('/').any(|part| part.is_empty() || part == "." || part == "..");
    if climbs {
        return Err(Error::new("open", path, libc::EINVAL));
    }
    Ok(Path::new(folder).join(path).to_string_lossy().into_owned())
}

fn write(file: &str, value: &str) -> Result<()> {
    fs::write(file, value).map_err(|error| Error::from_io("write", file, &error))
}

fn read(file: &str) -> Result<String> {
    let text = fs::read_to_string(file).map_err(|error| Error::from_io("read", file, &error))?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_their_folder() {
        assert_eq!(
            below("/proc/sys/net", "ipv4/ip_forward").unwrap(),
            "/proc/sys/net/ipv4/ip_forward"
        );
        for path in ["../vm/swappiness", "/etc/passwd", "ipv4//x", "", "eth0/./x"] {
            assert!(below("/proc/sys/net", path).is_err(), "{path}");
        }
    }
}
