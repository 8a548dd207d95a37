//! Examples for `/openapi.json` and `/docs`.
//!
//! A test checks them against the schemas.

use serde_json::{Value, json};

pub(super) fn body(operation: &str) -> Option<Value> {
    Some(match operation {
        "verify" => json!({
            "claim": "Apollo 11 landed the first humans on the Moon in 1969.", "language": "en", "vocabulary": "ours"
        }),
        "sendItems" => json!([{
            "schema": 1, "item_id": "tg:example:17", "channel": "@example", "language": "uk",
            "published_at": "2026-11-18T07:15:00Z", "importance": 0.8,
            "text": "Порт Ізмаїл у жовтні перевалив 420 тисяч тонн зерна."
        }]),
        "putDomain" => json!({
            "domain": "example.org", "list": "allow", "credibility": 0.8, "why": "corrects its mistakes in public"
        }),
        "previewDomain" => {
            json!({ "domain": "example.org", "list": "deny", "why": "made up three stories in October" })
        }
        "importDomains" => json!({
            "csv": "domain,list\nexample.org,allow\nfake.example,deny\n", "dry_run": true
        }),
        "addToken" => json!({ "name": "night desk", "scope": "check", "requests_per_minute": 60, "days": 90 }),
        "cleanUp" => json!({ "dry_run": true }),
        "requeueDead" | "dropDead" => json!({ "reason": "not_json" }),
        "retryWebhooks" | "dropWebhooks" => json!({ "webhook": "newsroom" }),
        _ => return None,
    })
}

pub(super) fn answer(operation: &str) -> Option<Value> {
    Some(match operation {
        "sendItems" => json!({ "accepted": 1, "rejected": [], "rejected_count": 0 }),
        "requeueDead" | "dropDead" | "retryWebhooks" | "dropWebhooks" => json!({ "count": 3 }),
        "listWebhooks" => json!({
            "items": [{
                "name": "newsroom", "events": ["item.enriched"], "pending": 2, "oldest": "2026-11-18T07:15:02Z",
                "dead": 0, "last_error": "answered 503"
            }],
            "next": null
        }),
        _ => return None,
    })
}
