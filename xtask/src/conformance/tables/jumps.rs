//! Conditional jumps, in all four forms: taken and not.

use super::Files;
use super::layout::{Block, Body, pairs, singles};
use super::values::{IMMEDIATES, Width};

const CONDITIONS: &[&str] =
    &["jeq", "jne", "jgt", "jge", "jlt", "jle", "jset", "jsgt", "jsge", "jslt", "jsle"];

pub fn cases(files: &mut Files) {
    for condition in CONDITIONS {
        for width in Width::ALL {
            let mnemonic = format!("{condition}{}", width.suffix());
            let name = format!("everywhere/jumps/{condition}{}", width.bits());
            let body = body(&format!("ldxdw %r4, [%r9+0]\n{mnemonic} %r3, %r4, taken"), "");
            let title = format!("{mnemonic} with registers");
            let values = width.values();
            let text = pairs(&title, values, values, &body, |a, b| {
                vec![u8::from(holds(condition, width, a, b))]
            });
            files.insert(format!("{name}-reg.data"), text);
            let title = format!("{mnemonic} with immediates");
            let blocks: Vec<Block> =
                IMMEDIATES.iter().map(|imm| block(condition, width, *imm)).collect();
            files.insert(format!("{name}-imm.data"), singles(&title, values, &blocks));
        }
    }
}

fn block(condition: &'static str, width: Width, imm: i32) -> Block {
    let body = body(&format!("{condition}{} %r3, {imm}, taken@", width.suffix()), "@");
    let b = i64::from(imm).cast_unsigned();
    (body, Box::new(move |a| vec![u8::from(holds(condition, width, a, b))]))
}

/// `jump` goes to `taken` if r3 fulfils it.
fn body(jump: &str, number: &str) -> Body {
    let text = format!(
        "ldxb %r5, [%r6+0]\nldxdw %r3, [%r8+0]\n{jump}\njne %r5, 0, wrong\nja on{number}\n\
         taken{number}:\njne %r5, 1, wrong\non{number}:\n"
    );
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
