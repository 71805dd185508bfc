//! Workers that end well, fail and panic.

use super::*;
use crate::ConfigError;

fn tasks(count: u32) -> Vec<(Place, u32)> {
    let place = |queue| Place { queue, cpu: None, reason: Reason::Anywhere };
    (0..count).map(|queue| (place(queue), queue)).collect()
}

#[test]
fn answers_come_in_the_order_of_tasks() {
    let answers =
        run(tasks(4), &Stop::new(), |task, worker| Ok::<_, Error>((task, worker.place.queue)));
    assert_eq!(answers.unwrap(), [(0, 0), (1, 1), (2, 2), (3, 3)]);
}

#[test]
fn a_worker_stays_on_its_processor() {
    let cpu = *sys::cpu::affinity().unwrap().last().unwrap();
    let place = Place { queue: 0, cpu: Some(cpu), reason: Reason::Named };
    let found = run(vec![(place, ())], &Stop::new(), |(), _| Ok::<_, Error>(sys::cpu::affinity()?));
    assert_eq!(found.unwrap(), [[cpu]]);
}

#[test]
fn one_that_fails_stops_the_others_and_is_reported() {
    type Fault = fn() -> Error;
    let faults: [(Fault, &str); 2] = [
        (|| ConfigError::NoCpus.into(), "the list of processors is empty: name at least one"),
        (|| panic!("broken {}", 7), "the worker of queue 2 panicked: broken 7"),
    ];
    for (fault, expected) in faults {
        let stop = Stop::new();
        let answer = run(tasks(3), &stop, |task, worker| {
            if task == 2 {
                return Err(fault());
            }
            while !worker.stop.is_set() {
                std::thread::yield_now();
            }
            Ok(())
        });
        assert_eq!(answer.unwrap_err().to_string(), expected);
        assert!(stop.is_set());
    }
}

#[test]
fn a_processor_that_is_not_there_is_an_error() {
    let place = Place { queue: 0, cpu: Some(100_000), reason: Reason::Named };
    let answer = run(vec![(place, ())], &Stop::new(), |(), _| Ok::<_, Error>(()));
    assert!(answer.unwrap_err().to_string().contains("sched_setaffinity"));
}
