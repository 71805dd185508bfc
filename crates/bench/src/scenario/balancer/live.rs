//! Packets per second through a balancer: a flood from 1000 sources over a veth pair, which comes
//! back by the interface that it came in by.
//!
//! Rule: all arms have the same flood, and count what arrives at its sender, whose driver ends it.
//! An arm of XDP fails if Linux forwarded instead, and an arm of Linux if it did not.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};
use functions::balancer;
use kernel::{Link, LoadOptions, Mode, Object};
use report::{Bench, Figure};
use spec::asm::Reg::{R1, R2, R3, R4, R5, R6, R7};
use spec::asm::{self, Assembler};
use spec::{ProgramKind, Spec, Verdict};
use traffic::Template;
use traffic::stream::{Order, Pool, Quick, QuickProtocol, Sizes, Value as Field, Vary};

use super::case::{BACKENDS, Case, PORT, backend};
use super::ours;
use super::site::Site;
use crate::field::{FRAME, Flood, Place};
use crate::harness::{Arm, Harness, Value};
use crate::hook::tool::Tool;
use crate::hook::{ActiveHook, Span, limit};

/// What balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Ours,
    /// Swaps the MAC addresses and sends every frame back: the limit of veth.
    XdpTx,
    /// Netfilter translates by a hash of the source, and Linux forwards.
    Nft,
    /// Linux's own balancer, in IPIP.
    Ipvs,
}

impl Way {
    pub const ALL: [Self; 4] = [Self::Ours, Self::XdpTx, Self::Nft, Self::Ipvs];

    /// The name of its row.
    pub const fn row(self) -> &'static str {
        match self {
            Self::Ours => "live/ours",
            Self::XdpTx => "live/xdp-tx",
            Self::Nft => "live/nft-jhash",
            Self::Ipvs => "live/ipvs",
        }
    }

    const fn is_xdp(self) -> bool {
        matches!(self, Self::Ours | Self::XdpTx)
    }

    /// # Errors
    /// The kernel or a tool that it needs is not there; in its words if there are any.
    fn start(self, site: &Site) -> Result<Active> {
        let attached = |object: Object, program| {
            let link = site.near.attach(object.program(program)?, Mode::Native)?;
            Ok(Active::Program { _link: link, _object: object })
        };
        match self {
            Self::Ours => {
                let programs = Some(vec![balancer::PROGRAM.to_owned()]);
                let options = LoadOptions { programs, ..LoadOptions::default() };
                let load = |spec: &Spec| Ok(Object::load(spec, &options)?);
                attached(ours::load(site, Case::Udp, load)?, balancer::PROGRAM)
            }
            Self::XdpTx => attached(Object::load(&reflect()?, &LoadOptions::default())?, REFLECT),
            Self::Nft => Commands::run(site, "nft", &[&["-f", "-"]], &rules(), DELETE),
            Self::Ipvs => Commands::run(site, "ipvsadm", &[&["-R"]], &virtual_server(), CLEAR),
        }
    }
}

/// A balancer until this is dropped.
enum Active {
    Program { _link: Link, _object: Object },
    Commands { _commands: Commands },
}

/// What a tool set up, and how it is removed.
struct Commands {
    tool: Tool,
    end: &'static [&'static str],
}

impl Commands {
    fn run(
        site: &Site,
        program: &str,
        words: &[&[&str]],
        input: &str,
        end: &'static [&'static str],
    ) -> Result<Active> {
        let tool = Tool::at(site.near.clone(), site.cpu, program);
        for words in words {
            tool.run(*words, input)?;
        }
        Ok(Active::Commands { _commands: Self { tool, end } })
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // The namespace ends with the run, whatever is in it.
        let _ = self.tool.run(self.end, "");
    }
}

/// The arms that this kernel can have; others are reported as absent.
pub fn arms<'a>(site: &'a Site, harness: &Harness, bench: &mut Bench) -> Result<Vec<Arm<'a>>> {
    let stream = stream(site)?;
    let mut arms = Vec::new();
    for way in Way::ALL.into_iter().filter(|way| harness.measures(way.row())) {
        if way == Way::Ipvs && !site.near.run(|| std::fs::exists(IPVS))?? {
            bench.absent(way.row(), format!("not here: this kernel has no IPVS ({IPVS})"));
            continue;
        }
        let stream = stream.clone();
        arms.push(Arm::wide(way.row(), move |window| {
            let span = measure(site, way, &stream, window)?;
            Ok(vec![
                Value::new(way.row(), "pps", span.rate()),
                Value::new(format!("lost/{}", way.row()), "%", span.lost()),
            ])
        }));
    }
    Ok(arms)
}

fn measure(site: &Site, way: Way, stream: &Template, window: Duration) -> Result<Span> {
    let before = site.near.forwarded_by_linux()?;
    let drops = limit::object()?;
    let _ending = site.sender.attach(drops.program(limit::NAME)?, Mode::Native)?;
    let _active = way.start(site)?;
    let returned = Returned(&site.sender);
    let streams = vec![stream.clone()];
    let flood = Flood::streams(&site.sender, site.cpu, streams, None, window)?;
    let start = returned.ended()?;
    lab::until("packets from the balancer", PATIENCE, || {
        Ok(returned.ended().is_ok_and(|ended| ended > start + WARM_UP).then_some(()))
    })?;
    let span = Span::of(&flood, &returned, || sleep(window))?;
    let by_linux = site.near.forwarded_by_linux()? - before;
    let is_few = by_linux < span.ended / 100;
    ensure!(is_few == way.is_xdp(), "Linux forwarded {by_linux} of {} packets", span.ended);
    Ok(span)
}

/// Packets that came back to the sender.
struct Returned<'a>(&'a Place);

impl ActiveHook for Returned<'_> {
    fn ended(&self) -> Result<u64> {
        Ok(self.0.statistics()?.rx_packets)
    }
}

/// Datagrams of 60 bytes to the service, of each source in turn.
fn stream(site: &Site) -> Result<Template> {
    let sources = Pool::Range(SOURCES.to_owned());
    let vary = Vary { pool: sources, step: 1, order: Order::Sequence };
    let text = |text: String| Some(Field::from(text.as_str()));
    let quick = Quick {
        src_mac: text(site.macs[0].to_string()),
        dst_mac: text(site.macs[1].to_string()),
        src: Some(Field::Vary(vary)),
        dst: text(Case::Udp.service().to_string()),
        dport: Some(u64::from(PORT).into()),
        size: Some(Sizes::Fixed(FRAME)),
        checksum: Some("none".into()),
        ..Quick::new(QuickProtocol::Udp)
    };
    Ok(quick.stream().template(0, MTU)?)
}

/// The program of [`Way::XdpTx`].
fn reflect() -> Result<Spec> {
    let mut a = Assembler::new(REFLECT, ProgramKind::XDP);
    let pass = a.label();
    a.packet(R2, R3, R1).need(R2, R3, ADDRESSES, R4, pass);
    a.load32(R4, R2.at(0)).load16(R5, R2.at(4)).load32(R6, R2.at(6)).load16(R7, R2.at(10));
    a.store32(R2.at(0), R6).store16(R2.at(4), R7).store32(R2.at(6), R4).store16(R2.at(10), R5);
    a.verdict(Verdict::Tx).bind(pass).verdict(Verdict::Pass);
    let mut object = asm::Object::new(REFLECT, "Dual MIT/GPL");
    object.program(a);
    Ok(object.finish()?)
}

/// The ruleset of [`Way::Nft`].
fn rules() -> String {
    let mut map = String::new();
    for number in 0..BACKENDS {
        // Writing to a string does not fail.
        let _ = write!(map, "{number} : {}, ", backend(false, number));
    }
    let service = Case::Udp.service();
    format!(
        "table ip {TABLE} {{\n\
         chain in {{\n\
         type nat hook prerouting priority dstnat;\n\
         ip daddr {service} udp dport {PORT} \
         dnat to jhash ip saddr mod {BACKENDS} map {{ {map} }}\n\
         }}\n}}\n"
    )
}

/// The service of [`Way::Ipvs`], as `ipvsadm -S` prints one.
fn virtual_server() -> String {
    let service = format!("{}:{PORT}", Case::Udp.service());
    let mut text = format!("-A -u {service} -s sh -b sh-port\n");
    for number in 0..BACKENDS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "-a -u {service} -r {}:{PORT} -i -w 200", backend(false, number));
    }
    text
}

/// Adds the ratios and the picture.
pub fn conclude(bench: &mut Bench) {
    let is_there = |bench: &Bench, way: Way| bench.median(way.row()).is_some();
    let others = Way::ALL.into_iter().filter(|way| *way != Way::Ours);
    for other in others.filter(|other| is_there(bench, *other)).collect::<Vec<_>>() {
        if is_there(bench, Way::Ours) {
            bench.ratio(Way::Ours.row(), other.row());
        }
    }
    let rows: Vec<_> = Way::ALL.into_iter().filter(|way| is_there(bench, *way)).collect();
    if rows.is_empty() {
        return;
    }
    let names = rows.iter().map(|way| way.row().to_owned());
    let figure = Figure::bars("balancer-live", "Packets per second that one core balances", names)
        .subtitle("UDP, 60 bytes, 1000 sources, 100 backends; IPIP or translated")
        .reference(Way::Ours.row(), KATRAN_PPS, PAPER)
        .reference(Way::Ipvs.row(), IPVS_PPS, PAPER);
    bench.figure(figure);
}

/// 1000 addresses.
const SOURCES: &str = "198.18.0.0..198.18.3.231";
const MTU: usize = 1500;
const REFLECT: &str = "reflect";
/// Bytes of both MAC addresses.
const ADDRESSES: i32 = 12;
const TABLE: &str = "xway_bench";
const DELETE: &[&str] = &["delete", "table", "ip", TABLE];
const CLEAR: &[&str] = &["-C"];
/// It is there if the kernel has IPVS.
const IPVS: &str = "/proc/thread-self/net/ip_vs";
const PATIENCE: Duration = Duration::from_secs(5);
/// Packets that arrive before the clock starts.
const WARM_UP: u64 = 1000;
/// Published values of one core: katran's is that of `ours`.
const KATRAN_PPS: f64 = 5_161_976.0;
const IPVS_PPS: f64 = 1_237_293.0;
const PAPER: &str = "The eXpress Data Path (CoNEXT 2018), table 2: katran and IPVS on one core of \
    a Xeon E5-1650 v4 at 3.6 GHz, ConnectX-5 Ex 100G, Linux 4.18-pre";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_have_names_of_their_own() {
        let names: BTreeSet<_> = Way::ALL.map(Way::row).into();
        assert_eq!(names.len(), Way::ALL.len());
    }

    #[test]
    fn tools_get_all_backends() {
        assert_eq!(rules().matches(" : 10.9.0.").count(), usize::from(BACKENDS));
        assert_eq!(virtual_server().lines().count(), 1 + usize::from(BACKENDS));
    }

    #[test]
    fn ratios_and_published_values_are_of_rows_that_are_there() {
        let mut bench = Bench::new("balancer");
        bench.round_at(1, Way::Ours.row(), "pps", 6e6);
        bench.round_at(1, Way::XdpTx.row(), "pps", 8e6);
        conclude(&mut bench);
        assert_eq!(bench.notes().figures.len(), 1);
        let report = bench.finish(report::Host::default()).unwrap();
        let [ratio] = &report.ratios[..] else { panic!("{:?}", report.ratios) };
        assert_eq!(ratio.median, 0.75);
    }
}
