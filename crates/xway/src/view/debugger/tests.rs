//! What keys do, and what the picture shows at each size of the terminal.

use control::inventory::{Content, Entries, Entry, MapRef, Tree};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use runner::debug::{
    Answer, FramePlace, Header, MapState, PacketState, Position, Reason, SourcePlace, Span, State,
    Stop,
};

use super::draw::draw;
use super::*;

const AREA: Rect = Rect::new(0, 0, 80, 24);

fn line(line: u32, text: &str) -> SourcePlace {
    SourcePlace { file: "src/a.c".to_owned(), line, text: text.to_owned() }
}

fn value(name: &str, text: &str) -> Answer {
    let (name, text) = (name.to_owned(), text.to_owned());
    Answer { name, type_text: None, value: Tree::Text(text.clone()), text }
}

fn packet() -> PacketState {
    let span = |offset, len| Span { offset, len };
    let header = |name: &str, span| Header { name: name.to_owned(), span, fields: Vec::new() };
    let mut bytes = "0200000000010200000000090800".to_owned();
    bytes.push_str("4500001c00010000401100000a0000090a01000200010035000800000000");
    PacketState {
        number: 2,
        summary: String::new(),
        bytes,
        metadata: String::new(),
        headers: vec![header("eth", span(0, 14)), header("ipv4", span(14, 20))],
        changed: vec![span(11, 2)],
    }
}

fn maps() -> Vec<MapState> {
    let map = MapRef { id: 1, kind: "hash".to_owned(), name: "flows".to_owned() };
    let content = Content::One { value: Tree::Int(5) };
    let entries = vec![Entry { key: Tree::Int(7), content }];
    let flows = MapState { name: "flows".to_owned(), entries: Ok(Entries { map, entries }) };
    let absent = MapState { name: "none".to_owned(), entries: Err("was not created".to_owned()) };
    vec![flows, absent]
}

/// Before line `next` of a file with 40 lines.
fn report(next: u32, r1: &str) -> Report {
    let lines: Vec<_> =
        (1..=40).map(|number| line(number, &format!("\tline_{number}();"))).collect();
    let frame = FramePlace {
        program: "main".to_owned(),
        function: "parse".to_owned(),
        inlined: false,
        depth: 1,
        slot: 2 * next as usize,
        insn: String::new(),
        source: Some(line(next, "")),
    };
    let code = (1..=40_u32).map(|number| CodeLine {
        program: "main".to_owned(),
        function: "parse".to_owned(),
        slot: 2 * number as usize,
        insn: format!("r0 += {number}"),
        source: None,
        is_next: number == next,
    });
    let stop = Stop {
        position: Position { packet: 2, step: 9 },
        reason: Reason::Position,
        place: Some(frame.clone()),
        verdict: None,
        fault: None,
        note: None,
        log: Vec::new(),
        displays: Vec::new(),
    };
    let state = State {
        frame: 0,
        frames: vec![frame],
        arguments: Vec::new(),
        registers: vec![value("r1", r1), value("r2", "7")],
        locals: vec![value("name", "\x1b[2J\u{202e}x")],
        globals: Vec::new(),
        packet: packet(),
    };
    Report {
        object: "a.o".to_owned(),
        packets: 3,
        source: Some(Listing { file: "src/a.c".to_owned(), line: next, lines }),
        code: code.collect(),
        points: vec![point(4, "src/a.c:21")],
        overview: Overview { stop, state, maps: maps() },
    }
}

fn point(number: u32, what: &str) -> StopPoint {
    let (kind, what, enabled) = ("breakpoint", what.to_owned(), true);
    let (condition, hits, log, temporary) = (None, None, None, false);
    StopPoint { number, kind, what, condition, hits, log, temporary, enabled }
}

fn panes() -> Panes {
    let mut panes = Panes::default();
    panes.show(report(20, "1"));
    panes
}

/// The lines of the picture.
fn lines(panes: &Panes, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(panes, frame)).unwrap();
    let cells = terminal.backend().buffer().content.chunks(usize::from(width));
    let line = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    };
    cells.map(line).collect()
}

#[track_caller]
fn has(panes: &Panes, text: &str) {
    let lines = lines(panes, 80, 24);
    assert!(lines.iter().any(|line| line.contains(text)), "no `{text}` in\n{}", lines.join("\n"));
}

fn press(panes: &mut Panes, code: KeyCode) -> Effect {
    panes.key(KeyEvent::new(code, KeyModifiers::NONE), AREA)
}

/// Presses letters, which must not be commands.
#[track_caller]
fn type_text(panes: &mut Panes, text: &str) {
    for letter in text.chars() {
        assert_eq!(press(panes, KeyCode::Char(letter)), Effect::Draw, "{letter}");
    }
}

fn command(text: &str) -> Effect {
    Effect::Command(text.to_owned())
}

#[test]
fn panes_show_the_position() {
    let panes = panes();
    has(&panes, "a.o  packet 2 of 3, step 9  parse at a.c:20");
    has(&panes, "▶  20     line_20();");
    has(&panes, "●   21     line_21();");
    has(&panes, "▶  40 r0 += 20");
    has(&panes, "0008: 00 00 00 09*08*00 45 00 ipv4");
    has(&panes, "r2 = 7");
    let mut panes = panes;
    for _ in 0..4 {
        press(&mut panes, KeyCode::Tab);
    }
    has(&panes, "flows (1)");
    has(&panes, " 7: 5");
    has(&panes, "none: was not created");
}

/// A wide terminal has values and maps beside the packet.
#[test]
fn pictures_have_each_size() {
    let mut panes = panes();
    for (width, height) in [(80, 24), (40, 10), (20, 4), (1, 1), (3, 2), (300, 80), (130, 12)] {
        for code in [KeyCode::Tab, KeyCode::Char('?'), KeyCode::Esc] {
            let shown = lines(&panes, width, height);
            assert_eq!(shown.len(), usize::from(height));
            panes.key(KeyEvent::new(code, KeyModifiers::NONE), Rect::new(0, 0, width, height));
        }
    }
    let wide = lines(&panes, 160, 40);
    let both = |line: &String| line.contains(" values ") && line.contains(" maps ");
    assert!(wide.iter().any(both), "{}", wide.join("\n"));
    assert!(wide.iter().any(|line| line.contains("09*08*00 45 00 eth, ipv4")), "{wide:?}");
    // A small one has the pane that was chosen.
    let mut panes = self::panes();
    press(&mut panes, KeyCode::Tab);
    let small = lines(&panes, 40, 8);
    assert!(small.iter().any(|line| line.contains("instructions of main")), "{small:?}");
    assert!(!small.iter().any(|line| line.contains("a.c ")), "{small:?}");
}

#[test]
fn values_that_changed_are_marked() {
    let mut panes = panes();
    panes.show(report(21, "2"));
    has(&panes, "*r1 = 2");
    has(&panes, " r2 = 7");
    has(&panes, "●▶  21     line_21();");
}

#[test]
fn external_text_does_not_steer_the_terminal() {
    let mut panes = panes();
    panes.say("\x1b[2J", false);
    has(&panes, "name = \\x1b[2J\\u{202e}x");
    panes.print("a\x1b[1m\nb\u{200b}");
    has(&panes, "a\\x1b[1m");
    has(&panes, "b\\u{200b}");
    let all = lines(&panes, 80, 24).concat();
    assert!(!all.chars().any(report::text::is_hidden), "{all:?}");
}

#[test]
fn keys_become_commands() {
    let table = [
        ('s', "step"),
        ('S', "reverse-step"),
        ('n', "next"),
        ('N', "reverse-next"),
        ('f', "finish"),
        ('F', "reverse-finish"),
        ('c', "continue"),
        ('C', "reverse-continue"),
        ('i', "stepi"),
        ('I', "reverse-stepi"),
        (']', "packet +1"),
        ('[', "packet -1"),
        ('b', "break src/a.c:20"),
        ('r', "advance src/a.c:20"),
        ('R', "reverse-advance src/a.c:20"),
    ];
    for (key, expected) in table {
        assert_eq!(press(&mut panes(), KeyCode::Char(key)), command(expected), "{key}");
    }
    assert_eq!(press(&mut panes(), KeyCode::Char('q')), Effect::Quit);
    assert_eq!(press(&mut panes(), KeyCode::Char('w')), Effect::Draw);
    let mut panes = panes();
    press(&mut panes, KeyCode::Down);
    assert_eq!(press(&mut panes, KeyCode::Char('b')), command("delete 4"));
    panes.show_points(vec![StopPoint { enabled: false, ..point(4, "src/a.c:21") }]);
    has(&panes, "○");
    panes.show_points(Vec::new());
    assert_eq!(press(&mut panes, KeyCode::Char('b')), command("break src/a.c:21"));
    press(&mut panes, KeyCode::Char('.'));
    assert_eq!(press(&mut panes, KeyCode::Char('b')), command("break src/a.c:20"));
    press(&mut panes, KeyCode::Tab);
    assert_eq!(press(&mut panes, KeyCode::Char('r')), command("advance *main:40"));
}

#[test]
fn what_is_chosen_is_watched() {
    let mut panes = panes();
    press(&mut panes, KeyCode::Tab);
    press(&mut panes, KeyCode::Tab);
    assert_eq!(press(&mut panes, KeyCode::Char('w')), Effect::Draw, "a heading");
    press(&mut panes, KeyCode::End);
    assert_eq!(press(&mut panes, KeyCode::Char('w')), command("watch r2"));
    press(&mut panes, KeyCode::Tab);
    assert_eq!(press(&mut panes, KeyCode::Char('w')), command("watch eth.dst"));
    // Eight bytes in a row, so the third row begins with byte 16.
    for code in [KeyCode::Down, KeyCode::Down, KeyCode::Right] {
        press(&mut panes, code);
    }
    has(&panes, "ipv4.total_length = 28");
    assert_eq!(press(&mut panes, KeyCode::Char('w')), command("watch ipv4.total_length"));
    press(&mut panes, KeyCode::Tab);
    press(&mut panes, KeyCode::Down);
    assert_eq!(press(&mut panes, KeyCode::Char('w')), command("watch map flows[7]"));
}

#[test]
fn panes_are_searched() {
    let mut panes = panes();
    type_text(&mut panes, "/LINE_3");
    has(&panes, "/LINE_3_");
    press(&mut panes, KeyCode::Enter);
    assert_eq!(press(&mut panes, KeyCode::Char('b')), command("break src/a.c:30"));
    press(&mut panes, KeyCode::Char('/'));
    press(&mut panes, KeyCode::Enter);
    assert_eq!(press(&mut panes, KeyCode::Char('b')), command("break src/a.c:31"));
    type_text(&mut panes, "/nothing");
    press(&mut panes, KeyCode::Enter);
    has(&panes, "`nothing` was not found in this pane");
    for _ in 0..3 {
        press(&mut panes, KeyCode::Tab);
    }
    type_text(&mut panes, "/0a 01");
    press(&mut panes, KeyCode::Enter);
    has(&panes, "ipv4.dst = 10.1.0.2");
}

#[test]
fn commands_are_typed_and_recalled() {
    let mut panes = panes();
    type_text(&mut panes, ":info mapsx");
    press(&mut panes, KeyCode::Backspace);
    has(&panes, ":info maps_");
    assert_eq!(press(&mut panes, KeyCode::Enter), command("info maps"));
    type_text(&mut panes, ":q");
    assert_eq!(press(&mut panes, KeyCode::Esc), Effect::Draw);
    type_text(&mut panes, ":");
    press(&mut panes, KeyCode::Up);
    assert_eq!(press(&mut panes, KeyCode::Enter), command("info maps"));
    // A long result fills the picture until a key.
    let text: Vec<_> = (1..100).map(|number| format!("row {number}")).collect();
    panes.print(&text.join("\n"));
    has(&panes, "row 21");
    press(&mut panes, KeyCode::PageDown);
    has(&panes, "row 41");
    assert_eq!(press(&mut panes, KeyCode::Char('s')), Effect::Draw, "only closes the text");
    has(&panes, "line_20();");
    press(&mut panes, KeyCode::Char('o'));
    has(&panes, "row 21");
}

/// After a verdict the source remains; a position that could not be read is read again.
#[test]
fn ends_and_failures_are_shown() {
    let mut panes = panes();
    let mut end = report(20, "1");
    end.source = None;
    end.overview.stop.place = None;
    end.overview.stop.verdict = Some("drop");
    panes.show(end);
    has(&panes, "packet 2 of 3, step 9  verdict drop");
    has(&panes, "line_20();");
    panes.forget();
    has(&panes, "Press . to read it again");
    assert_eq!(press(&mut panes, KeyCode::Char('.')), command("info"));
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(panes.key(interrupt, AREA), Effect::Draw);
    has(&panes, "q ends the session");
}
