//! Models of the rings: every order in which two sides can act, and every value that the memory
//! model lets them see. Run by `make loom`.

use ::loom::model::Builder;
use ::loom::thread;

use super::{Consumer, Pair, Producer};

/// Slots and indices of two sides: each value that was written is read exactly once, and in order.
/// The checker itself detects a slot that is written while it is read.
#[test]
fn what_is_published_is_seen_once_and_in_order() {
    for (entries, start) in [(1, u32::MAX), (2, u32::MAX - 1)] {
        check(move || {
            let ring = Pair::<u64>::new(entries, start);
            let (mut ours, mut kernels) = (Producer::new(ring.ours), Consumer::new(ring.kernels));
            let peer = thread::spawn(move || {
                let mut seen = 0;
                for _ in 0..ROUNDS {
                    take_all(&mut kernels, &mut seen);
                    thread::yield_now();
                }
                (kernels, seen)
            });
            let mut put = 0;
            for _ in 0..ROUNDS {
                put += u64::from(ours.put(put));
                ours.publish();
            }
            let (mut kernels, mut seen) = peer.join().expect("no panic");
            take_all(&mut kernels, &mut seen);
            assert!(put >= u64::from(entries));
            assert_eq!((seen, ours.faults(), kernels.faults()), (put, 0, 0));
            assert_eq!(ours.free(entries), entries, "all slots came back");
        });
    }
}

/// As above, for batches with the guards.
#[test]
fn batches_are_seen_whole() {
    check(|| {
        let ring = Pair::<u64>::new(2, u32::MAX);
        let (mut ours, mut kernels) = (Producer::new(ring.ours), Consumer::new(ring.kernels));
        let peer = thread::spawn(move || {
            let mut seen = 0;
            for _ in 0..ROUNDS {
                let view = kernels.peek(2);
                assert!(view.len() % 2 == 0, "half a batch is seen");
                for at in 0..view.len() {
                    assert_eq!(view.at(at), seen);
                    seen += 1;
                }
                view.release();
                thread::yield_now();
            }
        });
        let mut put = 0;
        for _ in 0..ROUNDS {
            let mut slots = ours.reserve(2);
            if slots.len() < 2 {
                thread::yield_now();
                continue;
            }
            assert!(slots.put(put) && slots.put(put + 1) && !slots.put(9));
            slots.commit();
            put += 2;
        }
        peer.join().expect("no panic");
    });
}

fn take_all(kernels: &mut Consumer<u64>, seen: &mut u64) {
    kernels.available(u32::MAX);
    while let Some(value) = kernels.take() {
        assert_eq!(value, *seen);
        *seen += 1;
    }
    kernels.release();
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

const ROUNDS: usize = 3;
/// More preemptions find nothing else in a ring of two slots, and take minutes.
const PREEMPTIONS: usize = 3;
