//! Backends: each returns its number for each byte that it gets.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sys::poll::{self, Watch};

use super::net::Net;
use super::{PORT, SERVICE};

/// A backend, until it is dropped.
#[derive(Debug)]
pub enum Server {
    Thread(Arc<AtomicBool>, Option<JoinHandle<Option<()>>>),
    /// Where one process could not have all files open.
    Process(Child),
}

/// Starts a backend that may get this number of connections.
pub fn start(net: &Net, number: usize, connections: usize) -> Server {
    let host = &net.servers[number];
    if connections <= MOST_IN_PROCESS {
        let over = Arc::<AtomicBool>::default();
        let listener = host.run(listen).unwrap();
        let until = Arc::clone(&over);
        let body = move || answer(&listener, number as u8, || until.load(Ordering::Acquire));
        return Server::Thread(over, Some(host.spawn(body).unwrap()));
    }
    let own = std::env::current_exe().unwrap();
    let mut command: Command = host.command(own.to_str().unwrap()).unwrap();
    command.args(["serve", &number.to_string()]);
    Server::Process(host.start(command).unwrap())
}

/// Serves as a backend until the process is killed.
pub fn serve(number: u8) {
    answer(&listen(), number, || false);
}

fn listen() -> TcpListener {
    let listener = TcpListener::bind((SERVICE, PORT)).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

fn answer(listener: &TcpListener, number: u8, is_over: impl Fn() -> bool) {
    let mut connections: Vec<TcpStream> = Vec::new();
    while !is_over() {
        let watched = connections.iter().map(|one| Watch::readable(one.as_fd()));
        let mut watches: Vec<_> =
            [Watch::readable(listener.as_fd())].into_iter().chain(watched).collect();
        poll::wait(&mut watches, Some(LOOK)).unwrap();
        let ready: Vec<_> = watches[1..].iter().map(Watch::is_ready).collect();
        let mut ready = ready.into_iter();
        connections.retain_mut(|connection| {
            !ready.next().unwrap_or_default() || is_answered(connection, number)
        });
        while let Ok((connection, _)) = listener.accept() {
            connection.set_nonblocking(true).unwrap();
            connection.set_nodelay(true).unwrap();
            connections.push(connection);
        }
        // What comes meanwhile is answered together: each wait costs time for all connections.
        thread::sleep(PAUSE);
    }
}

/// Answers a byte, if there is one; whether the connection continues.
fn is_answered(connection: &mut TcpStream, number: u8) -> bool {
    match connection.read(&mut [0]) {
        Ok(0) => false,
        Ok(_) => connection.write_all(&[number]).is_ok(),
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match self {
            Self::Thread(over, thread) => {
                over.store(true, Ordering::Release);
                // It has no result, and a panic is reported as it happens.
                let _ended = thread.take().map(JoinHandle::join);
            }
            Self::Process(child) => {
                // One that has ended cannot be killed.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Connections of a campaign with all backends in its own process.
const MOST_IN_PROCESS: usize = 4000;
const PAUSE: Duration = Duration::from_millis(1);
/// Time until the end is noticed.
const LOOK: Duration = Duration::from_millis(100);
