//! One round: searches due sites for feeds and reads due feeds. One process claims what is due; an unfinished claim
//! expires.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Timelike as _, Utc};
use futures::StreamExt as _;
use futures::stream;
use tokio::time::Instant;
use url::Url;

use super::Feeds;
use crate::domain::limits::is_storable_url;
use crate::language::tokens;
use crate::outbound::{FetchError, FetchOutcome, FetchedPage, Validators};
use crate::reading::decode_for;
use crate::reading::feeds::{Feed, FeedEntry, FeedError, feeds_of_page, read_feed};
use crate::store::{ClaimedFeed, FeedEntryRow, FeedReading, StoreError};

/// How long a process has a feed to itself; longer than any fetch.
const CLAIM: TimeDelta = TimeDelta::minutes(3);
const AT_ONCE: usize = 8;
const TAKEN: i64 = 8;
/// Home pages rarely change their feeds; a failed site is tried again sooner.
const NEXT_LOOK: TimeDelta = TimeDelta::days(7);
const NEXT_TRY: TimeDelta = TimeDelta::hours(2);
/// Maximum pause of a failing feed, which grows, and minimum pause after a throttle.
const LONGEST_REST: TimeDelta = TimeDelta::days(1);
const THROTTLED_REST: TimeDelta = TimeDelta::hours(1);
/// Maximum feeds per site; the first ones are the general ones.
const FEEDS_OF_A_SITE: usize = 4;
/// Usual paths of feeds, if the home page names none.
const USUAL_PATHS: [&str; 4] = ["/rss.xml", "/feed", "/rss", "/atom.xml"];
/// Maximum stems per entry; more belong to a whole article and match everything.
const MOST_STEMS: usize = 200;
/// Longest stored stem in bytes. The stems are indexed, and no word is longer.
const MAX_STEM_BYTES: usize = 256;

impl Feeds {
    /// Reads what is due until the time ends. A failure is stored with the feed and is no error of the round.
    pub(super) async fn round(&self, end: Instant) -> Result<(), StoreError> {
        let (store, now) = (&self.parts.store, self.parts.clock.now());
        // Stored without a site, so that a feed removed from the configuration is no longer read.
        let configured: Vec<(String, String)> =
            self.settings.urls.iter().map(|url| (url.to_string(), String::new())).collect();
        store.add_feeds(&configured, now).await?;
        // Known feeds come first: they have news, home pages may have none.
        self.read_due(end).await?;
        if self.settings.discover {
            while Instant::now() < end && self.look_at_sites(end).await? {
                self.read_due(end).await?;
            }
        }
        let removed = store.clean_feed_entries(self.settings.keep).await?;
        if removed > 0 {
            tracing::debug!(removed, "old feed entries removed");
        }
        Ok(())
    }

    async fn read_due(&self, end: Instant) -> Result<(), StoreError> {
        while Instant::now() < end {
            let now = self.parts.clock.now();
            let due = self.parts.store.claim_feeds(&self.wanted(), now, now + CLAIM, TAKEN).await?;
            if due.is_empty() {
                break;
            }
            let reading = stream::iter(due).map(|feed| self.read(feed, end)).buffer_unordered(AT_ONCE);
            let outcomes: Vec<Result<(), StoreError>> = reading.collect().await;
            outcomes.into_iter().collect::<Result<(), StoreError>>()?;
        }
        Ok(())
    }

    async fn read(&self, feed: ClaimedFeed, end: Instant) -> Result<(), StoreError> {
        let (now, rules) = (self.parts.clock.now(), (self.parts.rules)());
        let known = Validators { etag: feed.etag.clone(), last_modified: feed.last_modified.clone() };
        let mut reading = FeedReading { url: feed.url.clone(), ..FeedReading::default() };
        let mut entries = Vec::new();
        let denied = |host: &str| rules.is_denied(host);
        let fetched = match Url::parse(&feed.url) {
            Ok(url) => self.parts.pages.fetch_if_changed(&url, &known, end, &denied).await,
            Err(_no_url) => Err(FetchError::BadUrl),
        };
        let interval = TimeDelta::from_std(self.settings.interval).unwrap_or(LONGEST_REST);
        reading.next_poll_at = now + interval;
        match fetched {
            // Our time ended, which is not the feed's failure; the claim expires.
            Err(FetchError::Deadline) => return Ok(()),
            Ok(FetchOutcome::NotModified(validators)) => {
                (reading.etag, reading.last_modified) = (validators.etag, validators.last_modified);
            }
            Ok(FetchOutcome::Page(page)) => {
                (reading.etag, reading.last_modified) = (page.etag.clone(), page.last_modified.clone());
                match self.parse(page).await {
                    Ok(read) => {
                        reading.next_poll_at = next_poll(now, interval, &read);
                        (reading.title, reading.language) = (read.title, read.language.clone());
                        let oldest = now - TimeDelta::from_std(self.settings.keep).unwrap_or(TimeDelta::MAX);
                        let kept = read.entries.into_iter().filter(|entry| {
                            let host = entry.url.host_str().unwrap_or_default();
                            rules.is_allowed(host)
                                && is_storable_url(entry.url.as_str())
                                && !rules.is_denied(host)
                                && entry.published_at.is_none_or(|date| date >= oldest)
                        });
                        entries = kept.map(|entry| row(entry, read.language.as_deref(), now)).collect();
                    }
                    Err(error) => reading.error = Some(error),
                }
            }
            Err(FetchError::Status(410)) => {
                (reading.gone, reading.error) = (true, Some(FetchError::Status(410).to_string()));
            }
            Err(error) => reading.error = Some(error.to_string()),
        }
        if let Some(error) = &reading.error {
            let throttled = error == &FetchError::Status(429).to_string();
            let doubled = interval * 2_i32.pow(feed.failures.min(8));
            let least = if throttled { THROTTLED_REST } else { interval };
            reading.next_poll_at = now + doubled.max(least).min(LONGEST_REST.max(interval));
            tracing::debug!(feed = reading.url, error, "feed not read");
        }
        self.parts.store.finish_feed(&reading, &entries, now).await
    }

    async fn look_at_sites(&self, end: Instant) -> Result<bool, StoreError> {
        let (store, now) = (&self.parts.store, self.parts.clock.now());
        let due = store.claim_feed_sites(&self.sites(), now, now + NEXT_TRY, TAKEN).await?;
        if due.is_empty() {
            return Ok(false);
        }
        let looks = stream::iter(due).map(|host| async move { (self.feeds_of(&host, end).await, host) });
        let found: Vec<(Option<Vec<Url>>, String)> = looks.buffer_unordered(AT_ONCE).collect().await;
        for (feeds, host) in found {
            let Some(feeds) = feeds else { continue };
            let feeds: Vec<(String, String)> =
                feeds.into_iter().take(FEEDS_OF_A_SITE).map(|url| (url.into(), host.clone())).collect();
            let new = store.add_feeds(&feeds, now).await?;
            store.finish_feed_site(&host, now + NEXT_LOOK).await?;
            if new > 0 {
                tracing::info!(host, feeds = new, "feeds found");
            }
        }
        Ok(true)
    }

    /// Returns the feeds of a site; `None` if it could not be read.
    async fn feeds_of(&self, host: &str, end: Instant) -> Option<Vec<Url>> {
        let rules = (self.parts.rules)();
        let denied = |host: &str| rules.is_denied(host);
        let home = Url::parse(&format!("https://{host}/")).ok()?;
        let page = self.parts.pages.fetch(&home, end, &denied).await.ok()?;
        let (html, _, _) = decode_for(&page.body, page.content_type.as_deref(), page.final_url.host_str());
        let named = feeds_of_page(&html, &page.final_url);
        if !named.is_empty() {
            return Some(named);
        }
        for path in USUAL_PATHS {
            let Ok(url) = page.final_url.join(path) else { continue };
            match self.parts.pages.fetch(&url, end, &denied).await {
                Ok(page) => {
                    if self.parse(page).await.is_ok_and(|feed| !feed.entries.is_empty()) {
                        return Some(vec![url]);
                    }
                }
                Err(error) if error.is_transient() => return None,
                Err(_not_there) => {}
            }
        }
        Some(Vec::new())
    }

    /// Parses a feed on a parser thread, because a large one takes long; a panic becomes an error.
    async fn parse(&self, page: FetchedPage) -> Result<Feed, String> {
        let read = move || read_feed(&page.body, page.content_type.as_deref(), &page.final_url);
        match self.parts.parsers.run(read).await {
            Ok(read) => read.map_err(|error: FeedError| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns the next read: after our interval or the feed's, whichever is longer, and outside its skipped hours.
fn next_poll(now: DateTime<Utc>, interval: TimeDelta, feed: &Feed) -> DateTime<Utc> {
    let asked = feed.ttl.and_then(|ttl| TimeDelta::from_std(ttl).ok()).unwrap_or_default();
    let mut next = now + interval.max(asked.min(LONGEST_REST));
    for _ in 0..24 {
        let skipped = u8::try_from(next.hour()).is_ok_and(|hour| feed.skip_hours.contains(&hour));
        if !skipped {
            break;
        }
        let minutes = i64::from(60 - next.minute());
        next += TimeDelta::minutes(minutes);
    }
    next
}

fn row(entry: FeedEntry, language: Option<&str>, now: DateTime<Utc>) -> FeedEntryRow {
    let mut own = tokens::content_stems(&entry.title, None);
    own.retain(|stem| stem.len() <= MAX_STEM_BYTES);
    let is_kept = |token: &tokens::Token| !token.stop && token.stem.len() <= MAX_STEM_BYTES;
    let summary = tokens::tokens(&entry.summary, None);
    let names = summary.iter().filter(|token| token.capitalised && is_kept(token)).map(|token| token.stem.clone());
    let strong: BTreeSet<String> = own.iter().cloned().chain(names).take(MOST_STEMS).collect();
    // The content adds words that the summary lacks, up to the limit.
    let content = tokens::tokens(&entry.content, None);
    let words = summary.iter().chain(&content).filter(|token| is_kept(token)).map(|token| token.stem.clone());
    let stems: BTreeSet<String> = own.into_iter().chain(words).take(MOST_STEMS).collect();
    let storable = |text: &str| text.replace('\0', "");
    FeedEntryRow {
        host: entry.url.host_str().unwrap_or_default().to_owned(),
        url: entry.url.into(),
        title: storable(&entry.title),
        summary: storable(&entry.summary),
        language: entry.language.or_else(|| language.map(|tag| tag.chars().take(2).collect::<String>().to_lowercase())),
        // A publication date cannot be in the future.
        published_at: entry.published_at.map(|date| date.min(now)),
        stems: stems.into_iter().collect(),
        strong: strong.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn feed_is_read_again_when_its_interval_and_skipped_hours_end() {
        let at = |hour, minute| DateTime::UNIX_EPOCH + TimeDelta::hours(hour) + TimeDelta::minutes(minute);
        let quarter = TimeDelta::minutes(15);
        let feed = |ttl: Option<u64>, skip_hours: &[u8]| Feed {
            ttl: ttl.map(|minutes| Duration::from_secs(minutes * 60)),
            skip_hours: skip_hours.to_vec(),
            ..Feed::default()
        };
        assert_eq!(next_poll(at(3, 0), quarter, &feed(None, &[])), at(3, 15));
        assert_eq!(next_poll(at(3, 0), quarter, &feed(Some(5), &[])), at(3, 15));
        assert_eq!(next_poll(at(3, 0), quarter, &feed(Some(60), &[])), at(4, 0));
        assert_eq!(next_poll(at(3, 50), quarter, &feed(None, &[4, 5])), at(6, 0));
    }

    #[test]
    fn row_has_stems_without_names_when_only_the_entry_has_them() {
        let text = r#"<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>N</title><item>
            <title>Budget passed</title><link>https://news.example/a</link><description>It took nine hours.</description>
            <content:encoded>Deputies of Orlesk quarrelled over schools.</content:encoded></item></channel></rss>"#;
        let url = Url::parse("https://news.example/rss").unwrap();
        let feed = read_feed(text.as_bytes(), None, &url).unwrap();
        let row = row(feed.entries.into_iter().next().unwrap(), None, DateTime::UNIX_EPOCH);
        assert!(row.stems.contains(&tokens::content_stems("schools", None)[0]), "{:?}", row.stems);
        assert!(!row.strong.iter().any(|stem| stem.starts_with("orlesk")), "{:?}", row.strong);
        assert_eq!(row.summary, "It took nine hours.");
    }
}
