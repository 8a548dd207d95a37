//! W3C Trace Context: the `traceparent` header that links our spans to the producer's trace.

/// A validated `00-<trace id>-<parent id>-<flags>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    trace_id: String,
    parent_id: String,
    sampled: bool,
}

impl TraceParent {
    /// Parses a header. Returns `None` if the standard calls it invalid. Later versions are read with the fields of the
    /// first, as the standard requires.
    pub fn parse(header: &str) -> Option<Self> {
        let mut fields = header.trim().split('-');
        let (version, trace_id, parent_id, flags) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_first_version = version == "00";
        if !is_hex(version, 2) || version == "ff" || (is_first_version && fields.next().is_some()) {
            return None;
        }
        if !is_hex(trace_id, 32) || !is_hex(parent_id, 16) || !is_hex(flags, 2) {
            return None;
        }
        let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
        if is_zero(trace_id) || is_zero(parent_id) {
            return None;
        }
        // The lowest bit; the others are reserved.
        let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Some(Self { trace_id: trace_id.to_owned(), parent_id: parent_id.to_owned(), sampled })
    }

    /// 32 hex digits.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// 16 hex digits.
    pub fn parent_id(&self) -> &str {
        &self.parent_id
    }

    pub const fn is_sampled(&self) -> bool {
        self.sampled
    }
}

/// The standard requires lower case.
fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_valid_header_is_read() {
        let parsed = TraceParent::parse(VALID).unwrap();
        assert_eq!(parsed.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(parsed.parent_id(), "b7ad6b7169203331");
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-what-comes";
        assert_eq!(TraceParent::parse(later).unwrap().trace_id(), parsed.trace_id());
        assert!(parsed.is_sampled() && !TraceParent::parse(later).unwrap().is_sampled());
    }

    #[test]
    fn invalid_headers_count_as_none() {
        for header in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            assert_eq!(TraceParent::parse(header), None, "{header}");
        }
    }

    proptest! {
        #[test]
        fn what_the_standard_allows_is_read(trace in 1u128.., parent in 1u64.., flags: u8) {
            let read = TraceParent::parse(&format!("00-{trace:032x}-{parent:016x}-{flags:02x}")).unwrap();
            prop_assert_eq!(read.trace_id(), format!("{trace:032x}"));
            prop_assert_eq!(read.parent_id(), format!("{parent:016x}"));
            prop_assert_eq!(read.is_sampled(), flags % 2 == 1);
        }

        #[test]
        fn no_header_breaks_the_reader(header in ".{0,80}") {
            if let Some(read) = TraceParent::parse(&header) {
                prop_assert_eq!((read.trace_id().len(), read.parent_id().len()), (32, 16));
            }
        }
    }
}
