//! `BytesError`: a text does not represent the bytes of a key or value.

/// Why a text does not represent the bytes of a key or value.
#[derive(Debug, thiserror::Error)]
pub enum BytesError {
    #[error("`{text}` is {len} bytes, the map takes {width}")]
    Width { text: String, len: usize, width: usize },
    #[error("`{text}`: specify its width, such as {digits}:u32")]
    NoWidth { text: String, digits: String },
    #[error("`{0}` is not a number, an address or hex:…")]
    NotANumber(String),
    #[error("`{digits}` does not fit {width} bytes")]
    TooLarge { digits: String, width: usize },
    #[error("expected bytes as pairs of digits 0 to 9 and a to f")]
    NotHex,
}
