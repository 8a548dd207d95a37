//! What the fleet of processes agrees on before a page is fetched: when each host may be asked next, how many requests
//! are under way there, which hosts asked for rest, and what their sites' `robots.txt` said.
//!
//! All spans are counted from the database's clock at the moment it answered: processes need not agree on the time.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::Row as _;

use super::{Store, StoreError};

/// The right to one request that a process asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostTerms<'a> {
    /// Lower case, without a trailing dot.
    pub host: &'a str,
    /// Requests under way at the host, at most.
    pub places: usize,
    /// From the beginning of this request to that of the next one.
    pub pause: Duration,
    /// The request must begin within this; else nothing is taken.
    pub patience: Duration,
    /// How long the request may take. Its place is free afterwards, whether it was given back or not.
    pub hold: Duration,
}

/// What the fleet answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostLease {
    /// The request may begin after this wait, and not before.
    Granted { first_in: Duration, place: HostPlace },
    /// The host is left alone for so long.
    Resting(Duration),
    /// All places are taken, the first of them for so long at most.
    Full(Duration),
    /// The next moment that is free comes after this wait, which is more than the patience.
    NotBefore(Duration),
}

/// A place at a host, to be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPlace(DateTime<Utc>);

/// What the fleet knows of a site's `robots.txt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RobotsLook {
    /// The file, empty where there is none; nothing where the site's server failed. Believed for so long yet.
    Known { file: Option<Vec<u8>>, expires_in: Duration },
    /// Nobody knows it and nobody asks: it is to be asked for now.
    Ask,
    /// Another process asks.
    Asked,
}

impl Store {
    /// Leases the right to one request, or says why not.
    pub async fn lease_host(&self, terms: &HostTerms<'_>) -> Result<HostLease, StoreError> {
        let row = sqlx::query("SELECT decision, wait, place FROM lease_page_host($1, $2, $3, $4, $5)")
            .bind(super::storable(terms.host))
            .bind(i32::try_from(terms.places).unwrap_or(i32::MAX))
            .bind(terms.pause.as_secs_f64())
            .bind(terms.patience.as_secs_f64())
            .bind(terms.hold.as_secs_f64())
            .fetch_one(&self.pool)
            .await?;
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

    /// The request is over: others may take its place.
    pub async fn give_host_back(&self, host: &str, place: HostPlace) -> Result<(), StoreError> {
        sqlx::query("UPDATE page_hosts SET places = array_remove(places, $2) WHERE host = $1")
            .bind(super::storable(host))
            .bind(place.0)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The host asked to be left alone for so long. Of two such wishes the longer one counts.
    pub async fn rest_host(&self, host: &str, wait: Duration) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO page_hosts AS h (host, next_at, rests_until)
             VALUES ($1, clock_timestamp(), clock_timestamp() + make_interval(secs => $2))
             ON CONFLICT (host) DO UPDATE SET rests_until = greatest(h.rests_until, excluded.rests_until)",
        )
        .bind(super::storable(host))
        .bind(wait.as_secs_f64())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// What the fleet knows of a site's `robots.txt`. Whoever is told [`RobotsLook::Ask`] is the only one for so long.
    pub async fn look_at_robots(&self, site: &str, patience: Duration) -> Result<RobotsLook, StoreError> {
        let site = super::storable(site);
        let known = "SELECT file, extract(epoch FROM expires_at - clock_timestamp())::float8 AS expires_in
             FROM page_robots WHERE site = $1 AND expires_at > clock_timestamp()";
        if let Some(row) = sqlx::query(known).bind(&*site).fetch_optional(&self.pool).await? {
            let expires_in: f64 = row.try_get("expires_in")?;
            let expires_in = Duration::try_from_secs_f64(expires_in).unwrap_or_default();
            return Ok(RobotsLook::Known { file: row.try_get("file")?, expires_in });
        }
        let claimed = sqlx::query(
            "INSERT INTO page_robots AS r (site, asked_until) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
             ON CONFLICT (site) DO UPDATE SET asked_until = excluded.asked_until
             WHERE r.asked_until <= clock_timestamp()
                 AND (r.expires_at IS NULL OR r.expires_at <= clock_timestamp())",
        );
        let claimed = claimed.bind(&*site).bind(patience.as_secs_f64()).execute(&self.pool).await?;
        Ok(if claimed.rows_affected() == 1 { RobotsLook::Ask } else { RobotsLook::Asked })
    }

    /// Tells the fleet what a site said; none: its server failed.
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

    /// Nothing was heard that says something of the site: somebody else may ask.
    pub async fn ask_robots_again(&self, site: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE page_robots SET asked_until = clock_timestamp() WHERE site = $1")
            .bind(super::storable(site))
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
