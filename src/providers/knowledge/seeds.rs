//! Ten facts that are part of the program, each in our own words with a public reference page. They let a new daemon
//! answer common falsehoods without a search.
//!
//! A fact alone never supports a claim, nor does it with another page of its owner, because both are one independent
//! source. (Pages of a reference work, such as an encyclopaedia, count by article.)
//! The address contains [`MARK`], so that the page itself is a separate row of the same group.
//!
//! To add a fact, add a line to [`SEEDS`], and its claim and negation to the test.

use std::sync::Arc;

use crate::domain::ids;
use crate::inference::Embedder;
use crate::language::entities;
use crate::reading::registered_domain;
use crate::store::{SeedRow, Store, StoreError};

/// Appended to the page's address. Browsers ignore it, and no page that was read has it.
pub const MARK: &str = "#seed-fact";

#[derive(Debug, Clone, Copy)]
pub struct Seed {
    pub text: &'static str,
    pub url: &'static str,
    pub title: &'static str,
    pub publisher: &'static str,
    pub language: &'static str,
    /// One of [`crate::domain::verdict::SourceType`].
    pub source_type: &'static str,
}

const fn seed(
    text: &'static str,
    url: &'static str,
    title: &'static str,
    publisher: &'static str,
    source_type: &'static str,
) -> Seed {
    Seed { text, url, title, publisher, language: "en", source_type }
}

pub static SEEDS: [Seed; 10] = [
    seed(
        "The Earth is about 4.54 billion years old, as radiometric dating of meteorites and of the oldest rocks shows.",
        "https://pubs.usgs.gov/gip/geotime/age.html",
        "Age of the Earth",
        "U.S. Geological Survey",
        "government",
    ),
    seed(
        "The Earth is not flat. The Earth is round: an oblate spheroid, a little wider at the equator than from pole to pole.",
        "https://oceanservice.noaa.gov/facts/earth-round.html",
        "Is the Earth round?",
        "NOAA National Ocean Service",
        "government",
    ),
    seed(
        "COVID-19 vaccines are safe and effective: billions of people have received them, and serious side effects are rare.",
        "https://www.who.int/emergencies/diseases/novel-coronavirus-2019/covid-19-vaccines",
        "COVID-19 vaccines",
        "World Health Organization",
        "government",
    ),
    seed(
        "Apollo 11 landed the first humans on the Moon on 20 July 1969.",
        "https://www.nasa.gov/mission/apollo-11/",
        "Apollo 11",
        "NASA",
        "government",
    ),
    seed(
        "Climate scientists agree that human activities are causing global warming, above all by burning fossil fuels.",
        "https://science.nasa.gov/climate-change/scientific-consensus/",
        "Scientific Consensus: Earth's Climate Is Warming",
        "NASA",
        "government",
    ),
    seed(
        "5G mobile networks do not spread COVID-19. Viruses cannot travel on radio waves.",
        "https://www.who.int/emergencies/diseases/novel-coronavirus-2019/advice-for-public/myth-busters",
        "Coronavirus disease (COVID-19) advice for the public: Mythbusters",
        "World Health Organization",
        "government",
    ),
    seed(
        "Community water fluoridation at the recommended level is safe and effective in preventing tooth decay.",
        "https://www.cdc.gov/fluoridation/about/statement-on-the-evidence-supporting-the-safety-and-effectiveness-of-community-water-fluoridation.html",
        "Statement on the Evidence Supporting the Safety and Effectiveness of Community Water Fluoridation",
        "Centers for Disease Control and Prevention",
        "government",
    ),
    seed(
        "The speed of light in vacuum is exactly 299,792,458 metres per second.",
        "https://physics.nist.gov/cgi-bin/cuu/Value?c",
        "CODATA Value: speed of light in vacuum",
        "National Institute of Standards and Technology",
        "government",
    ),
    seed(
        "India became independent from British rule on 15 August 1947.",
        "https://www.britannica.com/topic/Indian-Independence-Act",
        "Indian Independence Act",
        "Encyclopaedia Britannica",
        "reference",
    ),
    seed(
        "The United Nations was founded on 24 October 1945, when its Charter came into force.",
        "https://www.un.org/en/about-us/history-of-the-un",
        "History of the United Nations",
        "United Nations",
        "government",
    ),
];

impl Seed {
    /// Returns the key in the store: the page's address with [`MARK`].
    pub fn key(&self) -> String {
        format!("{}{MARK}", self.url)
    }

    fn row(&self, embedding: &[f32]) -> SeedRow {
        let key = self.key();
        let host = url::Url::parse(self.url).ok().and_then(|url| url.host_str().map(registered_domain));
        SeedRow {
            id: ids::evidence_id(&key),
            domain: host.unwrap_or_default(),
            title: self.title.to_owned(),
            publisher: self.publisher.to_owned(),
            language: self.language.to_owned(),
            text: self.text.to_owned(),
            source_type: self.source_type.to_owned(),
            content_hash: ids::content_hash(&[self.text]),
            claim_hash: ids::sentence_hash(self.text),
            embedding: SeedRow::vector(embedding),
            entities: entities::entities(self.text, Some(self.language), &[])
                .into_iter()
                .map(|entity| entity.key)
                .collect(),
            url: key,
        }
    }
}

/// Stores the facts unless the store has them from this version and embedder.
pub async fn install(store: &Store, embedder: &Arc<dyn Embedder>) -> Result<(), StoreError> {
    let sentences: Vec<String> = SEEDS.iter().map(|seed| ids::sentence_hash(seed.text)).collect();
    if store.has_seeds(&sentences, embedder.name()).await? {
        return Ok(());
    }
    let texts: Vec<&str> = SEEDS.iter().map(|seed| seed.text).collect();
    // Without the model there are no facts; the next start tries again.
    let embeddings = match embedder.embed(&texts).await {
        Ok(embeddings) => embeddings,
        Err(error) => {
            tracing::warn!(%error, "embedding seed facts failed; they are installed at the next start");
            return Ok(());
        }
    };
    let rows: Vec<SeedRow> = SEEDS.iter().zip(&embeddings).map(|(seed, embedding)| seed.row(embedding)).collect();
    store.install_seeds(&rows, embedder.name()).await
}
