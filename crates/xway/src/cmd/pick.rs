//! Finds an object of the kernel by name, which none or several may have.

use anyhow::{Result, bail};

/// An object with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: u32,
    pub name: String,
    /// What distinguishes it from others of the same name, such as its type.
    pub about: String,
}

/// The id of the one candidate with this name. The kernel cuts names, so a longer one is cut
/// likewise.
pub fn by_name(what: &str, name: &str, all: &[Candidate]) -> Result<u32> {
    let cut = kernel::name::sanitised(name);
    let found: Vec<_> = all.iter().filter(|one| one.name == name || one.name == cut).collect();
    match found.as_slice() {
        [only] => Ok(only.id),
        [] => bail!("no {what} is called `{name}`: see `xway {} list`", command(what)),
        several => {
            let lines: Vec<_> = several.iter().map(|one| one.line()).collect();
            bail!("several {what}s are called `{name}`, select one by id:\n{}", lines.join("\n"))
        }
    }
}

impl Candidate {
    fn line(&self) -> String {
        format!("  {:>6}  {}  {}", self.id, self.name, self.about).trim_end().to_owned()
    }
}

fn command(what: &str) -> &str {
    if what == "program" { "prog" } else { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_none_or_several() {
        let candidate =
            |id, name: &str| Candidate { id, name: name.to_owned(), about: "hash".to_owned() };
        let all = [candidate(3, "flows"), candidate(7, "count"), candidate(9, "count")];
        assert_eq!(by_name("map", "flows", &all).unwrap(), 3);
        let text = by_name("map", "count", &all).unwrap_err().to_string();
        assert!(text.contains("7  count  hash\n") && text.contains("9  count"), "{text}");
        let text = by_name("program", "none", &all).unwrap_err().to_string();
        assert!(text.contains("`xway prog list`"), "{text}");
        let long = [candidate(1, "a_very_long_nam")];
        assert_eq!(by_name("map", "a_very_long_name", &long).unwrap(), 1);
    }
}
