//! Environments as TOML, and the line of an error.

use toml::de::{DeTable, DeValue};

use super::{Error, World};

impl World {
    /// Reads a scenario and checks it.
    ///
    /// # Errors
    /// [`Error::Syntax`] and [`Error::Value`], both with key and line.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let world: Self = toml::from_str(text).map_err(|error| Error::Syntax(Box::new(error)))?;
        world.check().map_err(|error| at_line(text, error))?;
        Ok(world)
    }

    /// The environment as text from which [`World::from_toml`] reads the same environment.
    ///
    /// # Errors
    /// A number above 2⁶³, which TOML cannot represent.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(Error::Number)
    }
}

/// Adds the line of the key to an error.
fn at_line(text: &str, error: Error) -> Error {
    match error {
        Error::Value { line: None, key, why } => {
            Error::Value { line: line_of(text, &key), key, why }
        }
        other => other,
    }
}

/// Line of `key`, or of the innermost part of it that the text has: a missing key is reported where
/// it should be.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut place = None;
    let mut value: Option<&DeValue<'_>> = None;
    for step in key.split(['.', '[']) {
        let next = match (value, step.strip_suffix(']')) {
            (Some(DeValue::Array(array)), Some(index)) => array.get(index.parse::<usize>().ok()?),
            (None, _) => table.get_ref().get(step),
            (Some(DeValue::Table(table)), _) => table.get(step),
            _ => None,
        };
        let Some(next) = next else { break };
        place = Some(next.span().start);
        value = Some(next.get_ref());
    }
    Some(text[..place?].lines().count().max(1) + usize::from(text[..place?].ends_with('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
        seed = 7
        cpus = 2
        [clock]
        start_ns = 5
        [[interfaces]]
        index = 2
        name = "eth0"
        mac = "02:00:00:00:00:01"
        addresses = ["10.0.0.1/24", "fd00::1/64"]
        forward_ipv4 = true
        received.hash = { value = 7, type = 9 }
        [[routes]]
        to = "10.1.0.0/16"
        via = "10.0.0.2"
        dev = "eth0"
        [[routes]]
        to = "0.0.0.0/0"
        table = 100
        next_hops = [{ dev = "eth0", weight = 3 }, { via = "fd00::2", dev = "eth0" }]
        [[rules]]
        priority = 100
        table = 100
        mark.value = 1
        [[neighbours]]
        ip = "10.0.0.2"
        dev = "eth0"
        mac = "02:00:00:00:00:02"
        state = "stale"
        [[sockets]]
        protocol = "tcp"
        local = "[::]:80"
        [[connections]]
        protocol = "udp"
        original = { from = "10.0.0.1:1", to = "10.0.0.2:2" }
        status = ["confirmed", "seen_reply"]
    "#;

    #[test]
    fn text_comes_back_the_same() {
        let world = World::from_toml(WHOLE).unwrap();
        let again = world.to_toml().unwrap();
        assert_eq!(World::from_toml(&again).unwrap(), world, "{again}");
        let empty = World::from_toml("").unwrap();
        assert_eq!(empty, World::default());
        assert_eq!(World::from_toml(&empty.to_toml().unwrap()).unwrap(), empty);
    }

    #[test]
    fn mistakes_are_named_with_key_and_line() {
        let interface = "[[interfaces]]\nindex = 1\nname = \"a\"\n";
        for (text, line, words) in [
            ("sede = 1", "line 1", "unknown field `sede`"),
            ("\nseed = \"x\"", "line 2", "invalid type"),
            ("[[interfaces]]\nindex = 1", "line 1", "missing field `name`"),
            ("[[routes]]\nto = \"10.0.0.0/33\"", "line 2", "up to 32"),
            ("[[routes]]\nto = \"10.0.0.1/8\"\ndev = \"a\"", "line 2", "10.0.0.0/8"),
            ("[[routes]]\n\nto = \"::/0\"\n\ndev = \"a\"", "line 5", "no interface `a`"),
            ("[[routes]]\nto = \"10.0.0.0/8\"", "line 1", "`routes[0]`"),
            ("[[neighbours]]\nip=\"::1\"\ndev=\"b\"", "line 3", "`neighbours[0].dev`"),
            ("[[sockets]]\nprotocol=\"sctp\"", "line 2", "unknown variant"),
            ("[clock]\nstep_ns = 0", "line 2", "never ends"),
            ("cpus = 0", "line 1", "`cpus`"),
        ] {
            let error = World::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(line) && error.contains(words), "{text}:\n{error}");
        }
        let twice = format!("{interface}{interface}");
        let error = World::from_toml(&twice).unwrap_err().to_string();
        assert!(error.contains("line 5: `interfaces[1].index`"), "{error}");
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        for cut in 0..WHOLE.len() {
            let _ = World::from_toml(&WHOLE[..cut]);
        }
    }
}
