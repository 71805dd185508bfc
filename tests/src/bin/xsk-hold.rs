//! `xsk-hold INTERFACE QUEUE [--frames N] [--send] [--bare]`: a process with an AF_XDP socket.
//!
//! Prints `bound`, or `refused: ` and why. Then it holds the socket until its input ends or it is
//! killed; with `--send` it transmits all the while. `--bare` attaches no program.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a tool for tests, which see it fail")]
#![allow(clippy::print_stdout)]

use std::io::{Read, stdin};
use std::process::ExitCode;
use std::thread;

use xsk::{Interface, SendError, Socket, Umem};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let frames = words.iter().position(|word| word == "--frames").map(|at| words[at + 1].as_str());
    let frames = frames.map_or(4096, |text| text.parse().unwrap());
    match open(&words[0], words[1].parse().unwrap(), frames, has("--bare")) {
        Ok(socket) => {
            println!("bound");
            hold(socket, has("--send"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("refused: {error}");
            ExitCode::FAILURE
        }
    }
}

fn open(interface: &str, queue: u32, frames: u32, bare: bool) -> xsk::Result<Socket> {
    let umem = Umem::builder().frames(frames).build()?;
    let builder = Interface::builder(interface);
    let builder = if bare { builder.without_steering() } else { builder };
    builder.open()?.socket(queue).rings(512).fill(512).umem(&umem).open()
}

fn hold(socket: Socket, sends: bool) {
    if sends {
        thread::spawn(move || send(socket));
        stdin().read_to_end(&mut Vec::new()).unwrap();
    } else {
        stdin().read_to_end(&mut Vec::new()).unwrap();
        drop(socket);
    }
}

fn send(mut socket: Socket) {
    let mut packet = [0xff; 60];
    packet[12..14].copy_from_slice(&[0x88, 0xb5]);
    let mut batch = socket.tx().batch(32);
    loop {
        match batch.send(&packet) {
            Ok(()) | Err(SendError::Full) => {}
            Err(_) => return,
        }
    }
}
