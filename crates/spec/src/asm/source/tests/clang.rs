#[test]
fn all() {
    use crate::asm::source::assemble;
    use crate::model::Spec;
    let mut bad = 0;
    let mut n = 0;
    let mut paths: Vec<_> = std::fs::read_dir("/tmp/s").unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.extension().is_none_or(|e| e != "s") { continue }
        n += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let object = match assemble("x.s", &text) {
            Ok(o) => o,
            Err(e) => { println!("{path:?}: {e}"); bad += 1; continue }
        };
        let ours = Spec::parse("x", &object);
        let theirs = Spec::parse("x", &std::fs::read(path.with_extension("o")).unwrap());
        match (ours, theirs) {
            (Ok(a), Ok(b)) => {
                if a != b {
                    bad += 1;
                    println!("{path:?}: differs: programs {} maps {} btf {} kconfig {} vars {}", a.programs == b.programs, a.maps == b.maps, a.btf == b.btf, a.kconfig == b.kconfig, a.variables == b.variables);
                    if a.variables != b.variables { println!("{:?}\n{:?}", a.variables, b.variables) }
                    for (p, q) in a.programs.iter().zip(&b.programs) { if p != q { println!("{} insns {} fixups {} functions {} lines {}", p.name, p.insns == q.insns, p.fixups == q.fixups, p.functions == q.functions, p.lines == q.lines);
                        if p.insns != q.insns { for (i, (x, y)) in p.insns.iter().zip(&q.insns).enumerate() { if x != y { println!("{i} {x:?} {y:?}"); break } } }
                        break } }
                }
            }
            (a, b) => { bad += 1; println!("{path:?}: {:?} {:?}", a.err(), b.err()) }
        }
    }
    println!("{bad} of {n}");
    assert_eq!(bad, 0);
}
