//! The view of `top`: tables of interfaces, programs, processors, queues and sockets.

#[cfg(test)]
mod tests;

use control::overview::{
    CpuLoad, InterfaceLoad, Overview, ProgramLoad, QueueLoad, SocketLoad, Total,
};
use control::rates::{Rate, Rates};
use report::number::human;

use super::browser::{Browsable, Cell, Heading, Sheet};
use super::status::unconfirmed;
use super::{Paint, View};

impl View for Overview {
    /// The head, and the tables that have rows.
    fn text(&self, paint: Paint) -> String {
        let mut text = format!("{}\n", self.head());
        for sheet in self.sheets().iter().filter(|sheet| !sheet.is_empty()) {
            text.push_str(&format!("\n{}\n{}", paint.bold(sheet.name), sheet.table()));
        }
        text
    }
}

impl Browsable for Overview {
    fn line(&self) -> String {
        self.text(Paint { colour: false })
    }

    fn head(&self) -> String {
        let up = self.interfaces.iter().filter(|one| one.up).count();
        let programs = self.interfaces.iter().map(|one| one.programs.len()).sum::<usize>();
        let sum = |rate: fn(&CpuLoad) -> f64| self.cpus.iter().map(rate).sum::<f64>();
        let dropped = |one: &CpuLoad| one.verdicts.get("drop").map_or(0.0, |rate| rate.pps);
        let mut head = format!(
            "{} interfaces, {up} up; {programs} programs: {} in, {} dropped; rates over {:.1} s",
            self.interfaces.len(),
            human(sum(|one| one.xdp.pps), "pps"),
            human(sum(dropped), "pps"),
            self.interval_s
        );
        for one in &self.interfaces {
            let running = one.programs.iter().map(|program| &program.running);
            let lines = unconfirmed(&one.name, running);
            lines.iter().for_each(|line| head.push_str(line.trim_end()));
        }
        head
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![
            interfaces(self),
            programs(self),
            verdicts(self),
            processors(self),
            queues(self),
            sockets(self),
        ]
    }
}

/// The interfaces with programs first.
fn ordered(overview: &Overview) -> Vec<&InterfaceLoad> {
    let mut all: Vec<_> = overview.interfaces.iter().collect();
    all.sort_by_key(|one| one.programs.is_empty());
    all
}

/// Programs with the interfaces that they run on.
fn running(overview: &Overview) -> impl Iterator<Item = (&InterfaceLoad, &ProgramLoad)> {
    let all = ordered(overview).into_iter();
    all.flat_map(|one| one.programs.iter().map(move |program| (one, program)))
}

fn interfaces(overview: &Overview) -> Sheet {
    let texts = ["interface", "state", "XDP"].map(Heading::text);
    let numbers = ["in", "bits in", "out", "bits out", "XDP drops", "dropped", "errors"];
    let mut sheet = Sheet::new("interfaces", texts.into_iter().chain(numbers.map(Heading::number)));
    for one in ordered(overview) {
        let state = if one.up { "up" } else { "down" };
        let modes: Vec<_> = one.programs.iter().map(|program| program.running.mode).collect();
        let xdp = if modes.is_empty() { "-".to_owned() } else { modes.join(", ") };
        let rates: Vec<_> =
            one.programs.iter().filter_map(|one| one.running.rates.as_ref()).collect();
        let drops = (!rates.is_empty()).then(|| rates.iter().map(|rates| pps(rates, "drop")).sum());
        sheet.row([
            Cell::text(&one.name),
            Cell::text(state),
            Cell::text(xdp),
            Cell::number(one.rx.rate.pps, "pps"),
            Cell::number(one.rx.rate.bps, "bit/s"),
            Cell::number(one.tx.rate.pps, "pps"),
            Cell::number(one.tx.rate.bps, "bit/s"),
            known(drops, "pps"),
            Cell::number(one.rx.dropped.per_s + one.tx.dropped.per_s, "/s"),
            Cell::number(one.rx.errors.per_s + one.tx.errors.per_s, "/s"),
        ]);
    }
    sheet.empty = "there are no interfaces".to_owned();
    sheet
}

/// Each program with its owner and the time of its runs.
fn programs(overview: &Overview) -> Sheet {
    let texts = ["program", "interface", "mode", "owner"].map(Heading::text);
    let numbers = ["id", "packets", "rate", "bits", "runs", "time/run", "CPU"].map(Heading::number);
    let headings = texts.into_iter().chain(numbers).chain([Heading::text("pinned at")]);
    let mut sheet = Sheet::new("programs", headings);
    for (interface, program) in running(overview) {
        let running = &program.running;
        let owner = running.owner.as_deref().unwrap_or("unknown");
        let name = running.name.as_deref().unwrap_or(NOT_PERMITTED);
        let texts = [name, &interface.name, running.mode, owner].map(Cell::text);
        let (all, time) = (running.rates.as_ref().map(all), running.run_time);
        let numbers = [
            Cell::count(running.id as usize),
            known(all.map(|rate| rate.packets as f64), ""),
            known(all.map(|rate| rate.pps), "pps"),
            known(all.map(|rate| rate.bps), "bit/s"),
            known(time.map(|time| time.runs_per_s), "/s"),
            known(time.and_then(|time| time.ns_per_run), "ns"),
            known(time.map(|time| time.cpu_percent), "%"),
        ];
        let pins = Cell::text(program.pins.join(", "));
        sheet.row(texts.into_iter().chain(numbers).chain([pins]));
    }
    sheet.empty = "no program runs".to_owned();
    sheet
}

/// Each program, and each member of a chain, with its packets by verdict.
fn verdicts(overview: &Overview) -> Sheet {
    let texts = ["interface", "program"].map(Heading::text);
    let numbers = VERDICTS.into_iter().chain(["packets", "ns"]).map(Heading::number);
    let mut sheet = Sheet::new("verdicts", texts.into_iter().chain(numbers));
    let mut row = |interface: &str, name: &str, rates: &Option<Rates>, ns: Option<f64>| {
        let rates = rates.as_ref();
        let verdict = |name| known(rates.map(|rates| pps(rates, name)), "pps");
        let packets = known(rates.map(|rates| all(rates).packets as f64), "");
        let texts = [interface, name].map(Cell::text);
        let cells = texts.into_iter().chain(VERDICTS.map(verdict));
        sheet.row(cells.chain([packets, known(ns, "ns")]));
    };
    for (interface, program) in running(overview) {
        for member in &program.chain {
            row(&interface.name, &member.name, &member.rates, member.ns);
        }
        if program.chain.is_empty() {
            let name = program.running.name.as_deref().unwrap_or(NOT_PERMITTED);
            let ns = program.running.run_time.and_then(|time| time.ns_per_run);
            row(&interface.name, name, &program.running.rates, ns);
        }
    }
    sheet.empty = "no program runs".to_owned();
    sheet
}

fn processors(overview: &Overview) -> Sheet {
    let numbers = ["CPU", "busy", "softirq", "XDP"].into_iter().chain(VERDICTS);
    let numbers = numbers.chain(["stack", "backlog drops", "squeezed"]).map(Heading::number);
    let mut sheet = Sheet::new("processors", numbers);
    for one in &overview.cpus {
        let verdict =
            |name| Cell::number(one.verdicts.get(name).map_or(0.0, |rate| rate.pps), "pps");
        let percent = |share: Option<f64>| known(share.map(|share| 100.0 * share), "%");
        let first = [Cell::count(one.cpu), percent(one.busy), percent(one.softirq)];
        let xdp = [Cell::number(one.xdp.pps, "pps")];
        let last = [(one.stack, "pps"), (one.backlog_dropped, "pps"), (one.squeezed, "/s")];
        let last = last.map(|(total, unit)| Cell::number(total.per_s, unit));
        let cells = first.into_iter().chain(xdp).chain(VERDICTS.map(verdict));
        sheet.row(cells.chain(last));
    }
    sheet
}

fn queues(overview: &Overview) -> Sheet {
    let texts = ["interface", "queue"].map(Heading::text);
    let numbers = ["packets", "rate", "bits", "XDP drops", "sockets"].map(Heading::number);
    let mut sheet = Sheet::new("queues", texts.into_iter().chain(numbers));
    for one in ordered(overview) {
        for queue in &one.queues {
            let per_s = |total: Option<Total>, unit| known(total.map(|total| total.per_s), unit);
            let packets = queue.packets();
            let bits = queue.bytes().map(|bytes| 8.0 * bytes.per_s);
            sheet.row([
                Cell::text(&one.name),
                Cell::text(queue_name(queue)),
                known(packets.map(|packets| packets.total as f64), ""),
                per_s(packets, "pps"),
                known(bits, "bit/s"),
                per_s(queue.xdp_drops(), "pps"),
                Cell::count(bound(&one.sockets, queue)),
            ]);
        }
    }
    sheet.empty =
        "no interface with programs or AF_XDP sockets has a driver that counts by queue".to_owned();
    sheet
}

fn sockets(overview: &Overview) -> Sheet {
    let columns = [Heading::text("interface")].into_iter();
    let numbers = ["queue", "inode", "uid", "ring full", "no fill frame", "dropped", "tx invalid"];
    let mut sheet = Sheet::new("sockets", columns.chain(numbers.map(Heading::number)));
    for one in ordered(overview) {
        for socket in &one.sockets {
            let ids = [socket.queue, socket.inode, socket.uid].map(|id| Cell::count(id as usize));
            let SocketLoad { rx_ring_full, fill_ring_empty, rx_dropped, tx_invalid, .. } = socket;
            let counters = [rx_ring_full, fill_ring_empty, rx_dropped, tx_invalid];
            let counters = counters.map(|total| Cell::number(total.total as f64, ""));
            sheet.row([Cell::text(&one.name)].into_iter().chain(ids).chain(counters));
        }
    }
    sheet.empty = "no AF_XDP socket is bound to an interface".to_owned();
    sheet
}

fn queue_name(queue: &QueueLoad) -> String {
    format!("{} {}", queue.direction, queue.queue)
}

/// Number of sockets that receive from a queue.
fn bound(sockets: &[SocketLoad], queue: &QueueLoad) -> usize {
    let is_here = |one: &&SocketLoad| queue.direction == "rx" && one.queue == queue.queue;
    sockets.iter().filter(is_here).count()
}

fn known(number: Option<f64>, unit: &str) -> Cell {
    number.map_or_else(Cell::unknown, |number| Cell::number(number, unit))
}

/// Packets per second with a verdict.
fn pps(rates: &Rates, verdict: &str) -> f64 {
    match verdict {
        "invalid" => rates.invalid.pps,
        verdict => rates.verdicts.get(verdict).map_or(0.0, |rate| rate.pps),
    }
}

/// Packets with any verdict.
fn all(rates: &Rates) -> Rate {
    let mut sum = rates.invalid;
    rates.verdicts.values().for_each(|rate| sum += *rate);
    sum
}

/// Columns of verdicts; `invalid` is rare enough to be in the sum alone.
const VERDICTS: [&str; 5] = ["pass", "drop", "tx", "redirect", "aborted"];
const NOT_PERMITTED: &str = "(not permitted)";
