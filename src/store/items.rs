//! Reads stored items: phases done, one item with its evidence, and pages of the item list.
//!
//! Pages continue at a cursor of time and id, newest first. To add a filter: a field of [`ItemFilter`] and its
//! condition.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::{JudgedWith, Store, StoreError};
use crate::domain::result::ItemResult;
use crate::domain::verdict::{Phase, Tier, Verdict};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DonePhase {
    pub phase: Phase,
    pub content_hash: String,
    pub degraded: bool,
    pub message_id: Option<String>,
    /// Send time of the message with the stored text, if known.
    pub sent_at: Option<DateTime<Utc>>,
    /// True if the stored result is of this content.
    pub is_current: bool,
}

/// State when a run begins; [`Store::commit`] detects concurrent changes by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStart {
    /// By the database's clock, which processes share.
    pub began_at: DateTime<Utc>,
    /// Evaluation time of the stored result; a concurrent write changes it.
    pub seen: Option<DateTime<Utc>>,
    pub done: Vec<DonePhase>,
    /// Set by the run.
    pub judged_with: JudgedWith,
}

#[derive(Debug, Clone, FromRow)]
pub struct StoredItem {
    pub item_id: String,
    pub title: Option<String>,
    pub text: String,
    pub cluster_members: serde_json::Value,
    pub cluster_id: Option<String>,
    pub channel: Option<String>,
    #[sqlx(json)]
    pub result: ItemResult,
}

#[derive(Debug, Clone, Serialize, PartialEq, FromRow)]
pub struct ItemSummary {
    pub item_id: String,
    pub channel: Option<String>,
    pub title: Option<String>,
    /// The first 200 characters.
    pub text: String,
    pub status: String,
    pub degraded: Vec<String>,
    /// Verdict of the main claim; null if nothing could be checked.
    pub verdict: Option<String>,
    /// Whether the evidence is enough to act on the verdict.
    pub decisive: Option<bool>,
    pub tier: Option<String>,
    pub score: Option<f64>,
    pub enriched_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Default)]
pub struct ItemFilter {
    pub status: Option<String>,
    pub tier: Option<Tier>,
    /// Verdict of the main claim.
    pub verdict: Option<Verdict>,
    /// Whether the verdict is decisive; matches only items with a side.
    pub decisive: Option<bool>,
    pub channel: Option<String>,
    /// ISO 639-1.
    pub language: Option<String>,
    /// Whether a source or step is missing.
    pub degraded: Option<bool>,
    /// Whether a passage contradicts a claim.
    pub contradiction: Option<bool>,
    /// Earliest time of the result.
    pub since: Option<DateTime<Utc>>,
    /// Literal words in text or title, matched from the beginning of a word.
    pub q: Option<String>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    pub limit: i64,
}

#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, FromRow)]
pub struct StoredEvidence {
    pub claim_id: String,
    pub claim: String,
    pub evidence_id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub passage: String,
    pub stance: String,
    pub entail: f64,
    pub contradict: f64,
    pub neutral: f64,
    pub agreement: f64,
    pub relevance: f64,
    pub quality: f64,
    pub credibility: f64,
    pub independent_group: String,
    pub provider: String,
    /// Judge of `entail`, `contradict` and `neutral`; `None` in rows of older versions.
    #[serde(default)]
    pub judge: Option<String>,
    pub rank: i32,
    pub extraction_failed: bool,
}

impl Store {
    /// Returns the database's time and the phases done of an item.
    pub async fn begin(&self, item_id: &str) -> Result<RunStart, StoreError> {
        self.again(|| self.found_at_the_beginning(item_id)).await
    }

    async fn found_at_the_beginning(&self, item_id: &str) -> Result<RunStart, StoreError> {
        #[derive(FromRow)]
        struct Row {
            began_at: DateTime<Utc>,
            seen: Option<DateTime<Utc>>,
            sent_at: Option<DateTime<Utc>>,
            // NULL if no phase is done.
            phase: Option<String>,
            content_hash: Option<String>,
            degraded: Option<bool>,
            message_id: Option<String>,
            is_current: Option<bool>,
        }
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT clock_timestamp() AS began_at, i.evaluated_at AS seen, i.sent_at, p.phase, p.content_hash, p.degraded,
                 p.message_id, p.content_hash = i.content_hash AS is_current
             FROM (SELECT) AS one LEFT JOIN items i ON i.item_id = $1 LEFT JOIN item_phases p USING (item_id)",
        )
        .bind(item_id)
        .fetch_all(&self.pool)
        .await?;
        let corrupt = |detail: &str| StoreError::Corrupt { detail: detail.to_owned() };
        let first = rows.first().ok_or_else(|| corrupt("the database returned no time"))?;
        let (began_at, seen) = (first.began_at, first.seen);
        let mut done = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(phase) = row.phase else { continue };
            done.push(DonePhase {
                phase: Phase::try_from(phase).map_err(|detail| corrupt(&detail))?,
                content_hash: row.content_hash.unwrap_or_default(),
                degraded: row.degraded.unwrap_or_default(),
                message_id: row.message_id,
                sent_at: row.sent_at,
                is_current: row.is_current.unwrap_or_default(),
            });
        }
        Ok(RunStart { began_at, seen, done, judged_with: JudgedWith::default() })
    }

    pub async fn item(&self, item_id: &str) -> Result<Option<StoredItem>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT item_id, title, text, cluster_members, cluster_id, channel, result FROM items WHERE item_id = $1",
        )
        .bind(item_id)
        .fetch_optional(&self.pool)
        .await?)
    }

    /// Returns the channels of a cluster's other items, newest first.
    pub async fn cluster_channels(&self, cluster_id: &str, except_item: &str) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT channel FROM items WHERE cluster_id = $1 AND item_id <> $2 AND channel IS NOT NULL
             GROUP BY channel ORDER BY max(enriched_at) DESC, channel",
        )
        .bind(cluster_id)
        .bind(except_item)
        .fetch_all(&self.pool)
        .await?)
    }

    pub async fn items(&self, filter: &ItemFilter) -> Result<Page<ItemSummary>, StoreError> {
        let limit = filter.limit.clamp(1, 200);
        let after = filter.cursor.as_deref().and_then(parse_cursor);
        if filter.cursor.is_some() && after.is_none() {
            return Err(StoreError::Corrupt { detail: "the cursor is not one this server gave".to_owned() });
        }
        let (after_at, after_id) = after.unzip();
        let pattern = filter.q.as_deref().map(like_pattern);
        let read = async {
            let mut transaction = self.transaction().await?;
            let rows: Vec<ItemSummary> = sqlx::query_as(
            "SELECT item_id, channel, title, left(text, 200) AS text, status, degraded, fact_check_tier::text AS tier,
                 fact_check_score AS score, enriched_at, verdict, decisive
             FROM items
             WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR fact_check_tier = $2::fact_check_tier)
                 AND ($3::text IS NULL OR text ILIKE $3 OR title ILIKE $3)
                 AND ($14::text IS NULL OR item_words(title, text) @@ to_tsquery('simple', $14))
                 AND ($4::timestamptz IS NULL OR (enriched_at, item_id) < ($4, $5))
                 AND ($9::text IS NULL OR channel = $9) AND ($10::text IS NULL OR language = $10)
                 AND ($11::boolean IS NULL OR (cardinality(degraded) > 0) = $11)
                 AND ($12::boolean IS NULL OR $12 = EXISTS
                     (SELECT FROM claims WHERE claims.item_id = items.item_id AND claims.contradiction))
                 AND ($13::timestamptz IS NULL OR enriched_at >= $13)
                 AND ($7::text IS NULL OR verdict = $7)
                 AND ($8::boolean IS NULL OR (decisive = $8 AND verdict NOT IN ('not_enough_evidence', 'not_verifiable')))
             ORDER BY enriched_at DESC, item_id DESC LIMIT $6",
        )
        .bind(&filter.status)
        .bind(filter.tier.map(Tier::as_str))
        .bind(pattern)
        .bind(after_at)
        .bind(after_id)
        .bind(limit + 1)
        .bind(filter.verdict.map(Verdict::as_str))
        .bind(filter.decisive)
        .bind(&filter.channel)
        .bind(&filter.language)
        .bind(filter.degraded)
        .bind(filter.contradiction)
        .bind(filter.since)
        .bind(filter.q.as_deref().and_then(index_query))
        // Replanned each time, because the best index depends on the filters. In a transaction, because a pooler may
        // otherwise lose the unnamed statement.
        .persistent(false)
        .fetch_all(&mut *transaction)
        .await?;
            transaction.commit().await?;
            Ok(rows)
        };
        let mut items = self.in_time(read).await?;
        let more = items.len() > usize::try_from(limit).unwrap_or(usize::MAX);
        if more {
            items.pop();
        }
        let next = items.last().filter(|_| more).map(|last| cursor(last.enriched_at, &last.item_id));
        Ok(Page { items, next })
    }

    pub async fn item_of_claim(&self, claim_id: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar("SELECT item_id FROM claims WHERE claim_id = $1")
            .bind(claim_id)
            .fetch_optional(&self.pool)
            .await?)
    }

    /// Returns all passages of an item, best first within each claim.
    pub async fn item_evidence(&self, item_id: &str) -> Result<Vec<StoredEvidence>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT e.claim_id, c.claim_text AS claim, e.evidence_id, s.url, s.domain, s.title, s.published_at, e.passage,
                 e.stance, e.entail, e.contradict, e.neutral, e.agreement_score AS agreement, e.relevance, e.quality,
                 e.credibility, e.independent_group, e.provider, e.judge, e.rank, s.extraction_failed
             FROM item_evidence e JOIN evidence_sources s ON s.id = e.evidence_id JOIN claims c ON c.claim_id = e.claim_id
             WHERE e.item_id = $1 ORDER BY c.position, e.rank, e.evidence_id",
        )
        .bind(item_id)
        .fetch_all(&self.pool)
        .await?)
    }
}

/// Escapes `%` and `_`, which are literal in user input.
fn like_pattern(words: &str) -> String {
    let escaped = words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

/// Shorter words are in nearly every text, so the index does not help.
const MIN_WORD_CHARS: usize = 3;
/// Maximum words in the query; the rest is compared with the texts found.
const MAX_QUERY_WORDS: usize = 3;
/// From here on, some scripts have no spaces, and the index cannot split their texts.
const FIRST_UNPARTED: char = '\u{0590}';

/// Returns a `tsquery` that matches at least all texts with `typed` at the start of a word. `None` if no word is
/// indexed; all texts must then be read.
fn index_query(typed: &str) -> Option<String> {
    // `item_words` also splits at these characters.
    let parts = typed.split(|sign: char| sign.is_whitespace() || sign.is_ascii_punctuation());
    let mut words: Vec<&str> = parts.filter(|part| is_word(part)).collect();
    // The longest are the rarest.
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let asked: Vec<String> = words.iter().take(MAX_QUERY_WORDS).map(|word| format!("{word}:*")).collect();
    (!asked.is_empty()).then(|| asked.join(" & "))
}

/// Only letters and digits, which both sides read as one word.
fn is_word(word: &str) -> bool {
    word.chars().count() >= MIN_WORD_CHARS && word.chars().all(|sign| sign < FIRST_UNPARTED && sign.is_alphanumeric())
}

fn cursor(at: DateTime<Utc>, id: &str) -> String {
    format!("{}.{id}", at.timestamp_micros())
}

fn parse_cursor(text: &str) -> Option<(DateTime<Utc>, String)> {
    let (micros, id) = text.split_once('.')?;
    Some((DateTime::from_timestamp_micros(micros.parse().ok()?)?, id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_journey() {
        let at = DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap();
        assert_eq!(parse_cursor(&cursor(at, "tg:a.b:1")), Some((at, "tg:a.b:1".to_owned())));
        assert_eq!(parse_cursor("nonsense"), None);
    }

    #[test]
    fn wildcards_people_type_are_letters() {
        assert_eq!(like_pattern("100%_\\"), "%100\\%\\_\\\\%");
    }

    #[test]
    fn the_longest_words_are_looked_up_from_their_beginning() {
        let rows = [
            ("Quelbar", Some("Quelbar:*")),
            ("the mayor of a city", Some("mayor:* & city:* & the:*")),
            ("мост закрыт", Some("закрыт:* & мост:*")),
            ("bbc.co.uk/news", Some("news:* & bbc:*")),
            ("COVID-19's", Some("COVID:*")),
        ];
        for (typed, asked) in rows {
            assert_eq!(index_query(typed).as_deref(), asked, "{typed}");
        }
    }

    #[test]
    fn what_the_index_cannot_know_is_left_to_the_texts() {
        for typed in ["", "%", "5G", "a' | b:*", "東京タワー", "за\u{301}мок", "«так»"] {
            assert_eq!(index_query(typed), None, "{typed}");
        }
    }
}
