//! Conditional jumps, in all four forms, forward and back: taken and not.

use super::Files;
use super::layout::{Block, Body, all_pairs, all_singles};
use super::values::{IMMEDIATES, Width};

const CONDITIONS: &[&str] =
    &["jeq", "jne", "jgt", "jge", "jlt", "jle", "jset", "jsgt", "jsge", "jslt", "jsle"];

pub fn cases(files: &mut Files) {
    for condition in CONDITIONS {
        for width in Width::ALL {
            let mnemonic = format!("{condition}{}", width.suffix());
            let name = format!("everywhere/jumps/{condition}{}", width.bits());
            let values = width.values();
            for direction in [FORWARD, BACK] {
                let jump = format!("ldxdw %r4, [%r9+0]\n{mnemonic} %r3, %r4, taken");
                let (body, Direction { title, end, .. }) = (body(&jump, "", direction), direction);
                let title = format!("{mnemonic} {title} with registers");
                let expected = |a, b| vec![u8::from(holds(condition, width, a, b))];
                for (list, text) in all_pairs(&title, values, values, &body, expected) {
                    files.insert(format!("{name}-reg{end}{list}.data"), text);
                }
                let title = format!("{mnemonic} {} with immediates", direction.title);
                let block = |imm: &i32| block(condition, width, *imm, direction);
                let blocks: Vec<Block> = IMMEDIATES.iter().map(block).collect();
                for (list, text) in all_singles(&title, values, &blocks) {
                    files.insert(format!("{name}-imm{end}{list}.data"), text);
                }
            }
        }
    }
}

fn block(condition: &'static str, width: Width, imm: i32, direction: Direction) -> Block {
    let body = body(&format!("{condition}{} %r3, {imm}, taken@", width.suffix()), "@", direction);
    let b = i64::from(imm).cast_unsigned();
    (body, Box::new(move |a| vec![u8::from(holds(condition, width, a, b))]))
}

/// Where a jump goes.
#[derive(Clone, Copy, Debug)]
struct Direction {
    title: &'static str,
    /// A part of the name of its cases.
    end: &'static str,
    is_back: bool,
}

const FORWARD: Direction = Direction { title: "forward", end: "", is_back: false };
const BACK: Direction = Direction { title: "back", end: "-back", is_back: true };

/// `jump` goes to `taken` if r3 satisfies it.
fn body(jump: &str, number: &str, direction: Direction) -> Body {
    let load = "ldxb %r5, [%r6+0]\nldxdw %r3, [%r8+0]\n";
    let not_taken = format!("{jump}\njne %r5, 0, wrong\nja on{number}\n");
    let taken = format!("taken{number}:\njne %r5, 1, wrong\n");
    let text = match direction.is_back {
        false => format!("{load}{not_taken}{taken}on{number}:\n"),
        true => format!(
            "{load}ja test{number}\n{taken}ja on{number}\ntest{number}:\n{not_taken}on{number}:\n"
        ),
    };
    Body { text, row: 1 }
}

fn holds(condition: &str, width: Width, a: u64, b: u64) -> bool {
    let (x, y) = (width.unsigned(a), width.unsigned(b));
    let (signed_x, signed_y) = (width.signed(a), width.signed(b));
    match condition {
        "jeq" => x == y,
        "jne" => x != y,
        "jgt" => x > y,
        "jge" => x >= y,
        "jlt" => x < y,
        "jle" => x <= y,
        "jset" => x & y != 0,
        "jsgt" => signed_x > signed_y,
        "jsge" => signed_x >= signed_y,
        "jslt" => signed_x < signed_y,
        "jsle" => signed_x <= signed_y,
        _ => unreachable!("`{condition}` is in no table"),
    }
}
