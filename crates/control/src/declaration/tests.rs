//! What declarations mean, and what is refused.

use std::time::Duration;

use filter::runtime::detect::Threshold;
use spec::Verdict;

use super::*;
use crate::detection::DetectOptions;

fn parse(text: &str) -> Result<Declaration, String> {
    Declaration::parse(Path::new("/etc/xway/eth1.toml"), text).map_err(|error| error.to_string())
}

fn program(text: &str) -> Program {
    parse(&format!("interface = 'eth1'\n[[program]]\n{text}")).unwrap().programs.remove(0)
}

#[test]
fn a_file_names_an_interface_and_its_program() {
    let text = "interface = 'eth1'\nmode = 'generic'\non-stop = 'detach'\nreplace = true";
    let declared = parse(text).unwrap();
    assert_eq!(declared.interface, Selector::Name("eth1".to_owned()));
    assert_eq!((declared.mode, declared.on_stop), (Mode::Generic, OnStop::Detach));
    assert!(declared.replace && declared.programs.is_empty());
    let declared = parse("interface = '52:54:00:00:00:01'").unwrap();
    assert!(matches!(declared.interface, Selector::Mac(_)));
    assert_eq!((declared.mode, declared.on_stop), (Mode::Native, OnStop::Leave));
}

#[test]
fn each_kind_of_program_has_its_options() {
    let filter = program("filter = 'rules/eth1.toml'\nmemory = '16MiB'\nset = { port = 53 }");
    let rules = PathBuf::from("/etc/xway/rules/eth1.toml");
    assert_eq!(filter.kind, Kind::Filter { rules, memory: Some(16 << 20), detect: None });
    assert_eq!(table::pairs(&filter.table.set), [("port".to_owned(), "53".to_owned())]);
    assert_eq!(program("drop.rules = ['any udp 53']").kind, Kind::Drop);
    let forward = program(
        "forward = { interfaces = ['eth2'], nat = 'required', translations = \
         ['10.1.0.2 udp 1234 -> 10.1.1.2'] }",
    );
    assert_eq!(forward.interfaces("eth1"), ["eth1", "eth2"]);
    let Kind::Forward(config) = &forward.kind else { panic!("{forward:?}") };
    assert!(config.translations.len() == 1 && config.replies);
    let balance = program("balance = 'services.toml'\nout = ['eth2']");
    assert_eq!(balance.kind, Kind::Balance { services: "/etc/xway/services.toml".into() });
    assert_eq!((balance.name(), balance.priority()), ("balance", 350));
    let object = program("object = 'x/count.bpf.o'\nmap-size = { flows = 10 }\ncount = false");
    assert_eq!(object.kind, Kind::Object { path: "/etc/xway/x/count.bpf.o".to_owned() });
    assert_eq!(object.name(), "count");
    assert_eq!(program("object = 'drop'").kind, Kind::Object { path: "drop".to_owned() });
}

#[test]
fn several_programs_run_in_the_order_of_their_priorities() {
    let declared = parse(
        "interface = 'eth1'\n[[program]]\nforward = { interfaces = ['eth2'] }\n[[program]]\n\
         object = 'count.o'\nname = 'seen'\npriority = 50\ncontinue-on = ['pass', 'drop']\n\
         [[program]]\nfilter = 'rules/eth1.toml'",
    )
    .unwrap();
    let names: Vec<_> = declared.programs.iter().map(|one| (one.name(), one.priority())).collect();
    assert_eq!(names, [("seen", 50), ("filter", 100), ("forward", 400)]);
    let verdicts = [Verdict::Pass, Verdict::Drop].into_iter().collect();
    assert_eq!(declared.programs[0].place.continue_on, Some(verdicts));
    assert_eq!(declared.programs[1].place, Place::default());
    assert_eq!(declared.interfaces("eth1"), ["eth1", "eth2"]);
}

#[test]
fn a_filter_detects_floods_where_that_is_declared() {
    let detect = |text: &str| {
        let filter = program(&format!("filter = 'a'\ndetect = {{ {text} }}"));
        let Kind::Filter { detect: Some(options), .. } = filter.kind else { panic!("{text}") };
        *options
    };
    assert_eq!(detect(""), AutoOptions::default());
    let options = detect(
        "above = 5000, time = '2s', hold = '30s', max-hold = '1h', allow = ['10.0.0.0/8'], \
         samples = 1000, max-rules = 2, max-collateral = '0.5%'",
    );
    assert_eq!(options.detect.above, Threshold::Pps(5000));
    assert_eq!([options.detect.time, options.detect.hold], [2, 30].map(Duration::from_secs));
    assert_eq!(options.max_hold, Duration::from_secs(3600));
    let DetectOptions { allow, samples, max_rules, max_collateral, .. } = options.detect;
    assert_eq!((allow.len(), samples, max_rules, max_collateral), (1, 1000, 2, 0.005));
    // A longer `hold` is a longer `max-hold` as well.
    assert_eq!(detect("hold = '2h'").max_hold, Duration::from_secs(7200));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let filter = |detect: &str| {
        format!("interface = 'eth1'\n[[program]]\nfilter = 'a'\ndetect = {{ {detect} }}")
    };
    for (detect, part) in [
        ("above = '0pps'", "invalid detect.above `0pps`: expected a rate"),
        ("time = '0.5s'", "invalid detect.time `0.5s`: expected a time from 1s to 10m"),
        ("hold = '1.5s'", "invalid detect.hold `1.5s`: expected whole seconds"),
        ("hold = '2m', max-hold = '1m'", "at least `hold`"),
        ("samples = 10", "invalid detect.samples `10`: expected a number from 100 to 1000000"),
        ("max-rules = 0", "invalid detect.max-rules"),
        ("max-collateral = '101%'", "invalid detect.max-collateral"),
        ("for = '1s'", "unknown field `for`"),
    ] {
        let error = parse(&filter(detect)).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let table = [
        ("", "missing field `interface`"),
        ("interface = 'a b'", "`a b` is not a valid name"),
        ("interface = 'eth1'\nmod = 'native'", "unknown field `mod`"),
        ("interface = 'eth1'\nmode = 'fast'", "line 2"),
        ("interface = 'eth1'\n[[program]]", "one of the keys filter"),
        ("interface = 'eth1'\n[[program]]\nfilter = 'a'\nobject = 'b'", "filter and object"),
        ("interface = 'eth1'\n[[program]]\ndrop.rules = []\nmemory = '1MiB'", "`memory` is not an"),
        ("interface = 'eth1'\n[[program]]\nfilter = 'a'\nmemory = 'big'", "invalid memory `big`"),
        ("interface = 'eth1'\n[[program]]\ndrop.rules = ['x']", "line 3"),
        (
            "interface = 'eth1'\n[[program]]\nobject = 'a'\n[[program]]\nobject = 'x/a'",
            "two programs have the name `a`",
        ),
        (
            "interface = 'eth1'\nmode = 'offload'\n[[program]]\nobject = 'a'\n\
             [[program]]\nobject = 'b'",
            "2 programs are declared",
        ),
        ("interface = 'eth1'\n[[program]]\nobject = 'a'\nname = '../a'", "invalid name `../a`"),
        ("interface = 'eth1'\n[[program]]\nobject = 'a'\ncontinue-on = ['go']", "`go`"),
        ("interface = 'eth1'\n[[program]]\nfilter = 'a'\nname = 'b'", "`name` is not an option"),
    ];
    for (text, part) in table {
        let error = parse(text).unwrap_err();
        assert!(
            error.starts_with("/etc/xway/eth1.toml: ") && error.contains(part),
            "{text}: {error}"
        );
    }
}

#[test]
fn interfaces_match_by_any_of_their_names() {
    let link = |name: &str, kind: &str| Link {
        name: name.to_owned(),
        altnames: vec!["enp1s0".to_owned()],
        mac: "52:54:00:00:00:01".parse().ok(),
        kind: kind.to_owned(),
        ..Link::default()
    };
    let selector = |word: &str| Selector::parse(word).unwrap();
    assert!(selector("eth1").matches(&link("eth1", "")));
    assert!(selector("enp1s0").matches(&link("eth1", "")));
    assert!(!selector("eth2").matches(&link("eth1", "")));
    assert!(selector("52:54:00:00:00:01").matches(&link("eth1", "")));
    assert!(!selector("52:54:00:00:00:01").matches(&link("eth1.7", "vlan")));
}
