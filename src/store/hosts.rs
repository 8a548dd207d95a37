//! Per-host state that all processes share before they fetch a page: next request time, concurrent requests, rest
//! periods and `robots.txt`.
//!
//! Times are durations from the database's clock, because process clocks may differ.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::pool::BoundedPool;
use super::together::BatchLoader;
use super::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostTerms<'a> {
    /// Lower case, no trailing dot.
    pub host: &'a str,
    /// Maximum concurrent requests.
    pub places: usize,
    /// Time between the starts of two requests.
    pub pause: Duration,
    /// Latest start; otherwise no permit is leased.
    pub patience: Duration,
    /// Maximum duration; the place is then free even if not returned.
    pub hold: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostLease {
    /// The request may start after this wait.
    Granted { first_in: Duration, place: HostPlace },
    /// Time that the host must still rest.
    Resting(Duration),
    /// All places are taken; time until the first expires.
    Full(Duration),
    /// Time until the next free start, beyond `patience`.
    NotBefore(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPlace(DateTime<Utc>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RobotsLookup {
    /// The file (empty if missing; `None` if the server failed) and its remaining validity.
    Known { file: Option<Vec<u8>>, expires_in: Duration },
    /// The caller must fetch it.
    Ask,
    /// Another process is fetching it.
    Asked,
}

/// A request in a batch; seconds.
#[derive(Debug, Clone)]
pub(super) struct HostLeaseRequest {
    host: String,
    places: i32,
    pause: f64,
    patience: f64,
    hold: f64,
}

pub(super) type Leases = BatchLoader<HostLeaseRequest, HostLease>;
/// By site and patience in seconds.
pub(super) type RobotsLookups = BatchLoader<(String, f64), RobotsLookup>;

pub(super) fn leases(pool: BoundedPool) -> Leases {
    BatchLoader::new(move |requests: Vec<HostLeaseRequest>| {
        let pool = pool.clone();
        Box::pin(async move {
            let of = |span: fn(&HostLeaseRequest) -> f64| requests.iter().map(span).collect::<Vec<_>>();
            // In host order: rows stay locked until the statement ends.
            let rows = sqlx::query(
                "SELECT said.decision, said.wait, said.place FROM (
                     SELECT host, places, pause, patience, hold, place
                     FROM unnest($1::text[], $2::int[], $3::float8[], $4::float8[], $5::float8[])
                         WITH ORDINALITY AS row(host, places, pause, patience, hold, place) ORDER BY host, place) AS asked
                 CROSS JOIN LATERAL lease_page_host(asked.host, asked.places, asked.pause, asked.patience, asked.hold) AS said
                 ORDER BY asked.place",
            )
            .bind(requests.iter().map(|request| request.host.as_str()).collect::<Vec<_>>())
            .bind(requests.iter().map(|request| request.places).collect::<Vec<_>>())
            .bind(of(|request| request.pause))
            .bind(of(|request| request.patience))
            .bind(of(|request| request.hold))
            .fetch_all(&pool)
            .await?;
            rows.iter().map(host_lease).collect()
        })
    })
}

fn host_lease(row: &PgRow) -> Result<HostLease, StoreError> {
    let (decision, wait): (String, f64) = (row.try_get("decision")?, row.try_get("wait")?);
    let wait = Duration::try_from_secs_f64(wait).unwrap_or_default();
    match decision.as_str() {
        "granted" => Ok(HostLease::Granted { first_in: wait, place: HostPlace(row.try_get("place")?) }),
        "rests" => Ok(HostLease::Resting(wait)),
        "full" => Ok(HostLease::Full(wait)),
        "later" => Ok(HostLease::NotBefore(wait)),
        other => Err(StoreError::Corrupt { detail: format!("the answer to a host's lease: {other}") }),
    }
}

pub(super) fn robots_lookups(pool: BoundedPool) -> RobotsLookups {
    BatchLoader::new(move |asked: Vec<(String, f64)>| {
        let pool = pool.clone();
        Box::pin(async move {
            let (sites, patience): (Vec<String>, Vec<f64>) = asked.into_iter().unzip();
            // Only the first request per site gets the claim.
            let rows = sqlx::query(
                "WITH asked AS MATERIALIZED (
                     SELECT site, patience, place
                     FROM unnest($1::text[], $2::float8[]) WITH ORDINALITY AS row(site, patience, place)),
                 known AS MATERIALIZED (
                     SELECT site, file, extract(epoch FROM expires_at - clock_timestamp())::float8 AS expires_in
                     FROM page_robots
                     WHERE site = ANY ($1) AND bounded_until(expires_at, interval '2 days') > clock_timestamp()),
                 claimed AS (
                     INSERT INTO page_robots AS r (site, asked_until)
                     SELECT DISTINCT ON (site) site, clock_timestamp() + make_interval(secs => patience) FROM asked
                     WHERE site NOT IN (SELECT site FROM known) ORDER BY site, place
                     ON CONFLICT (site) DO UPDATE SET asked_until = excluded.asked_until
                     WHERE bounded_until(r.asked_until, interval '10 minutes') <= clock_timestamp()
                         AND (r.expires_at IS NULL
                             OR bounded_until(r.expires_at, interval '2 days') <= clock_timestamp())
                     RETURNING site)
                 SELECT known.expires_in, known.file, claimed.site IS NOT NULL AND asked.place = min(asked.place)
                     OVER (PARTITION BY asked.site) AS claimed
                 FROM asked LEFT JOIN known USING (site) LEFT JOIN claimed USING (site) ORDER BY asked.place",
            )
            .bind(sites)
            .bind(patience)
            .fetch_all(&pool)
            .await?;
            rows.iter().map(robots_lookup).collect()
        })
    })
}

fn robots_lookup(row: &PgRow) -> Result<RobotsLookup, StoreError> {
    if let Some(expires_in) = row.try_get::<Option<f64>, _>("expires_in")? {
        let expires_in = Duration::try_from_secs_f64(expires_in).unwrap_or_default();
        return Ok(RobotsLookup::Known { file: row.try_get("file")?, expires_in });
    }
    Ok(if row.try_get("claimed")? { RobotsLookup::Ask } else { RobotsLookup::Asked })
}

impl Store {
    /// Leases a permit for one request. Concurrent calls share a statement.
    pub async fn lease_host(&self, terms: &HostTerms<'_>) -> Result<HostLease, StoreError> {
        let request = HostLeaseRequest {
            host: super::storable(terms.host).into_owned(),
            places: i32::try_from(terms.places).unwrap_or(i32::MAX),
            pause: terms.pause.as_secs_f64(),
            patience: terms.patience.as_secs_f64(),
            hold: terms.hold.as_secs_f64(),
        };
        // Safe to repeat: a lost place expires.
        self.again(|| self.host_leases.ask(request.clone())).await
    }

    pub async fn give_host_back(&self, host: &str, place: HostPlace) -> Result<(), StoreError> {
        sqlx::query("UPDATE page_hosts SET places = array_remove(places, $2) WHERE host = $1")
            .bind(super::storable(host))
            .bind(place.0)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Records that a host needs rest; the longer of two periods applies.
    pub async fn rest_host(&self, host: &str, wait: Duration) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO page_hosts AS h (host, next_at, rests_until)
             VALUES ($1, clock_timestamp(), clock_timestamp() + make_interval(secs => $2))
             ON CONFLICT (host) DO UPDATE SET
                 rests_until = greatest(bounded_until(h.rests_until, interval '61 minutes'), excluded.rests_until)",
        )
        .bind(super::storable(host))
        .bind(wait.as_secs_f64())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Returns the state of `robots.txt`. One caller gets [`RobotsLookup::Ask`] within `patience`. Concurrent calls
    /// share a statement.
    pub async fn look_at_robots(&self, site: &str, patience: Duration) -> Result<RobotsLookup, StoreError> {
        let asked = (super::storable(site).into_owned(), patience.as_secs_f64());
        self.again(|| self.robots_lookups.ask(asked.clone())).await
    }

    /// Stores a site's `robots.txt`; `None` if its server failed.
    pub async fn keep_robots(&self, site: &str, file: Option<&[u8]>, lasts: Duration) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO page_robots (site, file, expires_at, asked_until)
             VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3), clock_timestamp())
             ON CONFLICT (site) DO UPDATE SET file = excluded.file, expires_at = excluded.expires_at,
                 asked_until = excluded.asked_until",
        )
        .bind(super::storable(site))
        .bind(file)
        .bind(lasts.as_secs_f64())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Releases the claim after an inconclusive fetch.
    pub async fn ask_robots_again(&self, site: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE page_robots SET asked_until = clock_timestamp() WHERE site = $1")
            .bind(super::storable(site))
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
