//! A balancer that translates on several interfaces, as declarations have it, and its end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lab::Router;
use serde_json::{Value, json};
use xway_tests::declarations::actions;
use xway_tests::xway::{Answer, Xway};

use super::nat_lab::{SERVICES, file, ip, site, talk};

const BACKENDS: [&str; 2] = ["10.0.2.2", "fd00:0:0:2::2"];
const POOLS: [&str; 2] = ["10.0.2.250", "fd00:0:0:2::fa"];
const DECLARED: &str =
    "interface = 'eth0'\n[[program]]\nbalance = 'services.list'\nout = ['eth1']\n";

/// The router with a directory of declarations.
struct Declared {
    net: Router,
    xway: Xway,
    dir: PathBuf,
}

impl Declared {
    fn new() -> Self {
        let (net, xway) = site();
        // Each conversation ends with an ICMP error, of which the kernel limits the rate.
        net.c.set_sysctl("ipv4/icmp_ratelimit", "0").unwrap();
        net.c.set_sysctl("ipv6/icmp/ratelimit", "0").unwrap();
        ip(&net.b, "address add 10.0.2.250/32 dev eth1");
        ip(&net.b, "address add fd00:0:0:2::fa/128 dev eth1 nodad");
        let dir = xway.state().join("etc");
        fs::create_dir_all(&dir).unwrap();
        let dir = fs::canonicalize(dir).unwrap();
        let services = fs::read_to_string(file(&xway, BACKENDS, POOLS)).unwrap();
        fs::write(dir.join("services.list"), services).unwrap();
        Self { net, xway, dir }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.join(name), text).unwrap();
    }

    fn change_services(&self, from: &str, to: &str) {
        let path = self.dir.join("services.list");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, arguments)
    }

    fn plan(&self) -> Vec<Vec<String>> {
        let answer = self.run(&["--json", "apply", self.dir.to_str().unwrap(), "--plan"]);
        let code = answer.code;
        let plan = answer.json(code);
        assert_eq!(plan["errors"], json!([]), "{plan}");
        let changed = plan["interfaces"].as_array().unwrap().iter().map(actions);
        changed.filter(|actions| !actions.is_empty()).collect()
    }

    /// Makes the planned changes, after which nothing more would change.
    #[track_caller]
    fn applied(&self) -> Value {
        let result = self.run(&["--json", "apply", self.dir.to_str().unwrap()]).json(0);
        assert_eq!(self.plan(), [[""; 0]; 0], "applied twice");
        result
    }

    /// Programs on an interface.
    fn runs(&self, interface: &str) -> Vec<u32> {
        let xdp = self.net.b.netlink().unwrap().link(interface).unwrap().xdp;
        xdp.programs().map(|(_, id)| id).collect()
    }

    fn talks(&self) {
        let Self { net, .. } = self;
        for family in 0..2 {
            talk(&net.a, &net.c, SERVICES[family], BACKENDS[family], POOLS[family]);
        }
    }
}

#[test]
fn a_balancer_on_several_interfaces_is_declared_changed_and_removed() {
    let site = Declared::new();
    site.write("eth0.toml", DECLARED);
    assert_eq!(site.plan(), [["attach"]]);
    site.applied();
    site.talks();
    let before = [site.runs("eth0"), site.runs("eth1")];
    assert!(before.iter().all(|programs| programs.len() == 1), "{before:?}");

    site.change_services("port = 80\n", "port = 80\nby = 'source'\n");
    assert_eq!(site.plan(), [["rules"]]);
    site.applied();
    assert_eq!([site.runs("eth0"), site.runs("eth1")], before, "changed in place");

    // With another program on each interface: one declared with it, one by another file.
    site.write("rules.list", "rules = ['one: drop tcp sport 1']\n");
    let filter = "[[program]]\nfilter = 'rules.list'\n";
    site.write("eth0.toml", &format!("{DECLARED}{filter}"));
    site.write("eth1.toml", &format!("interface = 'eth1'\n{filter}"));
    assert_eq!(site.plan(), [["attach"], ["attach"]]);
    site.applied();
    site.talks();
    site.change_services("by = 'source'\n", "");
    site.applied();

    // What the program is loaded with, in a chain.
    site.change_services(
        "] }\n[[service]]\nname = 'tcp 192",
        "], idle_s = 60 }\n[[service]]\nname = 'tcp 192",
    );
    assert_eq!(site.plan(), [["options"]]);
    site.applied();
    site.talks();

    fs::remove_file(site.dir.join("eth0.toml")).unwrap();
    site.applied();
    assert_eq!(site.runs("eth0"), [0; 0]);
    assert_eq!(site.runs("eth1").len(), 1, "the filter remains");
    let shown = site.run(&["--json", "balance", "show"]).json(0);
    assert_eq!(shown["balancers"], json!([]));
}

#[test]
fn an_interface_that_is_not_named_any_more_has_no_program() {
    let site = Declared::new();
    site.write("eth0.toml", DECLARED);
    site.applied();
    site.write("eth0.toml", &DECLARED.replace("out = ['eth1']\n", ""));
    site.applied();
    assert_eq!((site.runs("eth0").len(), site.runs("eth1").len()), (1, 0));
    site.write("eth0.toml", DECLARED);
    site.applied();
    site.talks();
    fs::remove_file(site.dir.join("eth0.toml")).unwrap();
    site.applied();
    assert_eq!((site.runs("eth0").len(), site.runs("eth1").len()), (0, 0));
}

#[test]
fn an_interface_has_one_balancer() {
    let site = Declared::new();
    site.write("eth0.toml", DECLARED);
    let plain = "[[service]]\nname = 'web'\naddress = '192.0.2.9'\nprotocol = 'tcp'\n\
                 backend = [{ address = '10.0.1.2' }]\n";
    site.write("other.list", plain);
    site.write("eth1.toml", "interface = 'eth1'\n[[program]]\nbalance = 'other.list'\n");
    let answer = site.run(&["--json", "apply", site.dir.to_str().unwrap(), "--plan"]);
    let code = answer.code;
    let plan = answer.json(code);
    let errors = plan["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2, "{plan}");
    for (error, other) in errors.iter().zip(["eth1.toml", "eth0.toml"]) {
        let text = error["error"].as_str().unwrap();
        assert!(text.contains(other) && text.contains("eth1 has the program balance"), "{text}");
    }
    assert_eq!(plan["interfaces"], json!([]));
}

#[test]
fn a_balancer_on_several_interfaces_is_saved_once() {
    let site = Declared::new();
    let services = site.dir.join("services.list");
    // The interface of the clients is the second one by name.
    let load = ["balance", "load", "eth1", services.to_str().unwrap(), "--out", "eth0"];
    site.run(&load).ended(0);
    let dir = site.dir.to_str().unwrap();
    let saved = site.run(&["--json", "save", dir]).json(0);
    let names: Vec<_> = saved["written"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| Path::new(path.as_str().unwrap()).strip_prefix(&site.dir).unwrap().to_owned())
        .collect();
    assert_eq!(names, [Path::new("services/eth1.toml"), Path::new("eth1.toml")]);
    let mode = fs::metadata(site.dir.join("eth1.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o022, 0);
    let before = [site.runs("eth0"), site.runs("eth1")];
    assert_eq!(site.plan(), [["adopt"]]);
    site.applied();
    assert_eq!([site.runs("eth0"), site.runs("eth1")], before);
    fs::remove_file(site.dir.join("eth1.toml")).unwrap();
    site.applied();
    assert_eq!([site.runs("eth0"), site.runs("eth1")], [[0; 0]; 2]);
}

#[test]
fn detaching_names_the_other_interfaces() {
    let site = Declared::new();
    let services = site.dir.join("services.list");
    let load = ["balance", "load", "eth0", services.to_str().unwrap(), "--out", "eth1"];
    site.run(&load).ended(0);
    let text = site.run(&["detach", "eth1"]).stdout;
    assert!(text.contains("eth1: balance detached; the balancer also from eth0"), "{text}");
    assert_eq!([site.runs("eth0"), site.runs("eth1")], [[0; 0]; 2]);
    site.run(&load).ended(0);
    let detached = site.run(&["--json", "detach", "eth0"]).json(0);
    assert_eq!(detached["also"], json!(["eth1"]));
    site.run(&load).ended(0);
    site.run(&["chain", "eth1", "remove", "balance"]).ended(0);
    assert_eq!([site.runs("eth0"), site.runs("eth1")], [[0; 0]; 2]);
}
