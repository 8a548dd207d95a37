//! Scripted providers and their hits, for the tests of retrieval.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use crate::domain::SystemClock;
use crate::domain::item::SourceKind;
use crate::judging::profile::TextProfile;
use crate::outbound::{AskError, Asker, Gate, GateSettings, HttpClient, NoObserver};
use crate::pipeline::candidate::Candidate;
use crate::pipeline::queries::ForeignQuery;
use crate::providers::{Answer, Content, Hit, Languages, NAMES, Profile, Provider, ProviderKind, Query, Storage};

pub(super) fn query(text: &str) -> Query {
    Query {
        text: text.to_owned(),
        terms: Vec::new(),
        language: Some("en".to_owned()),
        domains: Vec::new(),
        around: None,
        limit: 5,
        source_document: None,
    }
}

pub(super) fn foreign(text: &str, language: &str) -> ForeignQuery {
    let profile = Arc::new(TextProfile::new(text, Some(language), None, &[]));
    ForeignQuery { query: Query { language: Some(language.to_owned()), ..query(text) }, profile }
}

pub(crate) fn hit(provider: &'static str, url: &str, title: &str, content: Option<Content>) -> Hit {
    Hit {
        url: url.to_owned(),
        title: title.to_owned(),
        snippet: String::new(),
        published_at: None,
        language: None,
        provider,
        storage: Storage::Stored,
        content,
    }
}

pub(super) fn titled(url: &str, title: &str) -> Candidate {
    let hit = hit("searxng", url, title, None);
    let url = Url::parse(url).unwrap();
    Candidate { domain: url.host_str().unwrap().to_owned(), hit, url, about: true }
}

pub(super) fn candidate(url: &str) -> Candidate {
    titled(url, "")
}

#[derive(Debug, Clone)]
pub(super) enum ScriptedAnswer {
    Hits(Vec<Hit>),
    Fails(AskError),
}

#[derive(Debug)]
pub(super) struct ScriptedProvider {
    profile: Profile,
    cost_usd: f64,
    late: Duration,
    idle: bool,
    script: Mutex<VecDeque<ScriptedAnswer>>,
    pub(super) begun: AtomicU32,
    pub(super) ended: AtomicU32,
    gate: Gate,
}

impl ScriptedProvider {
    pub(super) fn new(name: &str, late: Duration, script: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        let name = *NAMES.iter().find(|known| **known == name).unwrap();
        let source = match name {
            "feeds" => SourceKind::Feeds,
            "corpus" => SourceKind::Corpus,
            "database" => SourceKind::Database,
            "api" => SourceKind::Api,
            _ => SourceKind::Web,
        };
        let own = !matches!(source, SourceKind::Feeds | SourceKind::Web);
        let profile = Profile {
            name,
            title: "Scripted",
            kind: if own { ProviderKind::Own } else { ProviderKind::Search },
            source,
            storage: Storage::Stored,
            languages: Languages::All,
            restricts_domains: source == SourceKind::Web,
            local: false,
            returns: "",
            terms: "",
            configure: "",
        };
        let settings = GateSettings {
            name,
            rpm: 600_000,
            max_wait: Duration::from_secs(1),
            timeout: Duration::from_mins(1),
            max_bytes: 0,
            max_attempts: 1,
            cooldown: Duration::from_secs(1),
            failures_to_open: 100,
            daily_limit: None,
            cost_usd: 0.0,
        };
        let http = HttpClient::live("corroborate-test").unwrap();
        Self {
            profile,
            cost_usd: 0.0,
            late,
            idle: false,
            script: Mutex::new(script.into_iter().collect()),
            begun: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            gate: Gate::new(settings, http, Arc::new(SystemClock), Arc::new(NoObserver)),
        }
    }

    pub(super) fn priced(mut self, usd: f64) -> Self {
        self.cost_usd = usd;
        self
    }

    pub(super) fn with_nothing_to_ask(mut self) -> Self {
        self.idle = true;
        self
    }

    pub(super) fn with_languages(mut self, languages: &'static [&'static str]) -> Self {
        self.profile.languages = Languages::Only(languages);
        self
    }

    pub(super) fn provider(name: &str) -> Arc<dyn Provider> {
        Arc::new(Self::new(name, Duration::ZERO, []))
    }

    pub(super) fn paid(name: &str) -> Arc<dyn Provider> {
        Arc::new(Self::new(name, Duration::ZERO, []).priced(0.01))
    }

    fn answer(&self) -> Result<Answer, AskError> {
        self.ended.fetch_add(1, Ordering::Relaxed);
        match self.script.lock().unwrap().pop_front() {
            None => Ok(Answer::default()),
            Some(ScriptedAnswer::Hits(hits)) => Ok(Answer { hits, ..Answer::default() }),
            Some(ScriptedAnswer::Fails(error)) => Err(error),
        }
    }
}

impl Provider for ScriptedProvider {
    fn profile(&self) -> &'static Profile {
        Box::leak(Box::new(self.profile))
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    fn ask<'a>(&'a self, _query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        if self.idle {
            return Box::pin(async { Ok(Answer::default()) });
        }
        self.begun.fetch_add(1, Ordering::Relaxed);
        Box::pin(self.gate.run(asker, || async {
            tokio::time::sleep(self.late).await;
            self.answer()
        }))
    }
}
