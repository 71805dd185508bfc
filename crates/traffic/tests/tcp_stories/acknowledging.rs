//! The receiver alone: when it acknowledges, and which blocks it reports.

use crate::tcp_sim::connection::{Connection, Manner, Reader, State};
use crate::tcp_sim::options::Options;
use crate::tcp_sim::segment::{ACK, FIN, PSH, SYN, Segment};
use crate::tcp_sim::{MS, tiny};

/// A segment of the sender; `start` counts from its SYN.
fn segment(start: u32, flags: u8, length: usize) -> Segment {
    Segment {
        seq: FIRST.wrapping_add(start),
        ack: if flags & SYN == 0 { Manner::default().first + 1 } else { 0 },
        flags,
        payload: vec![0; length],
        ..tiny::example()
    }
}

fn opened(manner: Manner) -> Connection {
    let options =
        Options { mss: Some(1460), scale: Some(0), sack_permitted: true, ..Options::default() };
    let syn = Segment { options, ..segment(0, SYN, 0) };
    let mut connection = Connection::accept(&manner, &syn, 0);
    assert_eq!(connection.take(&syn, 0)[0].flags, SYN | ACK);
    assert_eq!(connection.take(&segment(1, ACK, 0), 0), []);
    assert_eq!(connection.state, State::Established);
    connection
}

/// The acknowledged position of each answer, and its blocks, as positions.
fn told(answers: &[Segment]) -> Vec<(u32, Vec<(u32, u32)>)> {
    let at = |seq: u32| seq.wrapping_sub(FIRST);
    let one = |answer: &Segment| {
        let blocks = answer.options.sack.iter().map(|(left, right)| (at(*left), at(*right)));
        (at(answer.ack), blocks.collect())
    };
    answers.iter().map(one).collect()
}

#[test]
fn each_second_segment_is_acknowledged_and_a_single_one_after_a_while() {
    let mut connection = opened(Manner::default());
    assert_eq!(connection.take(&segment(1, ACK, 100), MS), []);
    assert_eq!(connection.due(), Some(41 * MS));
    assert_eq!(told(&connection.take(&segment(101, ACK, 100), MS)), [(201, vec![])]);
    assert_eq!(connection.due(), None);
    assert_eq!(connection.take(&segment(201, ACK, 100), 2 * MS), []);
    assert_eq!(told(&connection.tick(42 * MS)), [(301, vec![])]);
}

#[test]
fn blocks_report_the_latest_range_first() {
    let mut connection = opened(Manner::default());
    let mut take = |start| told(&connection.take(&segment(start, ACK, 100), MS));
    assert_eq!(take(101), [(1, vec![(101, 201)])]);
    assert_eq!(take(301), [(1, vec![(301, 401), (101, 201)])]);
    assert_eq!(take(501), [(1, vec![(501, 601), (301, 401), (101, 201)])]);
    assert_eq!(take(201), [(1, vec![(101, 401), (501, 601)])]);
    assert_eq!(take(201), [(1, vec![(201, 301), (101, 401), (501, 601)])], "it came twice");
    assert_eq!(take(1), [(401, vec![(501, 601)])]);
    assert_eq!(take(1), [(401, vec![(1, 101), (501, 601)])], "it came twice");
    assert_eq!(take(401), [(601, vec![])]);
}

#[test]
fn the_end_is_in_order() {
    let mut connection = opened(Manner::default());
    assert_eq!(told(&connection.take(&segment(101, ACK | FIN, 0), MS)), [(1, vec![(101, 102)])]);
    let answers = connection.take(&segment(1, ACK | PSH, 100), MS);
    assert_eq!(told(&answers), [(102, vec![]), (102, vec![])]);
    assert_eq!((answers[0].flags, answers[1].flags), (ACK, FIN | ACK));
    assert_eq!((connection.state, connection.bytes()), (State::LastAck, 100));
    assert_eq!(connection.tick(MS + connection.due().unwrap())[0].flags, FIN | ACK);
    let last = Segment { ack: Manner::default().first + 2, ..segment(102, ACK, 0) };
    assert_eq!(connection.take(&last, 2 * MS), []);
    assert!(connection.is_over() && connection.complaints.is_empty());
}

#[test]
fn the_window_closes_and_opens_in_time() {
    let reader = Reader::Pause(1, 50 * MS);
    let manner = Manner { buffer: 2000, reader, scale: None, ack_delay: None, ..Manner::default() };
    let mut connection = opened(manner);
    let windows = |answers: Vec<Segment>| -> Vec<u16> {
        answers.iter().map(|answer| answer.window).collect()
    };
    assert_eq!(windows(connection.take(&segment(1, ACK, 1000), MS)), [1000]);
    assert_eq!(windows(connection.take(&segment(1001, ACK, 1000), MS)), [0]);
    assert_eq!(windows(connection.take(&segment(2001, ACK, 1), MS)), [0], "a probe");
    assert_eq!(connection.due(), Some(50 * MS));
    assert_eq!(windows(connection.tick(50 * MS)), [2000]);
    assert!(connection.complaints.is_empty(), "{:?}", connection.complaints);
    connection.take(&segment(2001, ACK, 2001), 50 * MS);
    assert_eq!(connection.complaints.len(), 1, "beyond the window");
}

const FIRST: u32 = 0xffff_ff00;
