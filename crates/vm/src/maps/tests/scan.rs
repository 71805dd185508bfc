//! Reading whole maps.

use spec::MapKind;

use super::{CPUS, key, made, update, value};

#[test]
fn scans_pass_what_is_there_and_of_arrays_what_is_not_zero() {
    let most = u32::MAX >> 5;
    let table = [
        (MapKind::ARRAY, most, &[0, 1, 70_000, most - 1][..]),
        (MapKind::PERCPU_ARRAY, 50_000, &[7, 8, 49_999]),
        (MapKind::HASH, 1 << 20, &[3, 99, u32::MAX]),
        (MapKind::LRU_HASH, 1 << 20, &[3, 99, u32::MAX]),
        (MapKind::PERCPU_HASH, 100, &[5]),
    ];
    for (kind, entries, written) in table {
        let map = made(kind, [4, 8, entries], 0);
        for (cpu, number) in (0..).zip(written) {
            update(&map, cpu % CPUS, &key(*number), &value(u64::from(*number) + 1)).unwrap();
        }
        let mut seen = Vec::new();
        let whole = map.scan(&mut || true, &mut |key, value| {
            assert_eq!(value, map.read(key).unwrap());
            seen.push(u32::from_ne_bytes(key.try_into().unwrap()));
        });
        seen.sort_unstable();
        assert_eq!((whole, &seen[..]), (Ok(true), written), "{:?}", kind.name());
        assert_eq!(map.scan(&mut || false, &mut |_, _| panic!("ended before")), Ok(false));
    }
}
