//! The attributes of types and fields that decide their JSON: `serde`'s, and doc comments.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The `#[serde(…)]` attributes of a type, a field or a variant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Serde {
    pub rename: Option<String>,
    pub rename_all: Option<String>,
    /// Key that names the variant.
    pub tag: Option<String>,
    /// Type that this one is converted into.
    pub into: Option<String>,
    pub serialize_with: Option<String>,
    pub is_flattened: bool,
    pub is_skipped: bool,
    pub is_transparent: bool,
    pub is_untagged: bool,
    /// The key is absent where a condition holds.
    pub is_optional: bool,
}

impl Serde {
    pub fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut serde = Self::default();
        for attribute in attributes.iter().filter(|one| one.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let value = if meta.input.peek(syn::Token![=]) {
                    let text: syn::LitStr = meta.value()?.parse()?;
                    Some(text.value())
                } else {
                    None
                };
                serde.set(&name, value);
                Ok(())
            })?;
        }
        Ok(serde)
    }

    fn set(&mut self, name: &str, value: Option<String>) {
        match name {
            "rename" => self.rename = value,
            "rename_all" => self.rename_all = value,
            "tag" => self.tag = value,
            "into" => self.into = value,
            "serialize_with" | "with" => self.serialize_with = value,
            "flatten" => self.is_flattened = true,
            "skip" | "skip_serializing" => self.is_skipped = true,
            "transparent" => self.is_transparent = true,
            "untagged" => self.is_untagged = true,
            "skip_serializing_if" => self.is_optional = true,
            _ => {}
        }
    }

    /// The name of a variant of an enum with these attributes.
    pub fn variant(&self, name: &str, own: &Self) -> String {
        match (&own.rename, self.rename_all.as_deref()) {
            (Some(name), _) => name.clone(),
            (None, Some("lowercase")) => name.to_lowercase(),
            (None, Some("snake_case")) => separated(name, '_'),
            (None, Some("kebab-case")) => separated(name, '-'),
            _ => name.to_owned(),
        }
    }
}

/// `TailCall` with a separator: `tail_call`.
fn separated(name: &str, separator: char) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(separator);
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// The doc comment as one paragraph, without links to Rust items.
pub fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(meta) = &attribute.meta else { return None };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value else { return None };
        meta.path.is_ident("doc").then(|| text.value().trim().to_owned())
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    text.replace("[`", "`").replace("`]", "`").replace('|', "\\|").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_named_as_serde_does() {
        let all = |rule: &str| Serde { rename_all: Some(rule.into()), ..Serde::default() };
        let own = Serde::default();
        assert_eq!(all("snake_case").variant("TailCall", &own), "tail_call");
        assert_eq!(all("kebab-case").variant("RulesChanged", &own), "rules-changed");
        assert_eq!(all("lowercase").variant("Tx", &own), "tx");
    }
}
