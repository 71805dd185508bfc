//! Examples of each command, for the manual pages. A test parses all of them.

/// An example: what it does, and the command line without `xway`.
pub type Example = (&'static str, &'static str);

/// Examples of a command such as `filter load`; those of the nearest command above it if it has
/// none of its own.
pub fn of(command: &str) -> &'static [Example] {
    let own = EXAMPLES.iter().find(|(name, _)| *name == command);
    match own {
        Some((_, examples)) => examples,
        None => command.rsplit_once(' ').map_or(&[], |(above, _)| of(above)),
    }
}

/// Commands and their examples.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "attach",
        &[
            ("Attach the only XDP program of an object", "attach eth1 prog.o"),
            (
                "Choose the program and set a global variable",
                "attach eth1 prog.o --program count --set port=53",
            ),
            (
                "Undo the change after a minute unless `xway confirm` follows",
                "attach eth1 prog.o --confirm 60s",
            ),
        ],
    ),
    (
        "capture",
        &[
            ("Show the packets that programs drop", "capture eth1 --dropped"),
            (
                "Write 1,000 DNS packets to a file",
                "capture eth1 -w dns.pcapng --count 1000 udp port 53",
            ),
            (
                "Capture several interfaces into one file",
                "capture eth1 -i eth2 -w both.pcapng udp port 53",
            ),
            (
                "Keep the newest ten files of 100 MiB",
                "capture eth1 -w ring.pcapng --rotate-size 100MiB --files 10",
            ),
        ],
    ),
    ("extcap", &[("List the interfaces for Wireshark", "extcap --extcap-interfaces")]),
    (
        "top",
        &[
            ("Show live what interfaces, programs, processors and queues do", "top"),
            ("Print the tables of an interface over ten seconds", "top eth1 --once --interval 10s"),
            ("Write a line of JSON each second, ten times", "top --json --count 10"),
        ],
    ),
    (
        "why-drop",
        &[
            ("Count lost frames until Ctrl-C, with causes and remedies", "why-drop eth1"),
            ("Report each five seconds for a minute", "why-drop eth1 --interval 5s --time 60s"),
        ],
    ),
    (
        "chain",
        &[
            ("Run a program before the one that is attached", "chain eth1 add log.o --priority 50"),
            ("Show packets by member and verdict", "chain eth1 show"),
            (
                "Run it last, also for packets that are sent back",
                "chain eth1 move log --priority 900",
            ),
            ("Remove it; the others continue", "chain eth1 remove log"),
            (
                "Undo the change after a minute unless `xway confirm` follows",
                "chain eth1 remove drop --confirm 60s",
            ),
            (
                "Move the programs that xdp-loader attached to a chain",
                "chain eth1 adopt filter.o count.o",
            ),
        ],
    ),
    ("detach", &[("Detach what xway attached", "detach eth1")]),
    (
        "apply",
        &[
            ("Show what would change", "apply --plan"),
            ("Make all interfaces as declared in /etc/xway", "apply"),
            ("Check the files of another directory", "apply --check ./staging"),
        ],
    ),
    (
        "daemon",
        &[
            ("Apply /etc/xway and serve metrics on all addresses", "daemon --listen 0.0.0.0:10077"),
            ("Export metrics only", "daemon --no-apply"),
        ],
    ),
    ("save", &[("Write what runs to a directory", "save ./backup")]),
    (
        "confirm",
        &[
            ("Keep all changes that wait", "confirm"),
            ("Return to the previous state of one interface", "confirm --revert eth1"),
        ],
    ),
    (
        "status",
        &[
            ("Show all interfaces", "status"),
            (
                "Refresh the rates of one interface twice a second",
                "status eth1 --watch --interval 500ms",
            ),
        ],
    ),
    (
        "drop",
        &[
            ("Drop UDP to one port of one host", "drop eth1 '10.1.0.2 udp 1234'"),
            ("Add a rule to the loaded ones", "drop eth1 --add 'any icmp'"),
        ],
    ),
    (
        "forward",
        &[
            ("Route between two interfaces", "forward eth1 eth2"),
            ("Translate a destination", "forward eth1 eth2 --nat '10.1.0.2 udp 1234 -> 10.1.1.2'"),
        ],
    ),
    (
        "balance load",
        &[
            ("Balance the services of a file", "balance load eth1 services.toml"),
            (
                "Send to backends through another interface",
                "balance load eth1 services.toml --out eth2",
            ),
        ],
    ),
    ("balance check", &[("Check a file of services", "balance check services.toml")]),
    ("balance show", &[("Show backends and what was sent to them", "balance show")]),
    ("balance plan", &[("Show what a change would move", "balance plan services.toml new.toml")]),
    ("balance drain", &[("Give a backend no new connections", "balance drain eth1 10.0.1.7")]),
    (
        "balance set",
        &[
            ("Give a backend twice the share", "balance set eth1 10.0.1.7 --weight 2"),
            (
                "Move the connections of a dead backend",
                "balance set eth1 10.0.1.7 --down --service web",
            ),
        ],
    ),
    (
        "balance top",
        &[
            ("Watch the busiest backends", "balance top"),
            ("Print them once, over 5 s", "balance top --once --interval 5s"),
        ],
    ),
    (
        "balance why",
        &[
            (
                "Show which backend a connection has, and why",
                "balance why 'tcp 10.0.0.7:4000 192.0.2.1:80'",
            ),
            (
                "Show that of an echo request with identifier 17",
                "balance why 'icmp 10.0.0.7:17 192.0.2.1'",
            ),
        ],
    ),
    (
        "balance sync",
        &[
            ("Exchange flows with the peers of the loaded file", "balance sync eth1"),
            (
                "Name the peer and the key",
                "balance sync eth1 --listen 10.0.0.1:7946 --peer 10.0.0.2:7946 --key-file sync.key",
            ),
        ],
    ),
    ("balance health", &[("Check backends without the daemon", "balance health eth1")]),
    (
        "balance backend",
        &[
            (
                "Open the tunnels of two balancers, for packets to a service",
                "balance backend eth1 --from 10.0.0.1 --from 10.0.0.2 --service 192.0.2.1",
            ),
            ("Show what was received in tunnels", "balance backend eth1"),
        ],
    ),
    (
        "balance fixtures",
        &[(
            "Compare with the fixtures of a checkout of katran",
            "balance fixtures ./katran --json",
        )],
    ),
    ("balance settle", &[("End the keeping of older connections", "balance settle eth1")]),
    (
        "route start",
        &[
            ("Route between two interfaces", "route start eth1 eth2"),
            (
                "Translate a destination",
                "route start eth1 eth2 --nat '10.1.0.2 udp 1234 -> 10.1.1.2'",
            ),
        ],
    ),
    ("route show", &[("Show ports, next hops and the memory of routes", "route show")]),
    (
        "route why",
        &[
            ("Explain each packet of a capture", "route why flow.pcap --dev eth1"),
            ("Explain one packet of it", "route why flow.pcap --dev eth1 --packet 3"),
            ("Explain it without privileges", "route why flow.pcap --dev eth1 --engine"),
        ],
    ),
    (
        "route top",
        &[
            ("Watch the busiest destination networks", "route top"),
            ("Print them once, over 5 s", "route top --once --interval 5s"),
        ],
    ),
    ("route stop", &[("Stop the router of two interfaces", "route stop eth1 eth2")]),
    ("filter check", &[("Explain a rule file and its warnings", "filter check rules.toml")]),
    (
        "filter explain",
        &[(
            "Show which rule decides about each packet",
            "filter explain flood.pcap --rules rules.toml",
        )],
    ),
    ("filter import", &[("Translate a ruleset of nft", "filter import nft /etc/nftables.conf")]),
    (
        "filter export",
        &[("Translate rules to FlowSpec routes", "filter export flowspec rules.toml")],
    ),
    (
        "filter load",
        &[
            ("Load rules", "filter load eth1 rules.toml"),
            (
                "Undo the change after a minute unless `xway confirm` follows",
                "filter load eth1 rules.toml --confirm 60s",
            ),
        ],
    ),
    (
        "filter add",
        &[
            (
                "Add a rule after all others",
                "filter add eth1 'drop udp dport 1234 from 10.0.0.0/8'",
            ),
            (
                "Add a rule with a name, before another one",
                "filter add eth1 'pass tcp dport 22' --name ssh --before flood",
            ),
        ],
    ),
    ("filter remove", &[("Remove a rule by its name", "filter remove eth1 ssh")]),
    ("filter flush", &[("Remove all rules", "filter flush eth1")]),
    ("filter unload", &[("Detach the filter", "filter unload eth1")]),
    ("filter show", &[("Show rules and counters as JSON", "filter show eth1 --json")]),
    ("filter top", &[("Show the busiest rules and senders", "filter top eth1")]),
    ("filter try", &[("Try new rules for a while without effect", "filter try eth1 new.toml")]),
    ("filter sample", &[("Show what `sample` rules choose", "filter sample eth1")]),
    ("filter detect", &[("Suggest rules against the present flood", "filter detect eth1")]),
    ("filter ban", &[("Ban a source for ten minutes", "filter ban eth1 192.0.2.7 --time 10m")]),
    ("filter unban", &[("Lift a ban", "filter unban eth1 192.0.2.7")]),
    ("filter bans", &[("List banned sources", "filter bans eth1")]),
    ("check", &[("Explain why the verifier rejects a program", "check prog.o")]),
    (
        "run",
        &[
            ("Run a program over a capture, without root", "run prog.o --in monday.pcap"),
            ("Explain what happens to the third packet", "run prog.o --in monday.pcap --explain 3"),
        ],
    ),
    (
        "debug",
        &[
            ("Step through the first packet", "debug prog.o --in monday.pcap"),
            (
                "Show where the first packet is dropped",
                "debug prog.o --in monday.pcap --command 'break verdict drop' --command continue \
                 --command reverse-step",
            ),
        ],
    ),
    (
        "gen",
        &[
            (
                "Send a million UDP frames a second for ten seconds",
                "gen udp 10.0.0.2:9 --dev eth1 --rate 1mpps --time 10s",
            ),
            ("Send the streams of a file", "gen file streams.toml --dev eth1 --count 1000"),
            ("Replay a capture", "gen pcap monday.pcap --dev eth1"),
        ],
    ),
    ("gen tcp", &[("Open connections to a server", "gen tcp 10.0.0.2:80 --dev eth1 --time 10s")]),
    (
        "gen ndr",
        &[("Find the highest rate without loss", "gen ndr udp 10.0.0.2:9 --dev eth1 --sink eth2")],
    ),
    ("sink", &[("Verify what a generator sends", "sink eth1 --time 10s")]),
    ("xsk bench", &[("Measure an AF_XDP receiver", "xsk bench rx --dev eth1 --time 5s")]),
    ("xsk list", &[("List AF_XDP sockets", "xsk list")]),
    ("xsk info", &[("Show what an interface supports", "xsk info eth1")]),
    ("bench list", &[("List the scenarios", "bench list")]),
    ("bench run", &[("Measure how fast packets are dropped", "bench run drop")]),
    ("bench compare", &[("Compare two runs", "bench compare runs/a runs/b")]),
    ("prog list", &[("List programs", "prog list")]),
    ("prog show", &[("Show a program by its id", "prog show 42")]),
    ("prog dump", &[("Show instructions beside source lines", "prog dump 42")]),
    ("prog hits", &[("Count instructions for ten seconds", "prog hits eth1 --time 10s")]),
    (
        "disasm",
        &[
            ("Show the instructions of all programs", "disasm prog.o"),
            ("Show those of one program", "disasm prog.o --program count"),
            ("Write the object as assembly source", "disasm prog.o --assembly"),
        ],
    ),
    (
        "asm",
        &[
            ("Assemble to drop.o", "asm drop.s"),
            ("Assemble what another command writes", "asm - --output drop.o"),
        ],
    ),
    (
        "prog graph",
        &[
            ("Show what a program uses, calls and runs on", "prog graph 42"),
            ("Draw all programs and maps", "prog graph --dot"),
        ],
    ),
    ("map list", &[("List maps", "map list")]),
    ("map show", &[("Show a map by its name", "map show flows")]),
    ("map dump", &[("Show all elements", "map dump flows")]),
    ("map lookup", &[("Show one element", "map lookup flows 0")]),
    ("map update", &[("Change one element", "map update flows 0 7")]),
    (
        "map set",
        &[
            ("Change one field of an element", "map set flows 10.0.0.1.packets=0"),
            ("Set several in one update", "map set ports 7.port=53 7.open=true"),
        ],
    ),
    ("map delete", &[("Delete one element", "map delete flows 0")]),
    ("map pin", &[("Pin a map", "map pin flows /sys/fs/bpf/flows")]),
    (
        "state init",
        &[
            ("Prepare a directory for a user", "state init --owner xdp --state /run/xway-xdp"),
            ("Let members of a group see what runs", "state init --group xway"),
        ],
    ),
    ("lab up", &[("Create two connected hosts", "lab up two-hosts")]),
    (
        "scan run",
        &[
            (
                "Find the SSH servers of a network",
                "scan run 10.0.0.0/16 --port 22 --dev eth1 --rate 50kpps",
            ),
            ("Find the hosts that answer echo requests", "scan run 10.0.0.0/16 --dev eth1"),
        ],
    ),
    (
        "scan targets",
        &[
            (
                "List the first ten targets of a scan",
                "scan targets 10.0.0.0/8 --port 80,443 --count 10",
            ),
            (
                "List one of eight parts of all low addresses of IPv6 networks",
                "scan targets '2001:db8::/32 subnets /48 hosts ::1-::ff' --shard 3/8",
            ),
        ],
    ),
    (
        "scan plan",
        &[(
            "Show how long a scan of a network takes without one part of it",
            "scan plan 10.0.0.0/8 --exclude 10.7.0.0/16 --port 22 --rate 100kpps",
        )],
    ),
    ("lab list", &[("List labs", "lab list")]),
    ("lab down", &[("Remove a lab", "lab down two-hosts-1")]),
    ("lab run", &[("Run a command on a host of a new lab", "lab run two-hosts a -- ip addr")]),
    ("lab shell", &[("Open a shell on a host of a new lab", "lab shell two-hosts a")]),
    ("lab gc", &[("Remove what killed labs left", "lab gc")]),
    ("doctor", &[("Report what this machine permits", "doctor")]),
    ("demo", &[("Show a flooded service with and without XDP", "demo")]),
    ("completions", &[("Install the completion for bash", "completions bash")]),
    ("man", &[("Write all manual pages", "man ./man")]),
];

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::Cli;

    /// Splits a line as a shell does, with single quotes alone.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        for (number, part) in line.split('\'').enumerate() {
            if number % 2 == 1 {
                words.last_mut().unwrap().push_str(part);
                continue;
            }
            for (number, word) in part.split(' ').enumerate() {
                if number > 0 {
                    words.push(String::new());
                }
                words.last_mut().unwrap().push_str(word);
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn all_examples_are_valid_and_of_their_command() {
        for (command, examples) in EXAMPLES {
            for (_, line) in *examples {
                assert!(line.starts_with(command), "{command}: {line}");
                let parsed = Cli::try_parse_from([vec!["xway".to_owned()], words(line)].concat());
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        fn visit(command: &Command, path: &str) {
            for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
                let path = format!("{path} {}", inner.get_name()).trim_start().to_owned();
                assert!(inner.has_subcommands() || !of(&path).is_empty(), "{path}");
                visit(inner, &path);
            }
        }
        visit(&Cli::command().disable_help_subcommand(true), "");
    }
}
