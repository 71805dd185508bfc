//! Sentences of Wireshark's extcap protocol, which `doc/extcap.4` of Wireshark defines.

/// What names of interfaces begin with, so that they differ from those of Wireshark itself.
const PREFIX: &str = "xway-";

/// The list of interfaces.
pub fn interfaces(names: &[String]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("extcap {{version={version}}}{{display=Expressway}}\n");
    // The protocol cannot quote these characters.
    for name in names.iter().filter(|name| !name.contains(['{', '}'])) {
        let display = format!("{name} with its XDP programs");
        text.push_str(&format!("interface {{value={PREFIX}{name}}}{{display={display}}}\n"));
    }
    text
}

/// The name of an interface, by its name in the list.
pub fn interface(listed: &str) -> Option<&str> {
    listed.strip_prefix(PREFIX)
}

/// The link type.
pub const LINK_TYPE: &str = "dlt {number=1}{name=EN10MB}{display=Ethernet}\n";

/// The options of `xway extcap` that Wireshark offers.
pub const CONFIG: &str = "\
arg {number=0}{call=--at}{display=Packets}{type=selector}\
{tooltip=Where packets are captured}
value {arg=0}{value=before}{display=As they come}{default=true}
value {arg=0}{value=after}{display=As the programs leave them}{default=false}
value {arg=0}{value=both}{display=Both, if they are changed}{default=false}
arg {number=1}{call=--dropped}{display=Dropped packets only}{type=boolflag}{default=false}\
{tooltip=The verdicts drop and aborted}
arg {number=2}{call=--reason}{display=Reason or rule}{type=string}\
{tooltip=A reason such as bad-header, or the name or number of a rule of the filter}
arg {number=3}{call=--snaplen}{display=Bytes of each packet}{type=integer}{range=1,9216}\
{default=9216}{tooltip=The rest of a packet is not captured}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_protocol_cannot_quote_are_left_out() {
        let text = interfaces(&["eth0".to_owned(), "a}b".to_owned()]);
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines, ["interface {value=xway-eth0}{display=eth0 with its XDP programs}"]);
        assert_eq!((interface("xway-eth0"), interface("eth0")), (Some("eth0"), None));
    }

    #[test]
    fn the_largest_packet_is_that_of_capture() {
        let most = functions::capture::MAX_BYTES;
        assert!(CONFIG.contains(&format!("{{range=1,{most}}}{{default={most}}}")), "{CONFIG}");
    }
}
