//! A store with many items in it: a few that the daemon did, and copies of them.

use anyhow::{Context as _, ensure};
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Executor as _};

use crate::broker::Upstream;
use crate::daemon::{Daemon, Setup};
use crate::simulator::{EventWorld, Simulator};

/// Items that the daemon does itself, a third of them each with one, two and three claims.
const ORIGINALS: u64 = 30;
/// Real sentences, a hundred of each language, for texts whose words are as frequent as words are.
const SENTENCES: [(&str, &str); 3] = [
    ("en", include_str!("../../tests/data/lingua_langid/en/sentences.txt")),
    ("ru", include_str!("../../tests/data/lingua_langid/ru/sentences.txt")),
    ("uk", include_str!("../../tests/data/lingua_langid/uk/sentences.txt")),
];
const PER_LANGUAGE: usize = 100;
const COPY: &str = include_str!("fill.sql");

/// Words that about four in a hundred English items hold.
pub(crate) fn frequent_words() -> String {
    let first = SENTENCES[0].1.lines().next().unwrap_or_default();
    first.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// Words that this copy alone holds; the first is the newest.
pub(crate) fn own_words(number: u64) -> String {
    format!("Case {number:07}")
}

/// The id of a copy.
pub(crate) fn id(number: u64) -> String {
    format!("page-{number}")
}

/// Fills the store that the daemon is set up for, and leaves no daemon behind.
pub(crate) async fn fill(
    setup: &Setup,
    simulator: &Simulator,
    world: EventWorld,
    items: u64,
    days: u32,
) -> anyhow::Result<()> {
    let (amqp, database) = setup.amqp.as_deref().zip(setup.database.as_deref()).context("servers are needed")?;
    originals(setup, simulator, world, amqp).await?;
    let mut connection = PgConnection::connect(database).await?;
    sentences(&mut connection).await?;
    sqlx::query("CREATE TEMP TABLE wanted AS SELECT $1::bigint AS items, $2::integer AS days")
        .bind(i64::try_from(items)?)
        .bind(i32::try_from(days)?)
        .execute(&mut connection)
        .await?;
    connection.execute(COPY).await.context("copying items")?;
    // A server does this by itself, sooner or later.
    connection.execute("VACUUM (ANALYZE) items").await?;
    connection.execute("VACUUM (ANALYZE) claims").await?;
    Ok(connection.close().await?)
}

async fn originals(setup: &Setup, simulator: &Simulator, world: EventWorld, amqp: &str) -> anyhow::Result<()> {
    let daemon = Daemon::start(setup, simulator).await?;
    let mut upstream = Upstream::connect(amqp).await?;
    let items: Vec<(String, Vec<u8>)> = (0..ORIGINALS).map(|number| original(world, number)).collect();
    let batch = upstream.run(&items).await.with_context(|| daemon.log_end())?;
    ensure!(batch.evidence >= ORIGINALS, "{} pieces of evidence for {ORIGINALS} items", batch.evidence);
    upstream.close().await?;
    daemon.stop().await
}

fn original(world: EventWorld, number: u64) -> (String, Vec<u8>) {
    let mut item = world.item(number);
    let others = (1..=number % 3).map(|more| world.claim(more * ORIGINALS + number));
    let claims: Vec<String> = std::iter::once(world.claim(number)).chain(others).collect();
    item["text"] = claims.join(" ").into();
    (item["item_id"].as_str().unwrap_or_default().to_owned(), item.to_string().into_bytes())
}

/// The real sentences as a temporary table.
pub(crate) async fn sentences(connection: &mut PgConnection) -> anyhow::Result<()> {
    connection.execute("CREATE TEMP TABLE sentence (language text, place bigint, words text)").await?;
    for (language, text) in SENTENCES {
        let words: Vec<String> = text.lines().take(PER_LANGUAGE).map(str::to_owned).collect();
        ensure!(words.len() == PER_LANGUAGE, "{} sentences of {language}", words.len());
        sqlx::query("INSERT INTO sentence SELECT $1, place - 1, words FROM unnest($2::text[]) WITH ORDINALITY AS s(words, place)")
            .bind(language)
            .bind(words)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
