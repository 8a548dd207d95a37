//! Decompresses a body piece by piece with a size limit, so that no compression bomb fills the memory.
//!
//! The HTTP client's own decompression is off. It limits neither the ratio nor the window of zstd, which a frame may
//! set to 128 MiB and more.

use std::io::{self, Write};

use brotli_decompressor::{BrotliDecoderParameter, DecompressorWriter};
use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use zstd::stream::raw::{DParameter, Decoder as ZstdState};
use zstd::stream::zio::Writer as ZstdWriter;

use super::body_error::BodyError;
use super::excerpt::excerpt;

/// The value of `Accept-Encoding`.
pub(super) const ACCEPTED: &str = "gzip, br, zstd";
/// Maximum zstd window, as a power of two: 8 MiB, the limit of RFC 9659. Memory is touched only as bytes are produced.
const ZSTD_WINDOW: u32 = 23;
/// Maximum ratio of output to input. Markup and JSON shrink to a fifth or a tenth, tables to a fiftieth; a bomb to a
/// thousandth and less.
const MAX_RATIO: usize = 250;
/// Output below which the ratio is ignored: blanks compress well.
const RATIO_FREE: usize = 512 * 1024;
const BROTLI_BUFFER: usize = 16 * 1024;

pub(super) enum Decoder {
    Plain(Sink),
    Gzip(Box<MultiGzDecoder<Sink>>),
    Brotli(Box<DecompressorWriter<Sink>>),
    Zstd(Box<ZstdWriter<Sink, ZstdState<'static>>>),
}

#[derive(Debug, Default)]
pub(super) struct Sink {
    bytes: Vec<u8>,
    /// Output allowed so far; grows with the input, up to `cap`.
    allowed: usize,
    cap: usize,
    /// Compressed bytes so far.
    given: usize,
    is_full: bool,
}

impl Sink {
    fn new(cap: usize) -> Self {
        Self { cap, ..Self::default() }
    }

    fn expect(&mut self, input: usize, is_packed: bool) {
        self.given = self.given.saturating_add(input);
        let by_ratio = self.given.saturating_mul(MAX_RATIO).max(RATIO_FREE);
        self.allowed = if is_packed { by_ratio.min(self.cap) } else { self.cap };
    }
}

impl Write for Sink {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.allowed.saturating_sub(self.bytes.len());
        let taken = piece.get(..room.min(piece.len())).unwrap_or_default();
        self.bytes.extend_from_slice(taken);
        if taken.len() < piece.len() {
            self.is_full = true;
            return Err(io::Error::other("more than allowed came out"));
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// Returns the decoder for the coding in the headers. At most `cap` bytes come out.
    pub(super) fn new(headers: &HeaderMap, cap: usize) -> Result<Self, BodyError> {
        let sink = Sink::new(cap);
        let failed = |error: io::Error| BodyError::Encoding(excerpt(&error.to_string()));
        Ok(match coding(headers)? {
            Coding::Identity => Self::Plain(sink),
            Coding::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(sink))),
            Coding::Brotli => {
                let mut writer = DecompressorWriter::new(sink, BROTLI_BUFFER);
                // RFC 7932 windows end at 16 MiB; the 1 GiB extension is not for the web.
                writer.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
                Self::Brotli(Box::new(writer))
            }
            Coding::Zstd => {
                let mut state = ZstdState::new().map_err(failed)?;
                state.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW)).map_err(failed)?;
                Self::Zstd(Box::new(ZstdWriter::new(sink, state)))
            }
        })
    }

    fn sink(&mut self) -> &mut Sink {
        match self {
            Self::Plain(sink) => sink,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.writer_mut(),
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), BodyError> {
        let is_packed = !matches!(self, Self::Plain(_));
        self.sink().expect(piece.len(), is_packed);
        let outcome = match self {
            Self::Plain(sink) => sink.write_all(piece),
            Self::Gzip(decoder) => decoder.write_all(piece),
            Self::Brotli(decoder) => decoder.write_all(piece),
            Self::Zstd(decoder) => decoder.write_all(piece),
        };
        outcome.map_err(|error| self.failure(&error))
    }

    /// Ends the body. The compressed stream must be complete.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, BodyError> {
        // An empty body is valid in any coding.
        if self.sink().given > 0 {
            let outcome = match &mut self {
                Self::Plain(_) => Ok(()),
                Self::Gzip(decoder) => decoder.try_finish(),
                Self::Brotli(decoder) => decoder.close(),
                Self::Zstd(decoder) => decoder.finish(),
            };
            outcome.map_err(|error| self.failure(&error))?;
        }
        Ok(self.taken())
    }

    pub(super) fn taken(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sink().bytes)
    }

    fn failure(&mut self, error: &io::Error) -> BodyError {
        if self.sink().is_full { BodyError::TooLarge } else { BodyError::Encoding(excerpt(&error.to_string())) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

/// Returns the body's coding. Nested codings are rejected: only bombs use them.
fn coding(headers: &HeaderMap) -> Result<Coding, BodyError> {
    let mut named = None;
    for value in headers.get_all(CONTENT_ENCODING) {
        let value = String::from_utf8_lossy(value.as_bytes());
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let coding = match name.to_ascii_lowercase().as_str() {
                "identity" | "none" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                _ => return Err(BodyError::Encoding(format!("content-encoding {} was not asked for", excerpt(name)))),
            };
            if named.replace(coding).is_some() {
                return Err(BodyError::Encoding(format!("content-encoding {} is nested", excerpt(&value))));
            }
        }
    }
    Ok(named.unwrap_or(Coding::Identity))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(codings: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for coding in codings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        headers
    }

    fn decoded(coding: &'static str, packed: &[u8], cap: usize) -> Result<Vec<u8>, BodyError> {
        let mut decoder = Decoder::new(&headers(&[coding]), cap)?;
        // Pieces of an odd size, as they come over the network.
        packed.chunks(37).try_for_each(|piece| decoder.push(piece))?;
        decoder.finish()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        let mut encoder = brotli::CompressorWriter::new(&mut packed, 4096, 5, 22);
        encoder.write_all(bytes).unwrap();
        drop(encoder);
        packed
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    fn packed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 3] {
        [("gzip", gzip(bytes)), ("br", brotli(bytes)), ("zstd", zstd(bytes))]
    }

    #[test]
    fn every_coding_we_ask_for_is_undone() {
        let page = "Проверка фактов. ".repeat(3_000);
        for (coding, packed) in packed(page.as_bytes()) {
            assert_eq!(decoded(coding, &packed, 1 << 20).unwrap(), page.as_bytes(), "{coding}");
            assert_eq!(decoded(coding, &[], 10).unwrap(), b"", "{coding}: nothing is nothing");
        }
        let members = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(decoded("x-gzip", &members, 100).unwrap(), b"one two");
        assert_eq!(decoded("zstd", &[zstd(b"one "), zstd(b"two")].concat(), 100).unwrap(), b"one two");
        assert_eq!(decoded("identity", b"plain", 5).unwrap(), b"plain");
        assert_eq!(ACCEPTED.split(", ").collect::<Vec<_>>(), packed(b"").map(|(coding, _)| coding));
    }

    #[test]
    fn a_stream_that_is_cut_or_is_none_is_an_error() {
        let page = b"a page with some words that are long enough to be cut".repeat(20);
        for (coding, packed) in packed(&page) {
            for cut in [1, packed.len() / 2, packed.len() - 1] {
                let outcome = decoded(coding, &packed[..cut], 1 << 20);
                assert!(matches!(outcome, Err(BodyError::Encoding(_))), "{coding} cut at {cut}: {outcome:?}");
            }
            let outcome = decoded(coding, b"<!doctype html><p>plain after all", 1 << 20);
            assert!(matches!(outcome, Err(BodyError::Encoding(_))), "{coding}: {outcome:?}");
        }
    }

    #[test]
    fn nested_and_unknown_codings_are_refused() {
        for codings in [&["gzip, gzip"][..], &["gzip", "br"], &["deflate"], &["compress"], &["gzip;q=1"], &["x"]] {
            let outcome = Decoder::new(&headers(codings), 100);
            assert!(matches!(outcome, Err(BodyError::Encoding(_))), "{codings:?}");
        }
        assert!(matches!(Decoder::new(&headers(&["identity, gzip", ""]), 100), Ok(Decoder::Gzip(_))));
    }

    #[test]
    fn more_than_the_cap_never_comes_out() {
        let page: Vec<u8> = (0..60_000_u32).flat_map(u32::to_le_bytes).collect();
        for (coding, packed) in packed(&page) {
            assert!(matches!(decoded(coding, &packed, page.len() - 1), Err(BodyError::TooLarge)), "{coding}");
            assert_eq!(decoded(coding, &packed, page.len()).unwrap().len(), page.len(), "{coding}");
        }
        assert!(matches!(decoded("identity", b"123456", 5), Err(BodyError::TooLarge)));
    }

    #[test]
    fn a_ratio_no_page_has_ends_the_reading_before_the_cap() {
        let blanks = vec![b' '; 64 << 20];
        for (coding, packed) in packed(&blanks) {
            let mut decoder = Decoder::new(&headers(&[coding]), usize::MAX).unwrap();
            let outcome = packed.chunks(1_000).try_for_each(|piece| decoder.push(piece));
            assert!(matches!(outcome, Err(BodyError::TooLarge)), "{coding}: {outcome:?}");
            let held = decoder.taken().len();
            assert!(held <= RATIO_FREE.max(packed.len() * MAX_RATIO), "{coding}: {held} of {}", packed.len());
        }
    }

    #[test]
    fn a_zstd_window_wider_than_the_web_allows_is_refused() {
        for (window, is_read) in [(23, true), (24, false), (27, false)] {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.set_parameter(zstd::stream::raw::CParameter::WindowLog(window)).unwrap();
            encoder.write_all(&b"words ".repeat(10_000)).unwrap();
            let packed = encoder.finish().unwrap();
            assert_eq!(decoded("zstd", &packed, 1 << 20).is_ok(), is_read, "a window of 2^{window}");
        }
    }
}
