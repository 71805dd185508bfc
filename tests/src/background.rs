//! Traffic in the background of a test: a service with its clients, and a flood.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab::{Capture, until};

use crate::stage::{PATIENCE, Stage};

/// Traffic in the background, until it is dropped.
#[derive(Debug)]
pub struct Background {
    over: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    thread: Option<JoinHandle<Option<()>>>,
}

impl Background {
    fn start(stage: &Stage, mut step: impl FnMut() + Send + 'static) -> Self {
        let (over, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (is_over, count) = (Arc::clone(&over), Arc::clone(&done));
        let body = move || {
            while !is_over.load(Ordering::Acquire) {
                step();
                count.fetch_add(1, Ordering::AcqRel);
            }
        };
        let thread = stage.net.a.spawn(body).unwrap();
        Self { over, done, thread: Some(thread) }
    }

    /// Waits until it has made this number of further steps.
    pub fn pass(&self, more: u64) {
        let goal = self.done.load(Ordering::Acquire) + more;
        let passed = || Ok((self.done.load(Ordering::Acquire) >= goal).then_some(()));
        until("steps in the background", PATIENCE, passed).unwrap();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        let ended = self.thread.take().unwrap().join();
        assert!(
            matches!(ended, Ok(Some(()))) || thread::panicking(),
            "what ran in the background failed"
        );
    }
}

/// Unsolicited DNS responses from many servers, some thousand per second.
pub fn reflection(stage: &Stage) -> Background {
    let wire = Capture::open(&stage.net.a, "eth0").unwrap();
    let frames: Vec<_> = (0..400_u16)
        .map(|number| {
            let from = Ipv4Addr::new(198, 18, (number % 199) as u8, (number % 251) as u8);
            let to = stage.net.b.ipv4("eth0").unwrap();
            let mut flow = stage.flow_between(IpAddr::V4(from), to.into(), 1024 + number * 97);
            flow.source.port = 53;
            flow.udp_of_length(400 + usize::from(number)).unwrap()
        })
        .collect();
    let mut next = 0;
    Background::start(stage, move || {
        for _ in 0..30 {
            wire.send(&frames[next % frames.len()]).unwrap();
            next += 1;
        }
        thread::sleep(Duration::from_millis(3));
    })
}

/// A service that echoes, and clients that talk with it.
pub fn service(stage: &Stage) -> Background {
    let listener = stage.net.b.run(|| TcpListener::bind("0.0.0.0:80")).unwrap().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut bytes = [0; 100];
                while stream.read_exact(&mut bytes).is_ok() && stream.write_all(&bytes).is_ok() {}
            });
        }
    });
    let to = (stage.net.b.ipv4("eth0").unwrap(), 80);
    let connect = move || {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let (mut stream, mut asked) = (None, 0);
    Background::start(stage, move || {
        asked += 1;
        if asked % 50 == 0 {
            stream = None;
        }
        let open = stream.get_or_insert_with(connect);
        open.write_all(&[7; 100]).unwrap();
        open.read_exact(&mut [0; 100]).unwrap();
        thread::sleep(Duration::from_millis(2));
    })
}
