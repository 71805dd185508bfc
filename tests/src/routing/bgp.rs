//! Configurations of BGP for the routers of a line: each has a session with the one on either side.

/// Configuration of BIRD for router `number` of `last`; `more` is added to it.
pub fn bird(number: u8, last: u8, more: &str) -> String {
    let mut text = format!(
        "router id 10.9.9.{number};
         protocol device {{ scan time 1; }}
         protocol kernel {{ merge paths on;
           ipv4 {{ import none; export where source ~ [ RTS_BGP, RTS_STATIC ]; }}; }}
         protocol direct {{ ipv4; interface \"left\", \"right\"; }}\n"
    );
    for (ip, other) in neighbors(number, last) {
        text += &format!(
            "protocol bgp to{other} {{ local as {}; neighbor {ip} as {};
               connect delay time 1; connect retry time 1; error wait time 1, 2;
               ipv4 {{ import all; export all; next hop self; }}; }}\n",
            system(number),
            system(other),
        );
    }
    text + more
}

/// Configuration of FRR's bgpd for router `number` of `last`.
pub fn frr(number: u8, last: u8) -> String {
    let mut text = format!(
        "router bgp {}\n bgp router-id 10.9.9.{number}\n no bgp ebgp-requires-policy\n \
         no bgp network import-check\n",
        system(number)
    );
    for (ip, other) in neighbors(number, last) {
        text += &format!(" neighbor {ip} remote-as {}\n", system(other));
        text += &format!(" neighbor {ip} advertisement-interval 0\n");
        text += &format!(" neighbor {ip} timers connect 1\n");
    }
    text + " address-family ipv4 unicast\n  redistribute connected\n exit-address-family\n"
}

/// Addresses and numbers of the routers beside one.
fn neighbors(number: u8, last: u8) -> Vec<(String, u8)> {
    let before = (number > 1).then(|| (format!("10.0.{}.1", number - 1), number - 1));
    let after = (number < last).then(|| (format!("10.0.{number}.2"), number + 1));
    before.into_iter().chain(after).collect()
}

/// The router's autonomous system.
fn system(number: u8) -> u32 {
    64500 + u32::from(number)
}
