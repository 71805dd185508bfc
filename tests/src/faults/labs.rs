//! Labs that a command made or removed, as lines of text that can be compared.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lab::{Host, Lab};

/// What there is of each of these labs; a lab that is complete is described by its hosts, without
/// its name, anything else by what was found.
pub fn describe(labs: &BTreeSet<String>) -> Vec<String> {
    labs.iter().flat_map(|id| of_lab(id)).collect()
}

/// Removes the rest of a lab, independent of its record.
pub fn remove(id: &str) {
    if let Ok(lab) = Lab::open(id) {
        let _ = lab.remove();
    }
    let prefix = format!("xw-{id}-");
    let names = sys::netns::names().unwrap_or_default();
    for name in names.iter().filter(|name| name.starts_with(&prefix)) {
        let _ = sys::netns::delete(name);
    }
    let _ = fs::remove_dir_all(Path::new(LABS).join(id));
}

fn of_lab(id: &str) -> Vec<String> {
    let namespaces = sys::netns::names().unwrap_or_default();
    let prefix = format!("xw-{id}-");
    let named = namespaces.iter().filter(|name| name.starts_with(&prefix)).count();
    let folder = Path::new(LABS).join(id);
    match Lab::open(id) {
        Ok(lab) => {
            let hosts = lab.hosts().iter().map(of_host);
            std::iter::once(format!("lab of {named} namespaces")).chain(hosts).collect()
        }
        Err(_) if !folder.exists() && named == 0 => Vec::new(),
        Err(error) => vec![format!(
            "lab {id} is incomplete: {named} namespaces, folder exists: {}, {error}",
            folder.exists()
        )],
    }
}

fn of_host(host: &Host) -> String {
    let links = host.netlink().and_then(|mut netlink| Ok(netlink.links()?));
    let links = links.unwrap_or_default().into_iter().filter(|link| !link.loopback);
    let shown = links.map(|link| match host.interface(&link.name) {
        Ok(found) => format!("{} {} {:?}", found.name, found.mtu, found.addresses),
        Err(error) => error.to_string(),
    });
    format!("host {}: {}", host.name(), shown.collect::<Vec<_>>().join(", "))
}

const LABS: &str = "/run/xway/lab";
