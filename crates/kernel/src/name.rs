//! Names as the kernel takes them: 15 bytes of letters, digits, `_` and `.`.

/// Bytes of a name without its closing zero.
const LIMIT: usize = 15;

/// A program's or map's name, with characters that the kernel rejects replaced by `_`.
pub fn sanitized(name: &str) -> String {
    name.chars()
        .map(
            |letter| {
                if letter.is_ascii_alphanumeric() || ".".contains(letter) { letter } else { '_' }
            },
        )
        .take(LIMIT)
        .collect()
}

/// Data sections are called alike in every object, so they carry the start of its name.
pub fn of_map(object: &str, map: &str) -> String {
    if !map.starts_with('.') {
        return sanitized(map);
    }
    let room = LIMIT.saturating_sub(map.len());
    let file = object.rsplit('/').next().unwrap_or(object);
    let stem = file.split('.').next().unwrap_or(file);
    let stem: String = stem.chars().take(room).collect();
    sanitized(&format!("{stem}{map}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel() {
        let table = [
            ("count", "count"),
            ("a-map with€signs", "a_map_with_sign"),
            ("a_very_long_name_indeed", "a_very_long_nam"),
            ("", ""),
        ];
        for (given, expected) in table {
            assert_eq!(sanitized(given), expected);
        }
        assert_eq!(of_map("build/drop.bpf.o", ".rodata"), "drop.rodata");
        assert_eq!(of_map("traffic-generator.o", ".rodata"), "traffic_.rodata");
        assert_eq!(of_map("x.o", ".data.a_long_section_name"), ".data.a_long_se");
        assert_eq!(of_map("x.o", "stats"), "stats");
    }
}
