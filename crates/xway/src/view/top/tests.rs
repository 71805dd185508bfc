//! Tables of overviews that were made by hand.

use control::overview::{CpuVerdicts, MemberLoad, Traffic};
use control::status::{RunTime, Running};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

use super::*;
use crate::view::browser::{Browser, picture};

fn rate(packets: u64, pps: f64) -> Rate {
    Rate { packets, bytes: 100 * packets, pps, bps: 800.0 * pps }
}

fn rates(pass: f64, drop: f64) -> Rates {
    let verdicts = [("pass", rate(1_000, pass)), ("drop", rate(500, drop))];
    Rates { verdicts: verdicts.into(), ..Rates::default() }
}

fn member(name: &str, rates: Option<Rates>) -> MemberLoad {
    MemberLoad {
        name: name.into(),
        program: name.into(),
        priority: 100,
        continue_on: vec!["pass".into()],
        rates,
        ns: Some(21.0),
    }
}

fn program(name: &str, chain: Vec<MemberLoad>) -> ProgramLoad {
    let running = Running {
        id: 17,
        permitted: true,
        name: Some(name.into()),
        tag: Some("00ff".into()),
        mode: "native",
        owner: Some("xway chain".into()),
        members: chain.iter().map(|one| one.name.clone()).collect(),
        link_id: Some(5),
        rates: Some(rates(2_000.0, 300.0)),
        run_time: Some(RunTime { runs_per_s: 2_300.0, ns_per_run: Some(95.0), cpu_percent: 0.1 }),
        unconfirmed_s: None,
    };
    let verdicts = [("drop", rate(500, 300.0))].into();
    ProgramLoad {
        running,
        chain,
        cpus: vec![CpuVerdicts { cpu: 0, verdicts }],
        pins: vec!["/run/xway/bpf/1/link".into()],
    }
}

fn interface(name: &str, programs: Vec<ProgramLoad>) -> InterfaceLoad {
    InterfaceLoad {
        name: name.into(),
        ifindex: 2,
        up: true,
        mtu: 1500,
        rx: Traffic { rate: rate(9, 2_300.0), ..Traffic::default() },
        tx: Traffic::default(),
        programs,
        queues: Vec::new(),
        sockets: Vec::new(),
    }
}

fn overview() -> Overview {
    let chain = vec![member("filter", Some(rates(2_000.0, 250.0))), member("quiet", None)];
    let mut eth0 = interface("eth0", vec![program("filter", chain)]);
    let total = |total| Total { total, per_s: 2_300.0 };
    let counters = [("xdp_packets", total(70)), ("xdp_drops", total(3))];
    let counters = counters.map(|(name, total)| (name.to_owned(), total));
    eth0.queues = vec![QueueLoad { direction: "rx", queue: 1, counters: counters.into() }];
    eth0.sockets = vec![SocketLoad {
        queue: 1,
        inode: 4711,
        uid: 0,
        rx_dropped: Total::default(),
        rx_ring_full: total(12),
        fill_ring_empty: Total::default(),
        tx_invalid: Total::default(),
    }];
    let cpu = CpuLoad {
        cpu: 3,
        xdp: rate(1_500, 2_300.0),
        verdicts: [("drop", rate(500, 300.0))].into(),
        stack: total(8),
        backlog_dropped: Total::default(),
        squeezed: Total::default(),
        busy: Some(0.25),
        softirq: None,
    };
    Overview {
        interval_s: 1.0,
        interfaces: vec![interface("lo", Vec::new()), eth0],
        cpus: vec![cpu],
    }
}

/// The picture after keys were pressed.
fn shown(overview: &Overview, keys: &[KeyCode], (width, height): (u16, u16)) -> String {
    let (head, sheets) = (overview.head(), overview.sheets());
    let mut browser = Browser::default();
    for code in keys {
        browser.key(KeyEvent::new(*code, KeyModifiers::NONE), &sheets, 10);
    }
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let area = Rect::new(0, 0, width, height);
    let text = picture(&browser, &head, &sheets, area);
    terminal.draw(|frame| frame.render_widget(Paragraph::new(text), area)).unwrap();
    let cells = terminal.backend().buffer().content.chunks(usize::from(width));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        format!("{}\n", line.trim_end())
    };
    cells.map(line).collect()
}

#[track_caller]
fn row(text: &str, words: &[&str]) {
    let has_all = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(text.lines().any(has_all), "{words:?} in\n{text}");
}

#[test]
fn each_table_has_its_rows() {
    let (overview, wide) = (overview(), (120, 20));
    let tab = |count: usize| shown(&overview, &vec![KeyCode::Tab; count], wide);
    let interfaces = tab(0);
    row(&interfaces, &["2 interfaces, 2 up", "1 programs", "2.30 kpps in", "300 pps dropped"]);
    row(&interfaces, &["eth0", "native", "2.30 kpps", "300 pps"]);
    assert!(interfaces.find("eth0") < interfaces.find("lo "), "XDP first:\n{interfaces}");
    row(&tab(1), &["filter", "eth0", "xway chain", "17", "2.30 k/s", "95 ns"]);
    row(&tab(2), &["eth0", "filter", "2.00 kpps", "250 pps", "1.50 k", "21 ns"]);
    row(&tab(2), &["eth0", "quiet", "-"]);
    row(&tab(3), &["3", "25 %", "2.30 kpps", "300 pps"]);
    row(&tab(4), &["eth0", "rx 1", "70", "2.30 kpps"]);
    row(&tab(5), &["eth0", "4711", "12"]);
}

#[test]
fn an_interface_is_selected_in_all_tables() {
    let mut keys = vec![KeyCode::Char('/')];
    keys.extend("eth0".chars().map(KeyCode::Char));
    keys.extend([KeyCode::Enter, KeyCode::Char('a')]);
    let interfaces = shown(&overview(), &keys, (120, 20));
    assert!(!interfaces.lines().any(|line| line.starts_with("lo ")), "{interfaces}");
    keys.extend([KeyCode::Tab; 4]);
    row(&shown(&overview(), &keys, (120, 20)), &["filter `eth0`"]);
    let mut other = overview();
    other.interfaces[1].name = "eth1".into();
    row(&shown(&other, &keys, (120, 20)), &["no row contains `eth0`"]);
}

#[test]
fn a_namespace_without_programs_and_narrow_terminals() {
    let idle = Overview { interfaces: Vec::new(), cpus: Vec::new(), ..overview() };
    for (tabs, text) in [
        (0, "there are no interfaces"),
        (1, "no program runs"),
        (2, "no program runs"),
        (5, "no AF_XDP socket is bound"),
    ] {
        let shown = shown(&idle, &vec![KeyCode::Tab; tabs], (80, 12));
        assert!(shown.contains(text), "{shown}");
    }
    assert!(idle.text(Paint { colour: false }).starts_with("0 interfaces, 0 up; 0 programs"));
    for tabs in 0..6 {
        for size in [(40, 10), (20, 4), (1, 1), (300, 2)] {
            let lines = shown(&overview(), &vec![KeyCode::Tab; tabs], size);
            assert_eq!(lines.lines().count(), usize::from(size.1));
        }
    }
    let narrow = shown(&overview(), &[], (40, 12));
    row(&narrow, &["eth0", "2.30 kpps"]);
}

/// Names of interfaces and programs come from others.
#[test]
fn names_cannot_steer_the_terminal() {
    let mut hostile = overview();
    hostile.interfaces[1].name = "e\x1b[2J".into();
    let text = crate::view::rendered(&hostile, crate::view::Form::Text, Paint { colour: false });
    let text = text.unwrap();
    assert!(text.contains("e\\x1b[2J") && !text.contains('\x1b'), "{text}");
}
