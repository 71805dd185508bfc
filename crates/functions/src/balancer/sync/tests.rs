//! The protocol without a socket: what is refused, what is merged, and what is sent.

use std::cell::Cell;

use proptest::prelude::*;

use super::super::memory;
use super::wire::*;
use super::*;

const NOW: u64 = 5000 * UNIT;
/// Between two ages of a flow.
const UNIT: u64 = 1 << memory::NOTE_BITS;

fn key(secret: &str) -> Key {
    Key::new(secret.as_bytes()).unwrap()
}

fn own_key() -> Key {
    key("0123456789abcdef")
}

/// Cells that only the test changes.
struct Memory(Vec<Cell<u64>>);

impl Memory {
    fn new(lines: usize) -> Self {
        Self(vec![Cell::new(0); lines * WAYS])
    }

    fn flows(&self) -> Vec<Flow> {
        self.0.iter().filter_map(|cell| Flow::of(cell.get(), NOW)).collect()
    }
}

impl CellMemory for Memory {
    fn lines(&self) -> u32 {
        (self.0.len() / WAYS) as u32
    }

    fn read(&self, line: u32, way: usize) -> u64 {
        self.0[line as usize * WAYS + way].get()
    }

    fn replace(&self, line: u32, way: usize, old: u64, new: u64) -> bool {
        let cell = &self.0[line as usize * WAYS + way];
        cell.get() == old && {
            cell.set(new);
            true
        }
    }
}

const fn flow(tag: u32, backend: u16, kind: u8, age: u16) -> Flow {
    Flow { tag, backend, kind, age }
}

fn put(memory: &Memory, flow: Flow) -> Merged {
    merge(memory, 0, flow, NOW).0
}

#[test]
fn messages_are_read_as_they_were_written() {
    let name = |last| Name { service: 7, address: [last; 16] };
    let mut cells = Cells { id: 3, lines: 64, ..Cells::default() };
    let entry = |n: u32| CellEntry { line: n % 64, tag: n, kind: 3, age: 16383, backend: 0 };
    let pushed = (0..).take_while(|n| cells.push(name((n % 3) as u8), entry(*n))).count();
    assert_eq!(cells.backends.len(), 3);
    assert_eq!(pushed, (LARGEST - 32 - 16 - 12 - 60) / 12);
    let mut history = History { id: 4, ..History::default() };
    let slots = (0..).take_while(|n| history.push(*n, name((n % 2) as u8))).count();
    assert_eq!(slots, (LARGEST - 32 - 16 - 12 - 40) / 4);
    let messages = [
        Message::Hello(Hello { challenge: 1, echo: 2, lines: 32 }),
        Message::Want(Want { id: 1, what: Item::Cells { line: 9 } }),
        Message::Want(Want { id: 1, what: Item::History { service: 5, slot: 65535, digest: 1 } }),
        Message::Cells(cells),
        Message::History(history),
        Message::End(End { id: 1, next: DONE, datagrams: 3 }),
    ];
    let header = Header { sender: 1, receiver: 2, sequence: 3 };
    for message in messages {
        let bytes = seal(&own_key(), header, &message);
        assert!(bytes.len() <= LARGEST);
        assert_eq!(open(&own_key(), &bytes), Ok((header, message)));
    }
}

#[test]
fn datagrams_that_differ_in_a_byte_or_the_key_are_refused() {
    let header = Header { sender: 1, receiver: 2, sequence: 3 };
    let message = Message::Want(Want { id: 1, what: Item::Cells { line: 9 } });
    let bytes = seal(&own_key(), header, &message);
    assert_eq!(open(&key("0123456789abcdeg"), &bytes), Err(Refused::Tag));
    for length in 0..bytes.len() {
        assert_eq!(open(&own_key(), &bytes[..length]), Err(Refused::Length), "{length}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let refused = open(&own_key(), &changed).unwrap_err();
        let expected = match at {
            0 => Refused::Version,
            2 | 3 => Refused::Length,
            _ => Refused::Tag,
        };
        assert_eq!(refused, expected, "{at}");
    }
    assert!(Key::new(b"short\n\n\n\n\n\n\n\n\n\n\n\n\n\n").is_err());
}

#[test]
fn authentic_nonsense_is_malformed() {
    let header = Header { sender: 1, receiver: 2, sequence: 3 };
    let cells = |lines, line, backend| {
        let entry = CellEntry { line, tag: 1, kind: 1, age: 1, backend };
        let backends = vec![Name { service: 1, address: [1; 16] }];
        Message::Cells(Cells { id: 0, lines, backends, cells: vec![entry] })
    };
    let hello = |lines| Message::Hello(Hello { challenge: 1, echo: 0, lines });
    for message in [cells(8, 8, 0), cells(8, 7, 1), cells(7, 1, 0), cells(0, 0, 0), hello(1 << 23)]
    {
        assert_eq!(open(&own_key(), &seal(&own_key(), header, &message)), Err(Refused::Malformed));
    }
    assert!(open(&own_key(), &seal(&own_key(), header, &cells(8, 7, 0))).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Some((header, message)) = read(&bytes) {
            let again = seal(&own_key(), header, &message);
            prop_assert_eq!(open(&own_key(), &again), Ok((header, message)));
        }
    }
}

#[test]
fn a_window_admits_each_number_once() {
    let mut window = super::window::Window::starting(1000);
    assert!(!window.admit(1000) && !window.admit(999));
    assert!(window.admit(1003) && window.admit(1001) && !window.admit(1001));
    assert_eq!(window.missing(), 1);
    assert!(window.admit(1002));
    assert_eq!(window.missing(), 0);
    assert!(window.admit(1200) && window.admit(1073) && !window.admit(1072));
    assert!(window.admit(u64::MAX) && !window.admit(u64::MAX) && !window.admit(1200));
}

/// Two processes, and the datagrams between them.
struct Pair([Session; 2]);

impl Pair {
    fn joined() -> Self {
        let mut pair = Self([Session::new(11, 101), Session::new(22, 202)]);
        let hello = pair.0[0].hello(&own_key(), 8, None);
        let Ok(Accepted::Unknown(answer)) = pair.give(1, &hello) else { panic!() };
        let hello = pair.0[1].hello(&own_key(), 8, Some(answer));
        let Ok(Accepted::Joined(answer)) = pair.give(0, &hello) else { panic!() };
        let hello = pair.0[0].hello(&own_key(), 8, Some(answer));
        assert!(matches!(pair.give(1, &hello), Ok(Accepted::Joined(_))));
        pair
    }

    fn give(&mut self, to: usize, datagram: &[u8]) -> Result<Accepted, Refused> {
        let (header, message) = open(&own_key(), datagram)?;
        self.0[to].accept(&header, &message, 303)
    }

    fn news(&mut self, from: usize) -> Vec<u8> {
        let news = Message::End(End { id: 0, next: 0, datagrams: 0 });
        self.0[from].seal(&own_key(), &news)
    }
}

#[test]
fn what_was_sent_before_is_refused_in_each_later_session() {
    let mut pair = Pair::joined();
    let news = pair.news(0);
    assert_eq!(pair.give(1, &news), Ok(Accepted::Fresh));
    assert_eq!(pair.give(1, &news), Err(Refused::Replayed));
    assert_eq!(pair.give(0, &news), Err(Refused::Reflected));
    let late = pair.news(0);
    // The receiver begins again: what was for its former process is not for it.
    let former = std::mem::replace(&mut pair.0[1], Session::new(33, 404));
    assert_eq!(pair.give(1, &late), Err(Refused::Session));
    pair.0[1] = former;
    // The sender begins again. A hello of its former process is answered with a challenge, which
    // that process does not exist to answer; its news are refused.
    let hello = pair.0[0].hello(&own_key(), 8, None);
    pair.0[0] = Session::new(44, 505);
    let first = pair.0[0].hello(&own_key(), 8, None);
    let Ok(Accepted::Unknown(answer)) = pair.give(1, &first) else { panic!() };
    let answer = pair.0[1].hello(&own_key(), 8, Some(answer));
    let Ok(Accepted::Joined(answer)) = pair.give(0, &answer) else { panic!() };
    let answer = pair.0[0].hello(&own_key(), 8, Some(answer));
    assert!(matches!(pair.give(1, &answer), Ok(Accepted::Joined(_))));
    assert_eq!(pair.give(1, &late), Err(Refused::Session));
    assert!(matches!(pair.give(1, &hello), Ok(Accepted::Unknown(_))));
    assert!(matches!(pair.give(1, &answer), Err(Refused::Replayed)));
    let news = pair.news(0);
    assert_eq!(pair.give(1, &news), Ok(Accepted::Fresh), "the session is what it was");
}

#[test]
fn lost_datagrams_are_known_at_the_second_hello() {
    let mut pair = Pair::joined();
    let _lost = pair.news(0);
    let late = pair.news(0);
    for expected in [0, 1] {
        let hello = pair.0[0].hello(&own_key(), 8, None);
        assert_eq!(pair.give(1, &hello), Ok(Accepted::Fresh));
        if expected == 0 {
            assert_eq!(pair.give(1, &late), Ok(Accepted::Fresh), "reordered, not lost");
        }
        assert_eq!(pair.0[1].lost(), expected);
    }
}

#[test]
fn flows_merge_by_kind_and_time() {
    let memory = Memory::new(1);
    assert_eq!(put(&memory, flow(1, 5, YOUNG, 10)), Merged::Inserted);
    assert_eq!(put(&memory, flow(1, 5, YOUNG, 9)), Merged::Known, "within the phase of clocks");
    assert_eq!(put(&memory, flow(1, 5, FLOW, 12)), Merged::Renewed, "it is established");
    assert_eq!(memory.flows(), [flow(1, 5, FLOW, 10)]);
    assert_eq!(put(&memory, flow(1, 5, YOUNG, 10)), Merged::Known, "and remains it");
    assert_eq!(put(&memory, flow(1, 6, FLOW, 9)), Merged::Conflict);
    assert_eq!(put(&memory, flow(1, 6, FLOW, 3)), Merged::Renewed, "the later one is right");
    assert_eq!(memory.flows(), [flow(1, 6, FLOW, 3)]);
    assert_eq!(put(&memory, flow(1, 6, 2, 3)), Merged::Inserted, "datagrams are other flows");
    assert_eq!(put(&memory, flow(2, 6, FLOW, 1677)), Merged::Old);
    assert_eq!(put(&memory, flow(2, 6, YOUNG, 31)), Merged::Old);
}

#[test]
fn a_full_line_gives_up_notes_then_young_flows_and_no_connection() {
    let memory = Memory::new(1);
    for tag in 0..6 {
        assert_eq!(put(&memory, flow(tag, 1, FLOW, 100)), Merged::Inserted);
    }
    put(&memory, flow(6, 1, YOUNG, 20));
    put(&memory, flow(7, 1, NOTE, 0));
    assert_eq!(put(&memory, flow(8, 1, YOUNG, 0)), Merged::Inserted);
    let has = |tag: u32| memory.flows().iter().any(|one| one.tag == tag);
    assert!(!has(7) && has(6), "a note before a young flow");
    assert_eq!(put(&memory, flow(9, 1, FLOW, 0)), Merged::Inserted);
    assert!(!has(6) && has(8), "the young flow that was used least recently");
    assert_eq!(put(&memory, flow(10, 1, FLOW, 0)), Merged::Inserted);
    for kind in [NOTE, FLOW, 2, YOUNG] {
        assert_eq!(put(&memory, flow(11, 1, kind, 0)), Merged::NoCell);
    }
    assert!((0..6).all(has));
}

#[test]
fn lines_of_memories_of_other_sizes() {
    let lines = |line, lines, here| copies(line, lines, here).collect::<Vec<_>>();
    assert_eq!(lines(5, 8, 8), [5]);
    assert_eq!(lines(5, 8, 4), [1]);
    assert_eq!(lines(1, 4, 16), [1, 5, 9, 13]);
    for line in 0..16 {
        assert!(lines(line & 3, 4, 16).contains(&line), "the line is among the copies");
    }
}

#[test]
fn only_changes_are_sent_and_never_back() {
    let (memory, mut news) = (Memory::new(2), News::new(2));
    let sent = |news: &mut News, now| {
        let mut sent = Vec::new();
        assert!(news.scan(&memory, now, |line, flow| {
            sent.push((line, flow.tag));
            true
        }));
        sent
    };
    merge(&memory, 0, flow(1, 5, YOUNG, 0), NOW);
    merge(&memory, 1, flow(2, 5, NOTE, 0), NOW);
    let (_, place) = merge(&memory, 1, flow(3, 5, FLOW, 0), NOW);
    let (way, cell) = place.unwrap();
    news.heard(1, way, cell);
    assert_eq!(sent(&mut news, NOW), [(0, 1)], "neither notes nor a peer's");
    assert_eq!(sent(&mut news, NOW), []);
    memory.0[0].set(flow(1, 5, FLOW, 0).cell(NOW + UNIT));
    assert_eq!(sent(&mut news, NOW + UNIT), [(0, 1)], "it is established");
    memory.0[0].set(flow(1, 5, FLOW, 0).cell(NOW + 100 * UNIT));
    assert_eq!(sent(&mut news, NOW + 100 * UNIT), [], "still used");
    memory.0[0].set(flow(1, 5, FLOW, 0).cell(NOW + 130 * UNIT));
    assert_eq!(sent(&mut news, NOW + 130 * UNIT), [(0, 1)], "renewed in time");
    let mut fresh = News::new(2);
    assert!(!fresh.scan(&memory, NOW + 130 * UNIT, |_, _| false), "no space");
    assert_eq!(sent(&mut fresh, NOW + 130 * UNIT), [(0, 1), (1, 3)], "nothing was left out");
}
