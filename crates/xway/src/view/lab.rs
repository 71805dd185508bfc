//! Labs, their hosts and addresses.

use serde::Serialize;

use super::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Labs {
    pub labs: Vec<Lab>,
}

#[derive(Debug, Serialize)]
pub struct Lab {
    pub id: String,
    pub topology: Option<String>,
    /// Its maker is alive.
    pub running: bool,
    /// Stays after its maker.
    pub kept: bool,
    pub hosts: Vec<Host>,
}

#[derive(Debug, Serialize)]
pub struct Host {
    pub name: String,
    /// What `ip netns exec` takes.
    pub netns: String,
    pub interfaces: Vec<Interface>,
}

#[derive(Debug, Serialize)]
pub struct Interface {
    pub name: String,
    pub mac: Option<String>,
    pub mtu: u32,
    pub queues: u32,
    pub addresses: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Up {
    pub id: String,
    pub topology: &'static str,
    #[serde(skip)]
    pub drawing: &'static str,
    pub hosts: Vec<Host>,
}

#[derive(Debug, Serialize)]
pub struct Removed {
    pub removed: String,
}

#[derive(Debug, Serialize)]
pub struct Collected {
    pub removed: Vec<String>,
}

impl View for Labs {
    fn text(&self, paint: Paint) -> String {
        if self.labs.is_empty() {
            return "no labs are up".to_owned();
        }
        self.labs.iter().map(|lab| lab.text(paint)).collect()
    }
}

impl Lab {
    fn text(&self, paint: Paint) -> String {
        let topology = self.topology.as_deref().unwrap_or("no topology");
        let state = match (self.kept, self.running) {
            (true, _) => "up",
            (false, true) => "in use by a running program",
            (false, false) => "left over: `xway lab gc` removes it",
        };
        format!("{} {topology}, {state}\n{}", paint.bold(&self.id), hosts(&self.hosts))
    }
}

impl View for Up {
    fn text(&self, paint: Paint) -> String {
        let Self { id, topology, drawing, hosts: all } = self;
        let first = all.first().map_or("HOST", |host| host.name.as_str());
        let next = [
            (format!("xway lab run {id} {first} COMMAND…"), "runs a command"),
            (format!("xway lab shell {id} {first}"), "opens a shell"),
            (format!("xway lab down {id}"), "removes it"),
        ];
        let next: String =
            next.iter().map(|(command, what)| format!("{command:<44}{what}\n")).collect();
        let drawing = drawing.trim_matches('\n');
        format!("lab {} {topology}\n\n{drawing}\n\n{}\n{next}", paint.bold(id), hosts(all))
    }
}

impl View for Removed {
    fn text(&self, _paint: Paint) -> String {
        format!("removed lab {}", self.removed)
    }
}

impl View for Collected {
    fn text(&self, _paint: Paint) -> String {
        match self.removed.as_slice() {
            [] => "nothing was left behind".to_owned(),
            labs => format!("removed {}", labs.join(", ")),
        }
    }
}

impl Host {
    /// A host that cannot be looked into.
    pub fn named(lab: &str, name: &str) -> Self {
        Self { name: name.to_owned(), netns: format!("xw-{lab}-{name}"), interfaces: Vec::new() }
    }
}

impl Interface {
    fn text(&self) -> String {
        let mac = self.mac.as_deref().unwrap_or("no address");
        format!("{} {mac} mtu {} {}", self.name, self.mtu, self.addresses.join(" "))
            .trim_end()
            .to_owned()
    }
}

fn hosts(hosts: &[Host]) -> String {
    let mut text = String::new();
    for host in hosts {
        text.push_str(&format!("  {:<10}{}\n", host.name, host.netns));
        for interface in &host.interfaces {
            text.push_str(&format!("  {:<10}  {}\n", "", interface.text()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_shows_where_its_hosts_are() {
        let mut host = Host::named("k3f9a", "server");
        host.interfaces.push(Interface {
            name: "eth0".into(),
            mac: Some("02:78:77:00:00:02".into()),
            mtu: 1500,
            queues: 1,
            addresses: vec!["10.0.0.2/24".into()],
        });
        let lab = |kept, running| Lab {
            id: "k3f9a".into(),
            topology: Some("service".into()),
            running,
            kept,
            hosts: vec![],
        };
        let mut labs = Labs { labs: vec![lab(true, false)] };
        labs.labs[0].hosts.push(host);
        let want = "k3f9a service, up\n  server    xw-k3f9a-server\n              \
                    eth0 02:78:77:00:00:02 mtu 1500 10.0.0.2/24\n";
        let plain = Paint { colour: false };
        assert_eq!(labs.text(plain), want);
        assert!(lab(false, true).text(plain).contains("in use"));
        assert!(lab(false, false).text(plain).contains("xway lab gc"));
        assert_eq!(Labs { labs: vec![] }.text(plain), "no labs are up");
    }
}
