//! Commands of the console, named as in gdb.

use anyhow::{Context as _, Result, bail};
use runner::debug::{Direction, Expression, HitCondition, LogMessage, Motion, Place};

/// A command.
#[derive(Clone, Debug)]
pub enum Command {
    Break {
        place: Place,
        condition: Option<Expression>,
        is_temporary: bool,
    },
    /// Writes a message instead of stopping.
    Log {
        place: Place,
        message: LogMessage,
    },
    Hits {
        number: u32,
        hits: Option<HitCondition>,
    },
    Watch {
        expression: Expression,
        condition: Option<Expression>,
    },
    Condition {
        number: u32,
        condition: Option<Expression>,
    },
    /// All of them without a number.
    Delete {
        number: Option<u32>,
    },
    /// Enables these breakpoints and watchpoints, or disables them; all without a number.
    Enable {
        numbers: Vec<u32>,
        is_enabled: bool,
    },
    Move {
        motion: Motion,
        direction: Direction,
        times: u32,
    },
    Packet {
        number: u64,
    },
    /// To the next or previous packet.
    ByPacket {
        direction: Direction,
        times: u32,
    },
    Advance {
        place: Place,
        direction: Direction,
    },
    Print {
        expression: Expression,
    },
    Dump {
        offset: usize,
        len: usize,
    },
    /// Memory from a pointer on.
    Memory {
        pointer: Expression,
        len: usize,
    },
    /// All displays without an expression.
    Display {
        expression: Option<Expression>,
    },
    Undisplay {
        number: u32,
    },
    Info(Info),
    Backtrace,
    /// The chosen frame without a number.
    Frame {
        number: Option<usize>,
    },
    /// To callers, or to called functions if negative.
    FrameBy {
        callers: isize,
    },
    List {
        around: Option<Place>,
    },
    Disassemble {
        program: Option<String>,
    },
    Help {
        command: Option<String>,
    },
    Quit,
}

/// What `info` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Info {
    Position,
    Breakpoints,
    Registers,
    Locals,
    Arguments,
    Globals,
    Packet,
    Maps,
    Map(String),
    Frame,
    Displays,
}

/// A row of the help: names, arguments, what it does.
struct Row {
    names: &'static [&'static str],
    arguments: &'static str,
    what: &'static str,
}

/// Parses a line; `None` for an empty one or a comment.
pub fn parse(line: &str) -> Result<Option<Command>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // `p/x` is another spelling of `p`: numbers are shown in hex where that is usual.
    let (word, format) = word.split_once('/').unwrap_or((word, ""));
    match full_name(word)? {
        "x" => examine(format, rest.trim()).map(Some),
        name => command(name, rest.trim()).map(Some),
    }
}

fn command(name: &str, rest: &str) -> Result<Command> {
    if let Some((motion, direction)) = motion(name) {
        return Ok(Command::Move { motion, direction, times: times(rest)? });
    }
    Ok(match name {
        "break" | "tbreak" => {
            let (place, condition) = conditional(rest)?;
            let is_temporary = name == "tbreak";
            Command::Break { place: place.parse()?, condition, is_temporary }
        }
        "dprintf" => log(rest)?,
        "hits" => {
            let (number, hits) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let hits = optional(hits).map(|hits| hits.parse()).transpose()?;
            Command::Hits { number: self::number(number)?, hits }
        }
        "ignore" => {
            let (number, times) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let hits = Some(HitCondition::after(self::number(times.trim())?));
            Command::Hits { number: self::number(number)?, hits }
        }
        "watch" => {
            let (expression, condition) = conditional(rest)?;
            Command::Watch { expression: expression.parse()?, condition }
        }
        "condition" => {
            let (number, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let rest = rest.trim();
            let rest = rest.strip_prefix("if ").unwrap_or(rest);
            let condition = if rest.is_empty() { None } else { Some(rest.parse()?) };
            Command::Condition { number: self::number(number)?, condition }
        }
        "delete" if rest.is_empty() => Command::Delete { number: None },
        "delete" => Command::Delete { number: Some(number(rest)?) },
        "enable" | "disable" => enable(rest, name == "enable")?,
        "packet" if rest.starts_with(['+', '-']) => {
            let direction = match rest.starts_with('+') {
                true => Direction::Forward,
                false => Direction::Backward,
            };
            Command::ByPacket { direction, times: times(rest[1..].trim())? }
        }
        "advance" => Command::Advance { place: rest.parse()?, direction: Direction::Forward },
        "reverse-advance" => {
            Command::Advance { place: rest.parse()?, direction: Direction::Backward }
        }
        "packet" => Command::Packet { number: number(rest)? },
        "print" => Command::Print { expression: rest.parse()? },
        "until" if !rest.is_empty() => {
            Command::Advance { place: rest.parse()?, direction: Direction::Forward }
        }
        "until" => Command::Move { motion: Motion::Until, direction: Direction::Forward, times: 1 },
        "display" => {
            Command::Display { expression: optional(rest).map(|text| text.parse()).transpose()? }
        }
        "undisplay" => Command::Undisplay { number: number(rest)? },
        "info" => Command::Info(info(rest)?),
        "backtrace" => Command::Backtrace,
        "frame" => Command::Frame { number: optional(rest).map(|text| number(&text)).transpose()? },
        "up" => Command::FrameBy { callers: times(rest)? as isize },
        "down" => Command::FrameBy { callers: -(times(rest)? as isize) },
        "list" if rest.is_empty() => Command::List { around: None },
        "list" => Command::List { around: Some(rest.parse()?) },
        "disassemble" => Command::Disassemble { program: optional(rest) },
        "help" => Command::Help { command: optional(rest) },
        _ => Command::Quit,
    })
}

/// Numbers of breakpoints and watchpoints.
fn enable(rest: &str, is_enabled: bool) -> Result<Command> {
    let numbers = rest.split_whitespace().map(number).collect::<Result<_>>()?;
    Ok(Command::Enable { numbers, is_enabled })
}

/// `PLACE,MESSAGE`.
fn log(rest: &str) -> Result<Command> {
    let (place, message) = rest.split_once(',').context("expected PLACE,MESSAGE")?;
    let message = message.trim();
    let quoted = message.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let message = quoted.unwrap_or(message).parse()?;
    Ok(Command::Log { place: place.parse()?, message })
}

/// `x OFFSET LENGTH` of the packet, or as in gdb `x/16xb POINTER`: a number of units of 1, 2, 4 or
/// 8 bytes, which `b`, `h`, `w` and `g` name.
fn examine(format: &str, rest: &str) -> Result<Command> {
    let mut words = rest.split_whitespace();
    let first = words.next().unwrap_or("0");
    if format.is_empty() && first.starts_with(|digit: char| digit.is_ascii_digit()) {
        let len = words.next().map(number).transpose()?.unwrap_or(usize::MAX);
        return Ok(Command::Dump { offset: number(first)?, len });
    }
    let letters = format.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let units = match &format[..format.len() - letters.len()] {
        "" if format.is_empty() => EXAMINED,
        "" => 1,
        digits => number(digits)?,
    };
    let mut size = 1;
    for letter in letters.chars() {
        size = match letter {
            'b' => 1,
            'h' => 2,
            'w' => 4,
            'g' => 8,
            'x' => size,
            other => bail!("`{other}` is not supported: x/16xb shows bytes"),
        };
    }
    Ok(Command::Memory { pointer: rest.parse()?, len: units.saturating_mul(size) })
}

fn motion(name: &str) -> Option<(Motion, Direction)> {
    let (name, direction) = match name.strip_prefix("reverse-") {
        Some(name) => (name, Direction::Backward),
        None => (name, Direction::Forward),
    };
    let motion = match name {
        "step" => Motion::Step,
        "next" => Motion::Next,
        "finish" => Motion::Finish,
        "continue" => Motion::Continue,
        "stepi" => Motion::Instruction,
        _ => return None,
    };
    Some((motion, direction))
}

fn info(rest: &str) -> Result<Info> {
    let (word, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if word == "map" && !name.trim().is_empty() {
        return Ok(Info::Map(name.trim().to_owned()));
    }
    let found = INFO.iter().find(|(known, _)| !word.is_empty() && known.starts_with(word));
    match (word, found) {
        ("", _) => Ok(Info::Position),
        (_, Some((_, info))) => Ok(info.clone()),
        _ => bail!(
            "unknown subject `{word}`; expected breakpoints, registers, locals, args, globals, \
             packet, maps, map NAME, frame or display"
        ),
    }
}

/// `PLACE if CONDITION`.
fn conditional(text: &str) -> Result<(&str, Option<Expression>)> {
    match text.split_once(" if ") {
        Some((what, condition)) => Ok((what.trim(), Some(condition.parse()?))),
        None => Ok((text, None)),
    }
}

fn optional(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn times(text: &str) -> Result<u32> {
    match text {
        "" => Ok(1),
        text => match number(text)? {
            times @ 1..=TIMES => Ok(times),
            _ => bail!("a motion is repeated 1 to {TIMES} times"),
        },
    }
}

fn number<T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    text: &str,
) -> Result<T> {
    text.parse().with_context(|| format!("`{text}` is not a valid number"))
}

/// The whole name of a command, of which a beginning that no other has is enough.
fn full_name(word: &str) -> Result<&'static str> {
    let rows = || COMMANDS.iter();
    if let Some(row) = rows().find(|row| row.names.contains(&word)) {
        return Ok(row.names[0]);
    }
    let begins: Vec<_> =
        rows().map(|row| row.names[0]).filter(|name| name.starts_with(word)).collect();
    match begins.as_slice() {
        [only] => Ok(only),
        [] => bail!("unknown command `{word}`; `help` lists the commands"),
        several => bail!("`{word}` is ambiguous: {}", several.join(", ")),
    }
}

/// The help for all commands, or for one.
pub fn help(command: Option<&str>) -> Result<String> {
    let wanted = command.map(full_name).transpose()?;
    let rows = COMMANDS.iter().filter(|row| wanted.is_none_or(|name| row.names[0] == name));
    let lines = rows.map(|row| {
        let call = format!("{} {}", row.names.join(", "), row.arguments);
        format!("{:HELP$} {}", call.trim_end(), row.what)
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

const fn row(names: &'static [&'static str], arguments: &'static str, what: &'static str) -> Row {
    Row { names, arguments, what }
}

const COMMANDS: &[Row] = &[
    row(
        &["break", "b"],
        "PLACE [if EXPRESSION]",
        "stop at a place: FILE:LINE, LINE, FUNCTION, \
        *SLOT, map NAME, verdict NAME, fault",
    ),
    row(&["tbreak"], "PLACE [if EXPRESSION]", "stop at a place once"),
    row(&["dprintf"], "PLACE,MESSAGE", "write a message with {EXPRESSION} instead of stopping"),
    row(&["hits"], "N [COUNT]", "stop at hit COUNT alone; also > 5, % 5: each fifth"),
    row(&["ignore"], "N COUNT", "do not stop at the first COUNT hits in the capture"),
    row(&["watch"], "EXPRESSION [if EXPRESSION]", "stop where a value changes"),
    row(&["condition"], "N [EXPRESSION]", "set or remove the condition of a breakpoint"),
    row(&["delete", "d"], "[N]", "delete a breakpoint or watchpoint, or all of them"),
    row(&["disable"], "[N]...", "keep breakpoints and watchpoints without effect; all without N"),
    row(&["enable"], "[N]...", "enable breakpoints and watchpoints again; all without N"),
    row(
        &["info", "i"],
        "[SUBJECT]",
        "show breakpoints, registers, locals, args, globals, packet, \
        maps, map NAME, frame, display",
    ),
    row(&["step", "s"], "[N]", "go to another source line, also of a function that is called"),
    row(&["next", "n"], "[N]", "go to another source line of this function"),
    row(&["until"], "[PLACE]", "go to a later source line of this function, or as advance"),
    row(&["finish", "fin"], "[N]", "run until the function has returned"),
    row(&["continue", "c"], "[N]", "run to a breakpoint, or to the end of the capture"),
    row(&["stepi", "si"], "[N]", "run one instruction"),
    row(&["reverse-step", "rs"], "[N]", "go back to another source line"),
    row(&["reverse-next", "rn"], "[N]", "go back to another source line of this function"),
    row(&["reverse-finish", "rf"], "[N]", "go back to the call of the function"),
    row(&["reverse-continue", "rc"], "[N]", "go back to a breakpoint, or to the first packet"),
    row(&["reverse-stepi", "rsi"], "[N]", "undo one instruction"),
    row(&["advance"], "PLACE", "run to a place, or to a breakpoint before it"),
    row(&["reverse-advance"], "PLACE", "go back to a place, or to a breakpoint before it"),
    row(&["packet"], "N", "go to the beginning of packet N, or N packets on or back: +N, -N"),
    row(
        &["print", "p"],
        "EXPRESSION",
        "show a value: r1, packet[14:4], ipv4.src, map NAME[KEY], \
        a variable",
    ),
    row(&["x"], "[OFFSET [LENGTH]]", "show bytes of the packet; x/16 POINTER: of memory"),
    row(&["display"], "[EXPRESSION]", "show a value at each stop"),
    row(&["undisplay"], "N", "do not show it any more"),
    row(&["backtrace", "bt", "where"], "", "show the active functions"),
    row(&["frame", "f"], "[N]", "choose a function of the backtrace, whose variables are shown"),
    row(&["up"], "[N]", "choose the caller"),
    row(&["down"], "[N]", "choose the called function"),
    row(&["list", "l"], "[PLACE]", "show source lines"),
    row(&["disassemble", "disas"], "[PROGRAM]", "show instructions"),
    row(&["help", "h"], "[COMMAND]", "show this help"),
    row(&["quit", "q", "exit"], "", "end the session"),
];

const INFO: &[(&str, Info)] = &[
    ("breakpoints", Info::Breakpoints),
    ("registers", Info::Registers),
    ("locals", Info::Locals),
    ("args", Info::Arguments),
    ("globals", Info::Globals),
    ("packet", Info::Packet),
    ("maps", Info::Maps),
    ("watchpoints", Info::Breakpoints),
    ("frame", Info::Frame),
    ("display", Info::Displays),
];
/// Bytes of memory that are shown without a number.
const EXAMINED: usize = 64;
/// Columns of commands in the help.
const HELP: usize = 38;
/// How often a motion is repeated by one command.
const TIMES: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_beginnings_are_accepted() {
        let table = [
            ("b", Ok("break")),
            ("rc", Ok("reverse-continue")),
            ("reverse-s", Err("ambiguous: reverse-step, reverse-stepi")),
            ("disas", Ok("disassemble")),
            ("dis", Err("ambiguous: disable, display, disassemble")),
            ("en", Ok("enable")),
            ("step", Ok("step")),
            ("wat", Ok("watch")),
            ("jump", Err("unknown command `jump`")),
        ];
        for (word, expected) in table {
            match (full_name(word), expected) {
                (Ok(name), Ok(expected)) => assert_eq!(name, expected, "{word}"),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{word}: {error}");
                }
                (found, _) => panic!("{word}: {found:?}"),
            }
        }
    }

    #[test]
    fn lines_become_commands() {
        let parsed = parse("break x.c:3 if r1 == 2").unwrap().unwrap();
        assert!(matches!(parsed, Command::Break { condition: Some(_), .. }));
        assert!(parse("  ").unwrap().is_none() && parse("# comment").unwrap().is_none());
        assert!(matches!(
            parse("rs 3").unwrap(),
            Some(Command::Move { motion: Motion::Step, direction: Direction::Backward, times: 3 })
        ));
        assert!(matches!(parse("info reg").unwrap(), Some(Command::Info(Info::Registers))));
        for line in ["info nothing", "step 0", "step x", "break", "packet", "condition x", "p 1 +"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(help(None).unwrap().lines().count() == COMMANDS.len());
        assert!(help(Some("b")).unwrap().starts_with("break, b PLACE"));
    }
}
