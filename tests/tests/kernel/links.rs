//! Attaching to interfaces: who may, what is replaced, what is left behind.

use kernel::{
    Attach, Error, Link, Mode, Program, Replace, TcxSide, attach, attach_tcx, detach_all,
};
use lab::{Host, LinkOptions, TwoHosts};
use spec::Verdict;
use spec::asm::Assembler;
use sys::net::{XdpExpect, XdpState};
use xway_tests::program::{self, PinFolder, constant_program, counting, load, object, seen};

fn lab() -> TwoHosts {
    TwoHosts::build(&LinkOptions::default()).unwrap()
}

fn put(host: &Host, program: &Program, mode: Mode, replace: Replace) -> Result<Link, Error> {
    let ifindex = host.ifindex("eth0").unwrap();
    host.run(|| attach(&Attach { ifindex, program, mode, replace })).unwrap()
}

fn state(host: &Host) -> XdpState {
    host.netlink().unwrap().link("eth0").unwrap().xdp
}

fn native(id: u32) -> XdpState {
    XdpState { native: Some(id), ..Default::default() }
}

fn generic(id: u32) -> XdpState {
    XdpState { generic: Some(id), ..Default::default() }
}

/// Attached as `ip link set … xdp` does it: without a link.
fn by_netlink(host: &Host, program: &Program, mode: Mode) {
    use std::os::fd::AsFd;
    let ifindex = host.ifindex("eth0").unwrap();
    let fd = Some(program.as_fd());
    host.netlink().unwrap().set_xdp(ifindex, fd, Some(mode), XdpExpect::Nothing).unwrap();
}

#[test]
fn a_dropped_link_leaves_the_interface_as_it_was() {
    let (net, program) = (lab(), constant_program("pass", Verdict::Pass));
    for (mode, expected) in [(Mode::Native, native as fn(u32) -> _), (Mode::Generic, generic)] {
        let link = put(&net.a, &program, mode, Replace::No).unwrap();
        assert_eq!(state(&net.a), expected(program.id()));
        assert_eq!(link.ifindex().unwrap(), Some(net.a.ifindex("eth0").unwrap()));
        assert!(link.is_bpf_link());
        drop(link);
        assert!(state(&net.a).is_empty());
    }
}

#[test]
fn an_occupied_interface_is_named_and_left_alone() {
    let net = lab();
    let old = constant_program("the_old_one", Verdict::Pass);
    let new = constant_program("new", Verdict::Drop);
    let link = put(&net.a, &old, Mode::Native, Replace::No).unwrap();
    for mode in [Mode::Native, Mode::Generic] {
        let error = put(&net.a, &new, mode, Replace::No).unwrap_err();
        let text = error.to_string();
        let id = format!("program {} `the_old_one` (tag ", old.id());
        for words in ["eth0 already runs", &id, "in native mode", "--replace"] {
            assert!(text.contains(words), "{text}");
        }
    }
    assert_eq!(state(&net.a), native(old.id()));
    drop(link);
}

#[test]
fn updates_are_atomic_and_compare() {
    let net = lab();
    let [one, two, three] =
        ["one", "two", "three"].map(|name| constant_program(name, Verdict::Pass));
    let mut link = put(&net.a, &one, Mode::Native, Replace::No).unwrap();
    link.update(&two, Some(&one)).unwrap();
    assert_eq!(state(&net.a), native(two.id()));
    let error = link.update(&three, Some(&one)).unwrap_err();
    assert!(matches!(error, Error::Overtaken { .. }), "{error}");
    assert_eq!(state(&net.a), native(two.id()), "nothing was changed");
    link.update(&three, None).unwrap();
    assert_eq!(link.info().unwrap().unwrap().prog_id, three.id());
}

#[test]
fn pinned_links_outlive_their_maker_and_are_taken_up_again() {
    let (net, folder) = (lab(), PinFolder::new("links"));
    let [one, two] = ["one", "two"].map(|name| constant_program(name, Verdict::Pass));
    let mut link = put(&net.a, &one, Mode::Native, Replace::No).unwrap();
    link.pin(&folder.path("eth0")).unwrap();
    link.keep().unwrap();
    assert_eq!(state(&net.a), native(one.id()));

    let mut again = Link::from_pin(&folder.path("eth0")).unwrap();
    again.update(&two, Some(&one)).unwrap();
    drop(again);
    assert_eq!(state(&net.a), native(two.id()), "the pin still holds it");

    Link::from_pin(&folder.path("eth0")).unwrap().detach().unwrap();
    assert!(state(&net.a).is_empty());
    assert!(!folder.path("eth0").exists());
}

#[test]
fn a_link_without_a_pin_cannot_be_kept() {
    let (net, program) = (lab(), constant_program("pass", Verdict::Pass));
    let link = put(&net.a, &program, Mode::Native, Replace::No).unwrap();
    let error = link.keep().unwrap_err();
    assert!(matches!(error, Error::NotPinned { .. }), "{error}");
    assert!(state(&net.a).is_empty());
}

#[test]
fn a_replaced_link_gets_its_program_back() {
    let net = lab();
    let [old, new] = ["old", "new"].map(|name| constant_program(name, Verdict::Pass));
    let owner = put(&net.a, &old, Mode::Native, Replace::No).unwrap();
    let guest = put(&net.a, &new, Mode::Native, Replace::Yes).unwrap();
    assert_eq!(state(&net.a), native(new.id()));
    drop(guest);
    assert_eq!(state(&net.a), native(old.id()));
    drop(owner);
    assert!(state(&net.a).is_empty());
}

#[test]
fn what_a_third_one_put_there_is_not_undone() {
    let net = lab();
    let [old, new, third] =
        ["old", "new", "third"].map(|name| constant_program(name, Verdict::Pass));
    let mut owner = put(&net.a, &old, Mode::Native, Replace::No).unwrap();
    let mut guest = put(&net.a, &new, Mode::Native, Replace::Yes).unwrap();
    guest.update(&old, None).unwrap();
    guest.update(&new, Some(&old)).unwrap();
    owner.update(&third, Some(&new)).unwrap();
    drop(guest);
    assert_eq!(state(&net.a), native(third.id()));
}

#[test]
fn a_program_of_another_tool_is_replaced_and_put_back() {
    let net = lab();
    let [old, new] = ["old", "new"].map(|name| constant_program(name, Verdict::Pass));
    by_netlink(&net.a, &old, Mode::Native);
    assert!(put(&net.a, &new, Mode::Native, Replace::No).is_err());
    let guest = put(&net.a, &new, Mode::Native, Replace::Yes).unwrap();
    assert!(!guest.is_bpf_link());
    assert_eq!(state(&net.a), native(new.id()));
    drop(guest);
    assert_eq!(state(&net.a), native(old.id()));

    let guest = put(&net.a, &new, Mode::Native, Replace::Yes).unwrap();
    guest.keep().unwrap();
    assert_eq!(state(&net.a), native(new.id()));
}

#[test]
fn anything_is_taken_off_by_interface() {
    let net = lab();
    let program = constant_program("pass", Verdict::Pass);
    let ifindex = net.a.ifindex("eth0").unwrap();
    let clear = |mode| net.a.run(|| detach_all(ifindex, mode)).unwrap().unwrap();
    assert_eq!(clear(None), []);

    by_netlink(&net.a, &program, Mode::Generic);
    assert_eq!(clear(Some(Mode::Native)), [], "it runs in another mode");
    let gone = clear(Some(Mode::Generic));
    assert_eq!((gone.len(), gone[0].program.id, gone[0].link_id), (1, program.id(), None));

    let link = put(&net.a, &program, Mode::Native, Replace::No).unwrap();
    let id = link.info().unwrap().unwrap().id;
    let gone = clear(None);
    assert_eq!((gone[0].mode, gone[0].link_id), (Mode::Native, Some(id)));
    assert!(state(&net.a).is_empty());
    assert_eq!(link.ifindex().unwrap(), None);
}

#[test]
fn another_mode_is_switched_to_and_back() {
    let net = lab();
    let [old, new] = ["old", "new"].map(|name| constant_program(name, Verdict::Pass));
    by_netlink(&net.a, &old, Mode::Generic);
    let guest = put(&net.a, &new, Mode::Native, Replace::Yes).unwrap();
    assert_eq!(state(&net.a), native(new.id()));
    drop(guest);
    assert_eq!(state(&net.a), generic(old.id()));
}

#[test]
fn a_refused_switch_leaves_the_old_program_running() {
    let net = lab();
    let [old, new] = ["old", "new"].map(|name| constant_program(name, Verdict::Pass));
    let owner = put(&net.a, &old, Mode::Generic, Replace::No).unwrap();
    let error = put(&net.a, &new, Mode::Offload, Replace::Yes).unwrap_err();
    assert!(error.errno().is_some(), "{error}");
    assert_eq!(state(&net.a), generic(old.id()));
    drop(owner);
}

#[test]
fn refusals_carry_the_kernels_own_sentence() {
    let (net, program) = (lab(), constant_program("pass", Verdict::Pass));
    let error = put(&net.a, &program, Mode::Offload, Replace::No).unwrap_err();
    assert!(error.to_string().contains("it may not have offload mode"), "{error}");

    let jumbo = TwoHosts::build(&LinkOptions { mtu: 9000, ..Default::default() }).unwrap();
    let error = put(&jumbo.a, &program, Mode::Native, Replace::No).unwrap_err();
    assert!(error.to_string().contains("MTU"), "{error}");
}

#[test]
fn interfaces_that_are_not_there_or_go_away() {
    let (net, program) = (lab(), constant_program("pass", Verdict::Pass));
    let ifindex = sys::net::Ifindex(9999);
    let missing = Attach { ifindex, program: &program, mode: Mode::Native, replace: Replace::No };
    assert!(net.a.run(|| attach(&missing)).unwrap().is_err());

    let link = put(&net.a, &program, Mode::Native, Replace::No).unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    net.a.netlink().unwrap().delete_link(ifindex).unwrap();
    assert_eq!(link.ifindex().unwrap(), None, "the link outlives its interface, detached");
    drop(link);
}

#[test]
fn a_program_counts_what_it_sees_once_attached() {
    let net = lab();
    let object = load(&object(vec![seen()], vec![counting("count", Verdict::Pass)]));
    let _link = put(&net.b, object.program("count").unwrap(), Mode::Native, Replace::No).unwrap();
    let socket = net.a.run(|| std::net::UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    let target = (net.b.ipv4("eth0").unwrap(), 9);
    for _ in 0..10 {
        socket.send_to(b"x", target).unwrap();
    }
    let seen = || object.map("seen").unwrap().lookup_per_cpu(&[0; 4]).unwrap().unwrap().sums()[0];
    program::wait_for("ten packets", || seen() >= 10);
}

#[test]
fn tcx_programs_attach_side_by_side() {
    if let Some(refusal) = kernel::probe::one("tcx").unwrap().refusal {
        println!("skipped: this kernel has no tcx (Linux 6.6): {refusal}");
        return;
    }
    let net = lab();
    let mut a = Assembler::new("tc_pass", spec::ProgramKind::TCX_INGRESS);
    a.mov32(spec::asm::Reg::R0, 0).exit();
    let object = load(&object(vec![], vec![a]));
    let program = object.program("tc_pass").unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    let links = net.a.run(|| {
        let other = object.program("tc_pass").unwrap().duplicate().unwrap();
        let first = attach_tcx(ifindex, program, TcxSide::Ingress);
        (first, attach_tcx(ifindex, &other, TcxSide::Egress))
    });
    let (ingress, egress) = links.unwrap();
    assert_eq!(ingress.unwrap().ifindex().unwrap(), Some(ifindex));
    assert_eq!(egress.unwrap().ifindex().unwrap(), Some(ifindex));
}
