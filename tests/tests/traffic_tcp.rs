//! TCP connections out of XDP, judged by the kernel's own receiver.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use lab::{Host, LinkOptions, TwoHosts};
use traffic::tcp::{Config, Report, Run};

const PORT: u16 = 5001;

/// Accepts so many connections in a host, reads each to its end, and tells how many bytes came.
fn discard(host: &Host, ip: IpAddr, flows: usize) -> std::thread::JoinHandle<Option<Vec<u64>>> {
    let listener = host.run(|| TcpListener::bind((ip, PORT)).unwrap()).unwrap();
    host.spawn(move || {
        let mut readers = Vec::new();
        for _ in 0..flows {
            let (mut stream, _) = listener.accept().unwrap();
            readers.push(std::thread::spawn(move || {
                let mut room = vec![0; 1 << 20];
                let mut bytes = 0;
                loop {
                    match stream.read(&mut room).unwrap() {
                        0 => return bytes,
                        some => bytes += some as u64,
                    }
                }
            }));
        }
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    })
    .unwrap()
}

fn run(host: &Host, config: &Config) -> Report {
    let run = host.run(|| Run::start(config)).unwrap();
    run.unwrap_or_else(|error| panic!("{error}")).wait().unwrap()
}

#[test]
fn one_flow_arrives_whole() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    for ip in [IpAddr::V4(net.b.ipv4("eth0").unwrap()), net.b.ipv6("eth0").unwrap().into()] {
        let server = discard(&net.b, ip, 1);
        let mut config = Config::new("eth0", SocketAddr::new(ip, PORT));
        config.bytes = Some(100_000_000);
        config.duration = Some(Duration::from_secs(3));
        let report = run(&net.a, &config);
        eprintln!("{} Mbit/s, {:?}", report.goodput_bps as u64 / 1000_000, report.flows[0]);
        eprintln!(
            "rtt {:?} {:?}",
            report.totals.rtt_ns.quantile(0.5),
            report.totals.rtt_ns.quantile(0.99)
        );
        let read = server.join().unwrap().unwrap();
        assert_eq!(report.totals.acked_bytes, read[0]);
    }
}
