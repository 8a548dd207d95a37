//! Recognises refusals by common bot checks.

use reqwest::header::HeaderMap;

/// Bytes searched; the marks are at the beginning.
pub(super) const LOOKED_AT: usize = 64 * 1024;

pub(super) fn may_be(status: u16) -> bool {
    matches!(status, 401 | 403 | 405 | 406 | 418 | 429 | 503 | 520..=530)
}

/// Headers that only a bot check sends.
pub(super) fn has_mark(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found.as_bytes() == value.as_bytes());
    // Marks of Cloudflare (documented), DataDome and AWS WAF.
    is("cf-mitigated", "challenge")
        || headers.contains_key("x-datadome")
        || is("x-amzn-waf-action", "challenge")
        || is("x-amzn-waf-action", "captcha")
}

/// Whether a refusal's body contains a mark. In a served page it would prove nothing.
pub(super) fn shows(body: &[u8]) -> bool {
    const MARKS: [&str; 26] = [
        // Cloudflare
        "cf-chl-",
        "cf_chl_",
        "challenge-platform",
        "just a moment",
        "attention required! | cloudflare",
        "cf-error-details",
        // DataDome, PerimeterX (HUMAN), Imperva, Akamai, Kasada, AWS, Sucuri, DDoS-Guard, Qrator, Yandex
        "captcha-delivery.com",
        "px-captcha",
        "perimeterx",
        "_incapsula_resource",
        "incapsula incident",
        "errors.edgesuite.net",
        "akamai",
        "kpsdk",
        "aws-waf",
        "awswaf",
        "sucuri website firewall",
        "ddos-guard",
        "qrator",
        "smartcaptcha",
        // Any vendor
        "g-recaptcha",
        "h-captcha",
        "hcaptcha",
        "captcha",
        "are you a robot",
        "unusual traffic",
    ];
    let text = String::from_utf8_lossy(body).to_lowercase();
    MARKS.iter().any(|mark| text.contains(mark))
}
