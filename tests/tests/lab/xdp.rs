//! XDP on lab links: attaching by netlink, sending back and redirecting, all right after the build.

use std::os::fd::AsFd;
use std::time::Duration;

use kernel::{Attach, LoadOptions, Mode, Object, Program, Replace};
use lab::frame::{Flow, Side};
use lab::{Capture, Host, LinkOptions, Router, ThreeHosts, TwoHosts};
use spec::asm::Reg::{R1, R2, R3, R4};
use spec::asm::{self, Assembler, Cond, Helper};
use spec::{ProgramKind, Verdict};
use sys::net::{Ifindex, XdpExpect, XdpState};

const PORT: u16 = 4242;
const PATIENCE: Duration = Duration::from_secs(10);

/// Applies `act` to UDP over untagged IPv4 to `PORT`; passes all others.
fn program(act: impl FnOnce(&mut Assembler) -> &mut Assembler) -> Object {
    let mut a = Assembler::new("act", ProgramKind::XDP);
    let pass = a.label();
    a.packet(R2, R3, R1).need(R2, R3, 42, R4, pass);
    a.load16(R4, R2.at(36)).be16(R4).jump_if(R4, Cond::Ne, i32::from(PORT), pass);
    act(&mut a);
    a.bind(pass).verdict(Verdict::Pass);
    let mut object = asm::Object::new("act", "GPL");
    object.program(a);
    Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap()
}

fn redirect(to: Ifindex) -> Object {
    program(|a| a.mov(R1, to.0 as i32).mov(R2, 0).call(Helper::REDIRECT).exit())
}

fn act(object: &Object) -> &Program {
    object.program("act").unwrap()
}

fn attach(host: &Host, interface: &str, object: &Object) -> kernel::Link {
    let ifindex = host.ifindex(interface).unwrap();
    let program = act(object);
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

fn side(host: &Host) -> Side {
    let ip = host.ipv4("eth0").unwrap().into();
    Side { mac: host.mac("eth0").unwrap(), ip, port: PORT }
}

#[test]
fn frames_are_sent_back() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let _link = attach(&net.b, "eth0", &program(|a| a.verdict(Verdict::Tx)));
    // veth wakes the peer after `XDP_TX` only if the peer has a program, too; else the frame waits
    // for the next one (drivers/net/veth.c, veth_xdp_flush).
    let _peer = attach(&net.a, "eth0", &program(|a| a.verdict(Verdict::Pass)));
    let capture = Capture::open(&net.a, "eth0").unwrap();
    let frame = Flow::new(side(&net.a), side(&net.b)).udp(b"there and back").unwrap();
    capture.send(&frame).unwrap();
    assert_eq!(capture.next(PATIENCE, |seen| seen == frame).unwrap(), frame);
}

#[test]
fn a_router_redirects_from_link_to_link() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let _link = attach(&net.b, "eth0", &redirect(net.b.ifindex("eth1").unwrap()));
    let at_c = Capture::open(&net.c, "eth0").unwrap();
    let at_a = Capture::open(&net.a, "eth0").unwrap();
    let frame = Flow::new(side(&net.a), side(&net.c)).udp(b"across").unwrap();
    at_a.send(&frame).unwrap();
    assert_eq!(at_c.next(PATIENCE, |seen| seen == frame).unwrap(), frame);
}

#[test]
fn a_switch_port_redirects_before_the_bridge() {
    let net = ThreeHosts::build(&LinkOptions::default()).unwrap();
    let _link = attach(&net.switch, "port-a", &redirect(net.switch.ifindex("port-c").unwrap()));
    let at_c = Capture::open(&net.c, "eth0").unwrap();
    let at_a = Capture::open(&net.a, "eth0").unwrap();
    // Addressed to b, so only the program can have taken it to c.
    let frame = Flow::new(side(&net.a), side(&net.b)).udp(b"diverted").unwrap();
    at_a.send(&frame).unwrap();
    assert_eq!(at_c.next(PATIENCE, |seen| seen == frame).unwrap(), frame);
}

#[test]
fn netlink_replaces_only_what_is_expected() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let objects = [(); 3].map(|()| program(|a| a.verdict(Verdict::Drop)));
    let [first, second, third] = objects.each_ref().map(act);
    let mut netlink = net.b.netlink().unwrap();
    let at = net.b.ifindex("eth0").unwrap();
    let native = Some(Mode::Native);
    let mut set = |program: Option<&Program>, expect| {
        netlink.set_xdp(at, program.map(AsFd::as_fd), native, expect)
    };
    set(Some(first), XdpExpect::Nothing).unwrap();
    set(Some(second), XdpExpect::Nothing).unwrap_err();
    let wrong = set(Some(second), XdpExpect::Program(third.as_fd())).unwrap_err();
    assert!(wrong.detail.contains("expected"), "the kernel's sentence is missing: {wrong}");
    set(Some(second), XdpExpect::Program(first.as_fd())).unwrap();
    let state = |host: &Host| host.netlink().unwrap().link("eth0").unwrap().xdp;
    assert_eq!(state(&net.b), XdpState { native: Some(second.id()), ..XdpState::default() });
    set(None, XdpExpect::Program(first.as_fd())).unwrap_err();
    set(None, XdpExpect::Program(second.as_fd())).unwrap();
    assert!(state(&net.b).is_empty());
}

#[test]
fn the_drivers_message_is_reported() {
    let net = TwoHosts::build(&LinkOptions { mtu: 9000, ..LinkOptions::default() }).unwrap();
    let object = program(|a| a.verdict(Verdict::Drop));
    let mut netlink = net.b.netlink().unwrap();
    let at = net.b.ifindex("eth0").unwrap();
    let fd = Some(act(&object).as_fd());
    let error = netlink.set_xdp(at, fd, Some(Mode::Native), XdpExpect::Anything).unwrap_err();
    assert!(error.object == "eth0" && error.detail.contains("MTU"), "{error}");
    netlink.set_xdp(at, fd, Some(Mode::Generic), XdpExpect::Nothing).unwrap();
    assert_eq!(netlink.link("eth0").unwrap().xdp.generic, Some(act(&object).id()));
}
