//! Web servers that receive results: `[webhooks]`.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::deserialize::secret;
use super::key::{CALL, Key};
use super::kind::{Field, Kind, SecretKind, Shape};
use crate::domain::Event;

const EVENTS: &[&str] = &[
    Event::ItemEnriched.as_str(),
    Event::ClaimVerified.as_str(),
    Event::ClaimContradicted.as_str(),
    Event::ClaimOutdated.as_str(),
    Event::ClaimContested.as_str(),
    Event::ClaimUnverifiable.as_str(),
    Event::ItemUpdated.as_str(),
    Event::ClaimChanged.as_str(),
    Event::CorrectionGenerated.as_str(),
];

static ENDPOINT: Shape = Shape {
    what: "webhook",
    secret_prefix: "CORROBORATE_WEBHOOK",
    fields: &[
        Field::required("name", Kind::Slug, "a short name"),
        Field::required("url", Kind::Url, "the address that messages are posted to"),
        Field::optional("events", Kind::Words(EVENTS), "the events that are posted to it; all of them when absent"),
        Field::optional("secret", Kind::Secret(SecretKind::Header), "key that messages are signed with"),
        Field::optional(
            "old_secret",
            Kind::Secret(SecretKind::Header),
            "the key before, while a receiver changes keys",
        ),
    ],
};

pub(super) fn keys() -> Vec<Key> {
    vec![
        Key::own("webhooks.endpoints", Kind::Tables(&ENDPOINT), "web servers that results are posted to"),
        Key::own("webhooks.timeout", CALL, "longest time of one try"),
        Key::own(
            "webhooks.give_up_after",
            Kind::Duration { min: Duration::from_secs(1), max: Duration::from_hours(7 * 24), bare: None },
            "how long a message is tried",
        ),
    ]
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhooksConfig {
    pub endpoints: Vec<WebhookEndpoint>,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    #[serde(with = "humantime_serde")]
    pub give_up_after: Duration,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpoint {
    pub name: String,
    pub url: Url,
    /// Unset: all events.
    #[serde(default)]
    pub events: Option<Vec<Event>>,
    #[serde(default, deserialize_with = "secret")]
    pub secret: Option<SecretString>,
    #[serde(default, deserialize_with = "secret")]
    pub old_secret: Option<SecretString>,
}

impl WebhookEndpoint {
    pub fn events(&self) -> Vec<Event> {
        self.events.clone().unwrap_or_else(|| Event::ALL.to_vec())
    }

    pub fn secret_env(&self) -> String {
        let secret = ENDPOINT.field("secret");
        secret.map(|field| ENDPOINT.secret_env(&self.name, field)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_events_of_the_table_are_all_events() {
        let all: Vec<&str> = Event::ALL.iter().map(|event| event.as_str()).collect();
        assert_eq!(all, EVENTS);
    }
}
