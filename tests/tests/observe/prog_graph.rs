//! `xway prog graph`: programs, maps, tail calls, interfaces and links.

use kernel::{Attach, Mode, Replace};
use serde_json::{Value, json};
use spec::{Expect, Map as _};
use xway_tests::clang;
use xway_tests::program::load;
use xway_tests::stage::Stage;

const SOURCE: &str = r#"
struct { int (*type)[BPF_MAP_TYPE_PROG_ARRAY]; __u32 *key; __u32 *value; int (*max_entries)[4]; }
	steps SEC(".maps");
struct { int (*type)[BPF_MAP_TYPE_DEVMAP]; __u32 *key; __u32 *value; int (*max_entries)[4]; }
	ports SEC(".maps");
static long (*const tail_call)(void *, void *, __u32) = (void *)BPF_FUNC_tail_call;
static long (*const redirect_map)(void *, __u64, __u64) = (void *)BPF_FUNC_redirect_map;

SEC("xdp") int graph_first(struct xdp_md *ctx) { tail_call(ctx, &steps, 3); return XDP_PASS; }
SEC("xdp") int graph_next(struct xdp_md *ctx) { return redirect_map(&ports, 1, XDP_PASS); }
"#;

fn place(kind: &str, id: u32) -> Value {
    json!({"kind": kind, "id": id, "elsewhere": false})
}

#[test]
fn tail_calls_maps_interfaces_and_links_are_found() {
    let stage = Stage::new();
    let host = &stage.net.b;
    let object = load(&clang::read("graph", SOURCE));
    let [first, next] = ["graph_first", "graph_next"].map(|name| object.program(name).unwrap());
    let [steps, ports] = ["steps", "ports"].map(|name| object.map(name).unwrap());
    steps.put_program(3, next).unwrap();
    let ifindex = host.ifindex("eth0").unwrap();
    // A device map belongs to the namespace in which it is written.
    host.run(|| ports.update(&1_u32.to_ne_bytes(), &ifindex.0.to_ne_bytes(), Expect::Any))
        .unwrap()
        .unwrap();
    let attach = Attach { ifindex, program: first, mode: Mode::Native, replace: Replace::No };
    let link = host.run(|| kernel::attach(&attach)).unwrap().unwrap();
    let link = link.info().unwrap().unwrap().id;

    let id = next.id().to_string();
    let graph = stage.json(&["prog", "graph", &id]);
    let [first_at, next_at] = [first, next].map(|program| place("program", program.id()));
    let [steps_at, ports_at] = [steps, ports].map(|map| place("map", map.id()));
    let eth0 = place("interface", ifindex.0);
    for (from, to, relation, label) in [
        (&first_at, &steps_at, "uses", ""),
        (&steps_at, &next_at, "calls", "3"),
        (&next_at, &ports_at, "uses", ""),
        (&ports_at, &eth0, "redirects-to", "1"),
        (&first_at, &eth0, "runs-on", "native"),
        (&place("link", link), &first_at, "attaches", ""),
    ] {
        let edge = json!({"from": from, "to": to, "relation": relation, "label": label});
        assert!(graph["edges"].as_array().unwrap().contains(&edge), "{edge}: {graph:#}");
    }
    assert_eq!(graph["edges"].as_array().unwrap().len(), 6, "{graph:#}");
    let names: Vec<_> =
        graph["nodes"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
    for name in ["graph_first", "graph_next", "steps", "ports", "eth0", ""] {
        assert!(names.contains(&&json!(name)), "{name}: {names:?}");
    }
    let text = stage.run(&["prog", "graph", &id]).ended(0);
    for words in ["runs on eth0 [native]", "graph_next (xdp) [3]", "redirects to eth0 [1]"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let dot = stage.run(&["prog", "graph", "--dot", &id]).ended(0);
    let arrow = format!("map_{} -> program_{} [label=\"calls 3\"]", steps.id(), next.id());
    assert!(dot.starts_with("digraph xway {") && dot.contains(&arrow), "{dot}");
    // Everything in the kernel includes it.
    let all = stage.json(&["prog", "graph"]);
    assert!(all["edges"].as_array().unwrap().len() >= 6, "{all:#}");
}
