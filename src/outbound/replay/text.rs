//! Encodes bodies that are not UTF-8.

/// Returns the text's bytes in a legacy encoding.
pub(super) fn encode(text: &str, label: &str) -> Result<Vec<u8>, &'static str> {
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).ok_or("the charset is not known")?;
    // The library has no UTF-16 encoder and would silently return UTF-8.
    if encoding.output_encoding() != encoding {
        return Err("the charset cannot be written; use body_hex");
    }
    let (bytes, _, lossy) = encoding.encode(text);
    if lossy { Err("the body has characters the charset lacks") } else { Ok(bytes.into_owned()) }
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _infallible = write!(hex, "{byte:02x}");
        hex
    })
}

/// `None` unless the text is an even number of hex digits.
pub(super) fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
