//! The scripted model: a server that speaks chat completions and answers by people's labels, as right or wrong as its mode says.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use corroborate::domain::verdict::Stance;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::rows::Row;

/// How the model behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// No language model.
    None,
    /// People's stance in that share of the passages, else one of the two others.
    Right(f64),
    /// Everything is neutral to it.
    Lazy,
    /// The opposite of people's stance; what they leave open it supports.
    Hostile,
    /// Right in nine of ten, and its JSON stands in prose behind what it thinks aloud.
    Talkative,
    /// It answers with errors.
    Silent,
}

impl Mode {
    pub(crate) fn all() -> Vec<Self> {
        let right = [1.0, 0.9, 0.75, 0.5].map(Self::Right);
        [vec![Self::None], right.to_vec(), vec![Self::Lazy, Self::Hostile, Self::Talkative, Self::Silent]].concat()
    }

    pub(crate) const fn is_random(self) -> bool {
        matches!(self, Self::Right(_) | Self::Talkative)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Right(share) => write!(f, "right:{share}"),
            Self::Lazy => f.write_str("lazy"),
            Self::Hostile => f.write_str("hostile"),
            Self::Talkative => f.write_str("talkative"),
            Self::Silent => f.write_str("silent"),
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "none" => Ok(Self::None),
            "lazy" => Ok(Self::Lazy),
            "hostile" => Ok(Self::Hostile),
            "talkative" => Ok(Self::Talkative),
            "silent" => Ok(Self::Silent),
            _ => word
                .strip_prefix("right:")
                .and_then(|share| share.parse().ok())
                .map(Self::Right)
                .ok_or_else(|| format!("{word:?} is no mode")),
        }
    }
}

/// What the claim in work is labelled with: each passage's text and people's stance of it.
type Labels = Arc<Mutex<Vec<(String, Stance)>>>;

#[derive(Clone)]
struct Told {
    mode: Mode,
    labels: Labels,
    chance: Arc<Mutex<StdRng>>,
}

/// The server, for as long as the process runs.
pub(crate) struct Script {
    port: u16,
    labels: Labels,
}

impl Script {
    /// On a free port of this machine.
    pub(crate) async fn start(mode: Mode, draw: u64) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no free port")?;
        let port = listener.local_addr()?.port();
        let labels = Labels::default();
        let told =
            Told { mode, labels: Arc::clone(&labels), chance: Arc::new(Mutex::new(StdRng::seed_from_u64(draw))) };
        let app = Router::new().route("/v1/chat/completions", post(answer)).with_state(told);
        #[expect(clippy::disallowed_methods, reason = "a server of the measurement, ended with its process")]
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                eprintln!("the scripted model ended: {error}");
            }
        });
        Ok(Self { port, labels })
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The claim that is asked about next.
    pub(crate) fn about(&self, row: &Row) {
        let texts = row.given.evidence.iter().map(|one| plain(&one.text)).zip(row.stances.iter().copied());
        *self.labels.lock().unwrap_or_else(PoisonError::into_inner) = texts.collect();
    }
}

/// Words alone: blanks and composed letters are not what a label is found by.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

async fn answer(State(told): State<Told>, body: String) -> Result<axum::Json<Value>, StatusCode> {
    if told.mode == Mode::Silent {
        return Err(StatusCode::INTERNAL_SERVER_ERROR);
    }
    let request: Value = serde_json::from_str(&body).map_err(|_not_json| StatusCode::BAD_REQUEST)?;
    let message = request.pointer("/messages/1/content").and_then(Value::as_str).unwrap_or_default();
    let stances: Vec<Stance> = passages(message).iter().map(|text| told.stance(text)).collect();
    let says = |stance| stances.contains(&stance);
    let verdict = match (says(Stance::Supports), says(Stance::Contradicts)) {
        (true, true) => "contested",
        (true, false) => "supported",
        (false, true) => "refuted",
        (false, false) => "not_enough_evidence",
    };
    let rows: Vec<Value> = stances
        .iter()
        .enumerate()
        .map(|(n, stance)| json!({"n": n + 1, "stance": stance.as_str(), "elsewhere": false}))
        .collect();
    let claim = json!({"claim": 1, "verdict": verdict, "confidence": 0.9, "justification": "", "passages": rows});
    let object = json!({"claims": [claim]}).to_string();
    let written = object.len() / 4;
    let content = match told.mode {
        Mode::Talkative => {
            format!("<think>Let me see {{…}}.</think>Here it is:\n```json\n{object}\n```\nI hope it helps!")
        }
        _ => object,
    };
    let message = json!({"role": "assistant", "content": content});
    Ok(axum::Json(json!({
        "id": "", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": body.len() / 4, "completion_tokens": written},
    })))
}

/// The passages of a question, in the order they are numbered.
fn passages(message: &str) -> Vec<String> {
    let blocks = message.split("<data ").skip(1).filter_map(|block| {
        let (head, rest) = block.split_once(">\n")?;
        head.ends_with(" passage").then(|| rest.split("\n</data ").next().unwrap_or_default().to_owned())
    });
    blocks.collect()
}

impl Told {
    fn stance(&self, passage: &str) -> Stance {
        let text = plain(passage);
        let labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        let label = labels.iter().find(|(known, _)| known.contains(&text) || text.contains(known));
        let people = label.map_or(Stance::Neutral, |(_, stance)| *stance);
        match self.mode {
            Mode::None | Mode::Silent | Mode::Lazy => Stance::Neutral,
            Mode::Hostile => match people {
                Stance::Supports => Stance::Contradicts,
                Stance::Contradicts | Stance::Neutral => Stance::Supports,
            },
            Mode::Right(share) => self.mostly(people, share),
            Mode::Talkative => self.mostly(people, 0.9),
        }
    }

    fn mostly(&self, people: Stance, share: f64) -> Stance {
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        if chance.random::<f64>() < share {
            return people;
        }
        let others = [Stance::Supports, Stance::Contradicts, Stance::Neutral].into_iter().filter(|one| *one != people);
        let mut others = others;
        others.nth(usize::from(chance.random::<bool>())).unwrap_or(people)
    }
}
