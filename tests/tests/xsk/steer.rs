//! Steering on a link: who gets which packet, who shares a program, and what is left when one of
//! them ends or is killed.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use kernel::{Attach, Link, Map, Replace, attach};
use lab::LinkOptions;
use spec::btf::Btf;
use spec::{Expect, Map as _, Verdict};
use sys::net::XdpState;
use xsk::steer::{GROUPS, Metadata, Mode, Options, RULES, Steer, Steering};
use xway_tests::program::{self, PinFolder, constant_program};
use xway_tests::steer::net::Net;
use xway_tests::steered::Steered;

const AUTO: (Mode, Options) = (Mode::Auto, Options { rx_metadata: false, replace: false });

fn rules(texts: &[&str]) -> Steer {
    Steer::Rules(texts.iter().map(|text| text.parse().unwrap()).collect())
}

fn count(steered: &Steered) -> impl FnMut() -> u64 + '_ {
    || steered.count()
}

/// A program of another owner on `b`'s eth0.
fn foreign(net: &Net) -> Link {
    let program = constant_program("not_ours", Verdict::Pass);
    let ifindex = net.net.b.ifindex("eth0").unwrap();
    let put =
        Attach { ifindex, program: &program, mode: kernel::Mode::Native, replace: Replace::No };
    net.net.b.run(|| attach(&put)).unwrap().unwrap()
}

#[test]
fn what_matches_goes_to_the_socket_and_the_rest_to_the_stack() {
    let net = Net::new(1);
    for (mode, expected) in [
        (Mode::Native, kernel::Mode::Native),
        (Mode::Generic, kernel::Mode::Generic),
        (Mode::Auto, kernel::Mode::Native),
    ] {
        let steer = rules(&[
            "10.0.0.2 udp 1000..1999",
            "any udp 7 from 10.0.0.1 4000",
            "any udp 8 from 10.0.0.1 4001",
        ]);
        let steered = net.steer(0, &steer, (mode, Options::default())).unwrap();
        assert_eq!(steered.steering.mode(), Some(expected));
        assert_eq!(steered.steering.metadata(), Some(Metadata::None));
        let ports = [999, 1000, 1500, 1999, 2000, 7, 8, 9];
        let mut counter = count(&steered);
        assert_eq!(net.send(0, &ports, &mut [&mut counter]), [4, 4], "{mode:?}");
    }
    assert_eq!(net.programs(), XdpState::default(), "left as it was found");
}

#[test]
fn all_of_a_queue_goes_to_its_socket_and_other_queues_to_the_stack() {
    let net = Net::new(2);
    let one = net.steer(1, &Steer::All, AUTO).unwrap();
    let ports = [1, 2, 3, 4, 5];
    assert_eq!(net.send(0, &ports, &mut [&mut count(&one)]), [0, 5]);
    assert_eq!(net.send(1, &ports, &mut [&mut count(&one)]), [5, 0]);
    let zero = net.steer(0, &Steer::All, AUTO).unwrap();
    assert!(zero.steering.has_joined() && !one.steering.has_joined());
    assert_eq!(net.send(0, &ports, &mut [&mut count(&zero), &mut count(&one)]), [5, 0, 0]);
    assert_eq!(net.send(1, &ports, &mut [&mut count(&zero), &mut count(&one)]), [0, 5, 0]);
}

#[test]
fn a_large_mtu_does_not_require_leaving_the_driver() {
    let net = Net::with(&LinkOptions { mtu: 9000, ..LinkOptions::default() });
    let steered = net.steer(0, &rules(&["any udp 1"]), AUTO).unwrap();
    assert_eq!(steered.steering.mode(), Some(kernel::Mode::Native));
    assert_eq!(steered.steering.not_native(), None);
    assert_eq!(net.send(0, &[1, 2], &mut [&mut count(&steered)]), [1, 1]);
}

/// Loopback has no driver.
#[test]
fn without_native_mode_the_stack_does_it_and_the_reason_is_reported() {
    let net = Net::new(1);
    let attach = |mode| {
        let lo = net.net.b.ifindex("lo").unwrap();
        net.net.b.run(|| Steering::attach(lo, mode, &Steer::All, Options::default())).unwrap()
    };
    let error = attach(Mode::Native).unwrap_err().to_string();
    assert!(error.contains("\"lo\"") && error.contains("EOPNOTSUPP"), "{error}");
    let steering = attach(Mode::Auto).unwrap();
    assert_eq!(steering.mode(), Some(kernel::Mode::Generic));
    assert_eq!(steering.not_native(), Some(error.as_str()));
}

#[test]
fn a_dropped_entry_gives_its_packets_back_to_the_stack() {
    let net = Net::new(1);
    let mut steered = net.steer(0, &Steer::All, AUTO).unwrap();
    assert_eq!(net.send(0, &[1, 2], &mut [&mut count(&steered)]), [2, 0]);
    assert_eq!(steered.entry.take().unwrap().queue(), 0);
    assert_eq!(net.send(0, &[1, 2], &mut [&mut count(&steered)]), [0, 2], "the socket is open");
    let entry = steered.steering.insert(0, steered.socket.as_fd()).unwrap();
    let Steered { steering, socket, .. } = steered;
    drop(steering);
    assert_eq!(net.send(0, &[1, 2], &mut [&mut || socket.count()]), [2, 0], "an entry is a share");
    drop(entry);
    assert_eq!(net.programs(), XdpState::default());
}

#[test]
fn a_dropped_entry_leaves_the_slot_of_another_socket() {
    let net = Net::new(1);
    let mut steered = net.steer(0, &Steer::All, AUTO).unwrap();
    let map: OwnedFd = steered.steering.map().try_clone_to_owned().unwrap();
    let map = Map::from_fd(map).unwrap();
    let unbound = sys::net::xsk::XskSocket::open().unwrap();
    let value = unbound.as_fd().as_raw_fd().to_ne_bytes();
    map.update(&0u32.to_ne_bytes(), &value, Expect::Any).unwrap();
    drop(steered.entry.take());
    let taken = steered.steering.insert(0, steered.socket.as_fd()).unwrap_err();
    assert!(taken.to_string().contains("queue 0 goes to another socket"), "{taken}");
    drop(unbound);
    assert!(steered.steering.insert(0, steered.socket.as_fd()).is_ok(), "gone with its socket");
}

#[test]
fn invalid_entries_are_reported() {
    let net = Net::new(2);
    let steered = net.steer(1, &Steer::All, AUTO).unwrap();
    let other = net.socket(0);
    for (name, error, words) in [
        ("a queue beyond", steered.steering.insert(2, other.as_fd()), "queue 2 of eth0: it has 2"),
        ("far beyond", steered.steering.insert(u32::MAX, other.as_fd()), "it has 2 receive queues"),
        (
            "a queue that is taken",
            steered.steering.insert(1, other.as_fd()),
            "eth0: queue 1 goes to",
        ),
        (
            "a map",
            steered.steering.insert(0, steered.steering.map()),
            "only be steered to AF_XDP sockets",
        ),
        (
            "another kind of socket",
            steered.steering.insert(0, std::net::UdpSocket::bind("127.0.0.1:0").unwrap().as_fd()),
            "only be steered to AF_XDP sockets",
        ),
    ] {
        let text = error.unwrap_err().to_string();
        assert!(text.contains(words), "{name}: {text}");
    }
    let again = steered.steering.insert(1, steered.socket.as_fd());
    assert!(again.is_ok(), "the same socket is in its slot already");
}

#[test]
fn processes_share_an_interface_each_with_rules_of_its_own() {
    let net = Net::new(2);
    let mut zero = net.process(0, &["any udp 1"]);
    let mut one = net.process(1, &["any udp 2", "any udp 1"]);
    assert_eq!((zero.first.as_str(), one.first.as_str()), ("ready 0", "ready 2"));
    let ports = [1, 2, 3];
    let mut both =
        |queue| net.send(queue, &ports, &mut [&mut || zero.count(), &mut || one.count()]);
    assert_eq!(both(0), [1, 0, 2], "1 is the first's; the second has no socket on this queue");
    assert_eq!(both(1), [0, 2, 1], "the first has none on this one");

    zero.kill();
    let mut one_count = || one.count();
    assert_eq!(net.send(0, &ports, &mut [&mut one_count]), [0, 3], "back to the stack");
    assert_eq!(net.send(1, &ports, &mut [&mut one_count]), [2, 1], "not touched");

    let mut third = net.process(0, &["any udp 3"]);
    assert_eq!(third.first, "ready 0", "takes the place of the one that was killed");
    let mut both =
        |queue| net.send(queue, &ports, &mut [&mut || one.count(), &mut || third.count()]);
    assert_eq!(both(0), [0, 1, 2], "the old rules of that place are gone");
    assert_eq!(both(1), [2, 0, 1]);
    one.kill();
    third.end();
    assert_eq!(net.programs(), XdpState::default(), "nobody is left");
}

#[test]
fn a_process_that_is_killed_leaves_nothing() {
    let net = Net::new(1);
    for rules in [&[][..], &["any udp 1..9"]] {
        let mut other = net.process(0, rules);
        assert_eq!(other.first, "ready 0");
        assert_eq!(net.send(0, &[1, 2, 3], &mut [&mut || other.count()]), [3, 0]);
        other.kill();
        assert_eq!(net.programs(), XdpState::default());
        assert_eq!(net.send(0, &[1, 2, 3], &mut []), [3]);
    }
}

#[test]
fn the_process_that_attached_it_may_be_killed_first() {
    let net = Net::new(2);
    let first = net.process(0, &[]);
    let second = net.steer(1, &Steer::All, AUTO).unwrap();
    assert!(second.steering.has_joined());
    first.kill();
    assert_eq!(net.send(0, &[1, 2], &mut [&mut count(&second)]), [0, 2]);
    assert_eq!(net.send(1, &[1, 2], &mut [&mut count(&second)]), [2, 0]);
}

#[test]
fn a_foreign_program_is_named_and_replaced_only_on_request() {
    let net = Net::new(1);
    let link = foreign(&net);
    let there = net.programs();
    for mode in [Mode::Auto, Mode::Native, Mode::Generic] {
        let error = net.attach(&Steer::All, mode, Options::default()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("eth0 already runs program") && text.contains("`not_ours`"),
            "{text}"
        );
    }
    assert_eq!(net.programs(), there);
    let options = Options { replace: true, ..Options::default() };
    let steered = net.steer(0, &Steer::All, (Mode::Auto, options)).unwrap();
    assert_eq!(net.send(0, &[1], &mut [&mut count(&steered)]), [1, 0]);
    drop(steered);
    assert_eq!(net.programs(), XdpState::default(), "not put back");
    drop(link);
}

#[test]
fn only_what_agrees_is_shared() {
    let net = Net::new(1);
    let attach = |steer: &Steer, mode, rx_metadata| {
        net.attach(steer, mode, Options { rx_metadata, ..Options::default() })
    };
    let one_rule = rules(&["any udp 1"]);
    let all = attach(&Steer::All, Mode::Native, false).unwrap();
    for (steer, mode, metadata, words) in [
        (&one_rule, Mode::Auto, false, "all traffic, by queue, not by rules"),
        (&Steer::All, Mode::Auto, true, "without metadata"),
        (&Steer::All, Mode::Generic, false, "in native mode"),
    ] {
        let text = attach(steer, mode, metadata).unwrap_err().to_string();
        assert!(text.starts_with("eth0: ") && text.contains(words), "{text}");
    }
    assert!(attach(&Steer::All, Mode::Auto, false).unwrap().has_joined());
    drop(all);
    let _rules = attach(&one_rule, Mode::Generic, true).unwrap();
    let text = attach(&Steer::All, Mode::Auto, false).unwrap_err().to_string();
    assert!(text.contains("by rules, not all traffic"), "{text}");
    let joined = attach(&one_rule, Mode::Auto, false).unwrap();
    assert_eq!(joined.metadata(), Some(Metadata::Software), "more than was asked for");
    assert_eq!((joined.first_slot(), joined.queues()), (1, 1));
}

#[test]
fn places_for_rules_run_out_and_come_back() {
    let net = Net::new(1);
    let one = rules(&["any udp 1"]);
    let attach = || net.attach(&one, Mode::Auto, Options::default());
    let mut all: Vec<Steering> = (0..GROUPS).map(|_| attach().unwrap()).collect();
    let text = attach().unwrap_err().to_string();
    assert!(text.contains("eth0: all 16 places for rules are taken"), "{text}");
    drop(all.remove(5));
    assert_eq!(attach().unwrap().first_slot(), 5);
    drop(all);
    for (steer, words) in [
        (Steer::Rules(Vec::new()), "no rules"),
        (rules(&vec!["any udp 1"; RULES + 1]), "17 rules, more than 16"),
    ] {
        let text = net.attach(&steer, Mode::Auto, Options::default()).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(net.programs(), XdpState::default());
}

#[test]
fn rules_of_one_who_left_well_match_no_more() {
    let net = Net::new(1);
    let stays = net.attach(&rules(&["any udp 9"]), Mode::Auto, Options::default()).unwrap();
    let steered = net.steer(0, &rules(&["any udp 1"]), AUTO).unwrap();
    assert_eq!(net.send(0, &[1, 9], &mut [&mut count(&steered)]), [1, 1]);
    drop(steered);
    assert_eq!(net.send(0, &[1, 9], &mut []), [2]);
    drop(stays);
}

#[test]
fn a_process_that_may_not_attach_gets_the_map() {
    let net = Net::new(2);
    let steering = net.attach(&rules(&["any udp 1"]), Mode::Auto, Options::default()).unwrap();
    let second = net.attach(&rules(&["any udp 2"]), Mode::Auto, Options::default()).unwrap();
    let pins = PinFolder::new("steer-map");
    let map = Map::from_fd(second.map().try_clone_to_owned().unwrap()).unwrap();
    map.pin(&pins.path("xsks")).unwrap();
    let socket = net.socket(0);
    let given = Steering::from_pin(&pins.path("xsks"), second.first_slot()).unwrap();
    assert_eq!((given.first_slot(), given.mode(), given.metadata()), (2, None, None));
    let entry = given.insert(0, socket.as_fd()).unwrap();
    drop(given);
    assert_eq!(net.send(0, &[1, 2, 3], &mut [&mut || socket.count()]), [1, 2]);
    drop(entry);
    assert_eq!(net.send(0, &[1, 2, 3], &mut [&mut || socket.count()]), [0, 3]);

    let copy = || steering.map().try_clone_to_owned().unwrap();
    let far = Steering::from_map(copy(), 1000).unwrap_err().to_string();
    assert!(far.contains("slot 1000 is outside of map"), "{far}");
    let other = constant_program("no_map", Verdict::Pass);
    let no_map = Steering::from_map(other.as_fd().try_clone_to_owned().unwrap(), 0);
    assert!(no_map.is_err());
    let array = program::map("array", spec::MapKind::ARRAY, [4, 4, 1]);
    let object = program::load(&program::object(vec![array], vec![]));
    let array = object.map("array").unwrap().as_fd().try_clone_to_owned().unwrap();
    let wrong = Steering::from_map(array, 0).unwrap_err().to_string();
    assert!(wrong.contains("`array` is a array") || wrong.contains("not an xskmap"), "{wrong}");
}

#[test]
fn a_missing_right_is_named() {
    let net = Net::new(1);
    for (rights, holder, words) in [
        ("-all,+net_raw,+perfmon", false, "lacks CAP_NET_ADMIN, CAP_BPF: run it as root or"),
        ("-all,+net_raw,+net_admin,+perfmon", false, "lacks CAP_BPF:"),
        ("-all,+net_raw,+net_admin,+bpf,+perfmon", true, "lacks CAP_SYS_ADMIN:"),
    ] {
        let _holder = holder.then(|| net.attach(&Steer::All, Mode::Auto, Options::default()));
        let other = net.process_with(rights, 0, &[]);
        assert!(other.first.starts_with("error "), "{rights}: {}", other.first);
        assert!(other.first.contains(words), "{rights}: {}", other.first);
        other.end();
    }
    for (rights, rules, words) in [
        ("-all,+net_raw,+net_admin,+bpf", &[][..], "ready 0"),
        ("-all,+net_raw,+net_admin,+bpf", &["any udp 1"], "CAP_PERFMON"),
        ("-all,+net_raw,+net_admin,+bpf,+perfmon", &["any udp 1"], "ready 0"),
    ] {
        let other = net.process_with(rights, 0, rules);
        assert!(other.first.contains(words), "{rights}: {}", other.first);
        other.end();
    }
}

#[test]
fn many_in_parallel_find_one_program() {
    let net = Net::new(1);
    let steerings: Vec<Steering> = std::thread::scope(|scope| {
        let attach = || net.attach(&Steer::All, Mode::Auto, Options::default()).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(attach)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(steerings.iter().filter(|steering| !steering.has_joined()).count(), 1);
    drop(steerings);
    assert_eq!(net.programs(), XdpState::default());
}

#[test]
fn a_process_joins_while_the_last_one_leaves() {
    let net = Net::new(1);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 0..100 {
                    let attached = net.attach(&Steer::All, Mode::Auto, Options::default());
                    let attached = attached.unwrap_or_else(|error| panic!("{round}: {error}"));
                    assert_eq!(attached.is_attached().unwrap(), Some(true));
                }
            });
        }
    });
    assert_eq!(net.programs(), XdpState::default());
}

#[test]
fn sockets_of_an_owner_who_left_get_nothing_of_the_next_one() {
    let net = Net::new(1);
    let stays = net.attach(&rules(&["any udp 9"]), Mode::Auto, Options::default()).unwrap();
    let owner = net.attach(&rules(&["any udp 1"]), Mode::Auto, Options::default()).unwrap();
    let map = owner.map().try_clone_to_owned().unwrap();
    let socket = net.socket(0);
    let given = Steering::from_map(map, owner.first_slot()).unwrap();
    let entry = given.insert(0, socket.as_fd()).unwrap();
    assert_eq!(net.send(0, &[1, 2], &mut [&mut || socket.count()]), [1, 1]);
    drop(owner);
    assert_eq!(net.send(0, &[1, 2], &mut [&mut || socket.count()]), [0, 2]);
    let next = net.attach(&rules(&["any udp 2"]), Mode::Auto, Options::default()).unwrap();
    assert_eq!((given.first_slot(), next.first_slot()), (1, 1));
    assert_eq!(net.send(0, &[1, 2], &mut [&mut || socket.count()]), [0, 2]);
    let unbound = sys::net::xsk::XskSocket::open().unwrap();
    let its = next.insert(0, unbound.as_fd()).unwrap();
    drop(entry);
    let error = given.insert(0, socket.as_fd()).unwrap_err();
    assert!(error.to_string().contains("goes to another socket"), "{error}");
    drop((its, stays));
}

#[test]
fn a_program_that_was_detached_by_force_is_reported() {
    let net = Net::new(1);
    let steered = net.steer(0, &Steer::All, AUTO).unwrap();
    let ifindex = net.net.b.ifindex("eth0").unwrap();
    net.net.b.run(|| kernel::detach_all(ifindex, None)).unwrap().unwrap();
    assert_eq!(steered.steering.is_attached().unwrap(), Some(false));
    assert_eq!(net.send(0, &[1], &mut [&mut count(&steered)]), [0, 1]);
    let again = net.attach(&Steer::All, Mode::Auto, Options::default()).unwrap();
    assert!(!again.has_joined());
    let entry = again.insert(0, steered.socket.as_fd()).unwrap();
    assert_eq!(net.send(0, &[1], &mut [&mut count(&steered)]), [1, 0]);
    net.net.b.netlink().unwrap().delete_link(ifindex).unwrap();
    assert_eq!(again.is_attached().unwrap(), Some(false), "gone with its interface");
    drop(entry);
}

#[test]
fn metadata_comes_from_the_device_where_it_answers() {
    let net = Net::new(1);
    let options = Options { rx_metadata: true, ..Options::default() };
    let types = sys::proc::kernel_btf().ok().and_then(|raw| Btf::parse(&raw).ok());
    let asks = |types: &Btf| types.find_all("bpf_xdp_metadata_rx_vlan_tag").next().is_some();
    let native = match types.as_ref().is_some_and(asks) {
        true => Metadata::Device,
        // Before Linux 6.8.
        false => Metadata::Software,
    };
    for (mode, expected) in
        [(Mode::Native, native), (Mode::Auto, native), (Mode::Generic, Metadata::Software)]
    {
        let steered = net.steer(0, &rules(&["any udp 1"]), (mode, options)).unwrap();
        assert_eq!(steered.steering.metadata(), Some(expected));
        assert_eq!(net.send(0, &[1, 2], &mut [&mut count(&steered)]), [1, 1]);
    }
}
