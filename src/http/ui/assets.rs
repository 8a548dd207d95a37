//! Style sheet, script and icon, compiled into the program.
//!
//! Their address contains a digest, so browsers may cache them without limit.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use crate::http::problem::Problem;
use crate::http::session::hex;

const ASSETS: [(&str, &str, &str); 3] = [
    ("style.css", "text/css; charset=utf-8", include_str!("assets/style.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("assets/page.js")),
    ("mark.svg", "image/svg+xml", include_str!("assets/mark.svg")),
];

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for (_, _, text) in ASSETS {
        digest.update(text);
    }
    hex(digest.finalize().first_chunk::<8>().map_or(&[], <[u8; 8]>::as_slice))
});

pub(super) fn version() -> &'static str {
    &VERSION
}

/// Serves a file under any version, because a page of an older one may be open.
pub(super) async fn asset(Path((asked, name)): Path<(String, String)>) -> Result<Response, Problem> {
    let found = ASSETS.iter().find(|(known, ..)| *known == name);
    let (_, kind, text) = found.ok_or_else(|| Problem::not_found("there is no such file"))?;
    let keep = if asked == *VERSION { "public, max-age=31536000, immutable" } else { "no-cache" };
    Ok(([(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, keep)], *text).into_response())
}
