//! Text of `lab`: labs, their hosts and addresses.

use lab::{CollectedLabs, CreatedLab, HostReport, InterfaceReport, LabReport, Labs, RemovedLab};

use super::{Paint, View};

impl View for Labs {
    fn text(&self, paint: Paint) -> String {
        if self.labs.is_empty() {
            return "no labs are up".to_owned();
        }
        self.labs.iter().map(|lab| lab_text(lab, paint)).collect()
    }
}

fn lab_text(lab: &LabReport, paint: Paint) -> String {
    let topology = lab.topology.as_deref().unwrap_or("no topology");
    let state = match (lab.kept, lab.running) {
        (true, _) => "up",
        (false, true) => "in use by a running program",
        (false, false) => "left over: `xway lab gc` removes it",
    };
    format!("{} {topology}, {state}\n{}", paint.bold(&lab.id), hosts(&lab.hosts))
}

impl View for CreatedLab {
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

impl View for RemovedLab {
    fn text(&self, _paint: Paint) -> String {
        format!("removed lab {}", self.removed)
    }
}

impl View for CollectedLabs {
    fn text(&self, _paint: Paint) -> String {
        match self.removed.as_slice() {
            [] => "no lab was left over".to_owned(),
            labs => format!("removed {}", labs.join(", ")),
        }
    }
}

fn interface_text(interface: &InterfaceReport) -> String {
    let InterfaceReport { name, mac, mtu, addresses, .. } = interface;
    let mac = mac.map_or_else(|| "no address".to_owned(), |mac| mac.to_string());
    format!("{name} {mac} mtu {mtu} {}", addresses.join(" ")).trim_end().to_owned()
}

fn hosts(hosts: &[HostReport]) -> String {
    let mut text = String::new();
    for host in hosts {
        text.push_str(&format!("  {:<10}{}\n", host.name, host.netns));
        for interface in &host.interfaces {
            text.push_str(&format!("  {:<10}  {}\n", "", interface_text(interface)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_shows_where_its_hosts_are() {
        let mut host = HostReport::named("k3f9a", "server");
        host.interfaces.push(InterfaceReport {
            name: "eth0".into(),
            mac: "02:78:77:00:00:02".parse().ok(),
            mtu: 1500,
            queues: 1,
            addresses: vec!["10.0.0.2/24".into()],
        });
        let lab = |kept, running| LabReport {
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
        assert!(lab_text(&lab(false, true), plain).contains("in use"));
        assert!(lab_text(&lab(false, false), plain).contains("xway lab gc"));
        assert_eq!(Labs { labs: vec![] }.text(plain), "no labs are up");
    }
}
