//! The hosts, what runs on them, and the client's connections.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lab::{Host, Lab, until};
use serde_json::Value;
use xway_tests::routing::{self, Bird, Folder, connect, default_route};
use xway_tests::xway::Xway;

/// Fields are dropped in this order.
pub struct Site {
    pub balancers: [Balancer; 2],
    _bird: Bird,
    _nginx: Vec<Process>,
    client: Host,
    router: Host,
    _switch: Xway,
    /// Files that nginx has, for checks.
    _files: Folder,
    _lab: Lab,
}

/// A host with a balancer, `xway daemon` and BIRD.
pub struct Balancer {
    host: Host,
    xway: Xway,
    daemon: Option<Process>,
    bird: Option<Bird>,
    number: u8,
    /// The file that its checks ask for, and where it is while they fail.
    check: [std::path::PathBuf; 2],
}

/// A process that is killed when it is dropped.
struct Process(Child);

/// A connection of the client to nginx.
pub struct Stream(TcpStream);

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(host: &Host, words: &str) -> String {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn quiet(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Site {
    pub fn build() -> Self {
        let mut lab = Lab::new().unwrap();
        let mut add = |name: &str| lab.add_host(name).unwrap();
        let [client, router, switch, lb1, lb2, s1, s2, s3] =
            ["client", "router", "switch", "lb1", "lb2", "s1", "s2", "s3"].map(&mut add);
        ip(&switch, "link add br0 type bridge");
        let (near, far) = (Ipv4Addr::new(10, 1, 0, 2), Ipv4Addr::new(10, 1, 0, 1));
        connect((&client, "eth0", near), (&router, "left", far));
        default_route(&client, far);
        for path in ["ipv4/ip_forward", "ipv4/fib_multipath_hash_policy"] {
            router.set_sysctl(path, "1").unwrap();
        }
        router.set_sysctl("ipv4/conf/all/send_redirects", "0").unwrap();
        plug(&switch, (&router, "right", GATEWAY));
        let servers = [s1, s2, s3];
        for (number, server) in (1..).zip(&servers) {
            plug(&switch, (server, "eth0", backend(number)));
            default_route(server, GATEWAY);
            ip(server, &format!("addr add {SERVICE}/32 dev lo"));
        }
        for (number, host) in [(1, &lb1), (2, &lb2)] {
            plug(&switch, (host, "eth0", balancer(number)));
            default_route(host, GATEWAY);
            host.set_sysctl("ipv4/conf/eth0/forwarding", "1").unwrap();
        }
        ip(&switch, "link set br0 up");
        // A veth accepts frames that XDP sends where its peer has a program.
        let ports = Xway::new();
        for port in ["to-lb1", "to-lb2"] {
            ports.run_in(&switch, &["drop", port, "any udp 7"]).ended(0);
        }
        let files = Folder::new("nginx");
        let nginx = (1..).zip(&servers).map(|(number, host)| nginx(host, number, &files));
        let nginx = nginx.collect();
        let bird = Bird::start(&router, ROUTER, &[]);
        let balancers =
            [(1, lb1), (2, lb2)].map(|(number, host)| Balancer::start(host, number, &files));
        Self {
            balancers,
            _bird: bird,
            _nginx: nginx,
            client,
            router,
            _switch: ports,
            _files: files,
            _lab: lab,
        }
    }

    /// Waits until the router sends packets for the service to these balancers and no others.
    #[track_caller]
    pub fn until_hops(&self, balancers: &[u8]) {
        let mut last = String::new();
        let found = until("next hops", PATIENCE, || {
            last = ip(&self.router, &format!("route show {SERVICE}"));
            let is_right = [1, 2].into_iter().all(|number| {
                let hop = format!("via {} ", balancer(number));
                last.contains(&hop) == balancers.contains(&number)
            });
            Ok(is_right.then_some(()))
        });
        assert!(found.is_ok(), "{balancers:?} are expected: {last}");
    }

    /// Names of the backends that answered curl, one for each of new connections.
    pub fn curl(&self, connections: usize) -> Vec<String> {
        let mut command = self.client.command("curl").unwrap();
        command.args(["--silent", "--show-error", "--fail", "--max-time", "60"]);
        command.args(["--header", "Connection: close"]);
        command.arg(format!("http://{SERVICE}/?[1-{connections}]"));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "curl: {error}; after {text}");
        text.lines().map(str::to_owned).collect()
    }

    /// Opens connections that remain; each with the name of its backend.
    pub fn connect(&self, connections: usize) -> Vec<(Stream, String)> {
        let to = SocketAddr::new(SERVICE.into(), 80);
        let open = |_| {
            let stream = self.client.run(|| TcpStream::connect_timeout(&to, PATIENCE));
            let stream = stream.unwrap().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut stream = Stream(stream);
            let name = stream.ask().unwrap();
            (stream, name)
        };
        (0..connections).map(open).collect()
    }
}

impl Stream {
    /// The name of the backend, as it answers on this connection.
    pub fn ask(&mut self) -> Result<String, String> {
        let request = format!("GET / HTTP/1.1\r\nHost: {SERVICE}\r\n\r\n");
        self.0.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut received = Vec::new();
        loop {
            let mut part = [0; 1024];
            let length = self.0.read(&mut part).map_err(|error| error.to_string())?;
            received.extend(&part[..length]);
            let text = String::from_utf8_lossy(&received);
            if let Some((_, body)) = text.split_once("\r\n\r\n")
                && let Some(name) = body.strip_suffix('\n')
            {
                return Ok(name.to_owned());
            }
            if length == 0 {
                return Err(format!("closed after {text:?}"));
            }
        }
    }
}

impl Balancer {
    fn start(host: Host, number: u8, files: &Folder) -> Self {
        routing::require("/usr/bin/curl", "curl");
        let xway = Xway::new();
        let check = [files.path(&format!("lb{number}")), files.path(&format!("gone{number}"))];
        fs::write(&check[0], "well\n").unwrap();
        let backends: Vec<_> =
            (1..=3).map(|one| format!("{{ address = '{}' }}", backend(one))).collect();
        let text = format!(
            "key = 'of the lab'\nannounce = {{ table = 77 }}\n[[service]]\nname = 'web'\n\
             address = '{SERVICE}'\nprotocol = 'tcp'\nport = 80\ndelivery = 'mac'\n\
             health = {{ check = {{ http = {{ path = '/lb{number}' }} }}, interval = '500ms', \
             timeout = '500ms', rise = 2, fall = 4, hold = '10ms', most = 1.0 }}\n\
             backend = [{}]\n",
            backends.join(", ")
        );
        let path = xway.state().join("services.toml");
        fs::write(&path, text).unwrap();
        xway.run_in(&host, &["balance", "load", "eth0", path.to_str().unwrap()]).ended(0);
        let words = ["daemon", "--no-apply", "--listen", "127.0.0.1:0"];
        let daemon = Some(Process(quiet(xway.command_in(&host, &words))));
        let mut this = Self { host, xway, daemon, bird: None, number, check };
        this.until_healthy();
        this.start_bird();
        this
    }

    pub fn start_bird(&mut self) {
        let text = BALANCER.replace("OWN", &balancer(self.number).to_string());
        self.bird = Some(Bird::start(&self.host, &text, &[]));
    }

    /// Kills BIRD by SIGKILL.
    pub fn kill_bird(&mut self) {
        assert!(self.bird.take().is_some());
    }

    /// Kills `xway daemon` by SIGKILL.
    pub fn kill_daemon(&mut self) {
        assert!(self.daemon.take().is_some());
    }

    /// Has its checks of all backends fail, and no others.
    pub fn fail(&self) {
        fs::rename(&self.check[0], &self.check[1]).unwrap();
    }

    pub fn recover(&self) {
        fs::rename(&self.check[1], &self.check[0]).unwrap();
    }

    pub fn detach(&self) {
        self.xway.run_in(&self.host, &["detach", "eth0"]).ended(0);
    }

    fn service(&self) -> Value {
        let shown = self.xway.run_in(&self.host, &["--json", "balance", "show"]).json(0);
        shown["balancers"][0]["services"][0].clone()
    }

    /// Waits until all backends are in use.
    #[track_caller]
    pub fn until_healthy(&self) {
        let mut last = Value::Null;
        let found = until("healthy backends", PATIENCE, || {
            last = self.service();
            let mut all = last["backends"].as_array().unwrap().iter();
            Ok(all.all(|one| one["health"]["state"] == "up").then_some(()))
        });
        assert!(found.is_ok(), "{last:#}");
    }

    /// Packets that it sent to all backends.
    pub fn packets(&self) -> u64 {
        let service = self.service();
        let backends = service["backends"].as_array();
        backends.map_or(0, |all| all.iter().filter_map(|one| one["packets"].as_u64()).sum())
    }

    pub fn announced(&self) -> bool {
        self.service()["announced"] == true
    }

    pub fn table(&self) -> String {
        ip(&self.host, "route show table 77")
    }
}

/// Connects a host with the bridge.
fn plug(switch: &Host, (host, interface, address): (&Host, &str, Ipv4Addr)) {
    let port = format!("to-{}", host.name());
    // The bridge has no address, so its port needs none: this one is not used.
    let unused = Ipv4Addr::new(169, 254, address.octets()[3], 1);
    connect((host, interface, address), (switch, &port, unused));
    ip(switch, &format!("link set {port} master br0"));
}

/// Starts nginx on a backend; it answers with its name, and to checks while their files exist.
fn nginx(host: &Host, number: u8, files: &Folder) -> Process {
    routing::require(NGINX, "nginx-light");
    let folder = files.path(".");
    let at = |name: &str| files.path(&format!("{name}{number}"));
    let (pid, log) = (at("pid"), at("log"));
    let shown = Path::display;
    let text = format!(
        "daemon off; master_process off; pid {}; error_log {} crit;\n\
         events {{ worker_connections 512; }}\n\
         http {{ access_log off; keepalive_timeout 600s; default_type text/plain;\n\
         server {{ listen {SERVICE}:80; root {};\n\
         location = / {{ return 200 \"s{number}\\n\"; }} }} }}\n",
        shown(&pid),
        shown(&log),
        shown(&folder),
    );
    let config = files.write(&format!("nginx{number}.conf"), &text);
    let mut command = host.command(NGINX).unwrap();
    command.arg("-c").arg(config).arg("-e").arg(&log);
    let mut nginx = Process(quiet(command));
    let started = until("nginx", PATIENCE, || {
        let ended = nginx.0.try_wait().unwrap();
        assert!(ended.is_none(), "{ended:?}: {}", fs::read_to_string(&log).unwrap_or_default());
        Ok(fs::read(&pid).is_ok_and(|text| !text.is_empty()).then_some(()))
    });
    started.unwrap();
    nginx
}

const fn balancer(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, number)
}

const fn backend(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 10 + number)
}

/// The router spreads flows over all balancers that announce.
const ROUTER: &str = "router id 10.0.0.254;
    protocol device {}
    protocol kernel { merge paths on; ipv4 { import none; export where source = RTS_BGP; }; }
    template bgp balancers { local 10.0.0.254 as 65000; connect delay time 1;
      connect retry time 1; error wait time 1, 2; ipv4 { import all; export none; }; }
    protocol bgp lb1 from balancers { neighbor 10.0.0.1 as 65001; }
    protocol bgp lb2 from balancers { neighbor 10.0.0.2 as 65001; }\n";
/// As in docs/balance.md.
const BALANCER: &str = "router id OWN;
    protocol device {}
    ipv4 table services;
    protocol kernel { kernel table 77; learn;
      ipv4 { table services; import where krt_source = 120; export none; }; }
    protocol bgp upstream { local OWN as 65001; neighbor 10.0.0.254 as 65000;
      connect delay time 1; connect retry time 1; error wait time 1, 2;
      ipv4 { table services; import none; export all; }; }\n";
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 254);
const SERVICE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const NGINX: &str = "/usr/sbin/nginx";
/// How long anything may take: with both cores busy, checks and BGP need a while.
const PATIENCE: Duration = Duration::from_secs(60);
