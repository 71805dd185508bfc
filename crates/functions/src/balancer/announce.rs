//! Which networks are announced: those of services that have a backend for new connections.
//!
//! Rule: several services can have one network. It is announced while any of them has a backend,
//! because its withdrawal would end the others too. Not here: the routes, which are in `control`.

use std::collections::BTreeSet;

use packet::Prefix;

use super::config::{Config, Service, State};
use super::live::Out;

impl Service {
    /// Whether a backend gets new connections; `out` has those that checks took out.
    #[must_use]
    pub fn accepts(&self, out: &Out) -> bool {
        self.backends.iter().any(|one| {
            let is_in_use = one.state == State::Up && one.weight > 0;
            is_in_use && !out.contains(&(self.name.clone(), one.address))
        })
    }
}

impl Config {
    /// The networks that are to be announced; `out` has the backends that checks took out.
    #[must_use]
    pub fn announced(&self, out: &Out) -> BTreeSet<Prefix> {
        let services = self.services.iter().filter(|one| self.announces(one));
        services.filter(|one| one.accepts(out)).map(|one| one.address.0).collect()
    }

    /// Whether a service is announced while it has a backend.
    #[must_use]
    pub fn announces(&self, service: &Service) -> bool {
        self.announce.is_some() && service.announce
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    fn service(name: &str, address: &str, port: u16, more: &str) -> String {
        format!(
            "[[service]]\nname = '{name}'\naddress = '{address}'\nprotocol = 'tcp'\n\
             port = {port}\n{more}\n"
        )
    }

    fn networks(config: &Config, out: &[(&str, &str)]) -> Vec<String> {
        let out =
            out.iter().map(|(service, backend)| ((*service).to_owned(), backend.parse().unwrap()));
        config.announced(&out.collect()).iter().map(Prefix::to_string).collect()
    }

    const TWO: &str = "backend = [{ address = '10.0.0.1' }, { address = '10.0.0.2' }]";

    #[test]
    fn a_network_is_announced_while_a_backend_gets_new_connections() {
        for (backends, expected) in [
            ("", false),
            ("{ address = '10.0.0.1' }", true),
            ("{ address = '10.0.0.1', weight = 0 }", false),
            ("{ address = '10.0.0.1', state = 'drain' }", false),
            ("{ address = '10.0.0.1', state = 'down' }", false),
            ("{ address = '10.0.0.1', state = 'down' }, { address = '10.0.0.2' }", true),
        ] {
            for address in ["192.0.2.1", "192.0.2.0/24", "2001:db8::/64"] {
                let one = service("web", address, 80, &format!("backend = [{backends}]"));
                let config = config(&format!("announce = {{ table = 77 }}\n{one}"));
                config.check().unwrap();
                let expected: &[&str] = if expected { &[address] } else { &[] };
                assert_eq!(networks(&config, &[]), expected, "{backends}");
            }
        }
    }

    #[test]
    fn what_checks_took_out_gets_none() {
        let one = config(&format!(
            "announce = {{ table = 77 }}\n{}",
            service("web", "192.0.2.1", 80, TWO)
        ));
        let (first, second) = (("web", "10.0.0.1"), ("web", "10.0.0.2"));
        assert_eq!(networks(&one, &[first]), ["192.0.2.1"]);
        assert!(networks(&one, &[first, second]).is_empty());
        assert_eq!(networks(&one, &[first, ("dns", "10.0.0.2")]), ["192.0.2.1"]);
    }

    #[test]
    fn services_of_one_address_keep_it_for_each_other() {
        let text = service("web", "192.0.2.1", 80, TWO) + &service("tls", "192.0.2.1", 443, TWO);
        let both = config(&format!("announce = {{ table = 77 }}\n{text}"));
        let mut out = vec![("web", "10.0.0.1"), ("web", "10.0.0.2"), ("tls", "10.0.0.1")];
        assert_eq!(networks(&both, &out), ["192.0.2.1"]);
        out.push(("tls", "10.0.0.2"));
        assert!(networks(&both, &out).is_empty());
    }

    #[test]
    fn only_what_the_file_announces_is() {
        let one = service("web", "192.0.2.1", 80, TWO);
        assert!(networks(&config(&one), &[]).is_empty());
        let own = service("own", "192.0.2.2", 80, &format!("announce = false\n{TWO}"));
        let config = config(&format!("announce = {{ table = 77 }}\n{one}{own}"));
        assert_eq!(networks(&config, &[]), ["192.0.2.1"]);
        let again = toml::to_string(&config).unwrap();
        assert_eq!(toml::from_str::<Config>(&again).unwrap(), config, "{again}");
    }

    #[test]
    fn tables_of_the_kernel_are_refused() {
        for (table, name) in [(0, "unspecified"), (253, "default"), (254, "main"), (255, "local")] {
            let error = config(&format!("announce = {{ table = {table} }}")).check().unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&format!("`{name}`")) && text.contains("such as 77"), "{text}");
        }
        config("announce = { table = 4000000000 }").check().unwrap();
        assert!(toml::from_str::<Config>("announce = { tabel = 77 }").is_err());
    }
}
