//! Relevance: the evidence of a claim among other sentences of the same page, and the reviewed claim that a tweet repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use corroborate::inference::hashed::HashedEmbedder;
use corroborate::inference::local::{LocalEmbedder, LocalReranker, LocalStance};
use corroborate::inference::routed::EmbeddingReranker;
use corroborate::inference::rules::LexicalReranker;
use corroborate::inference::{Embedder, InferenceError, ModelFolder, Pair, Reranker, StanceModel as _};
use corroborate::judging::fact_checks::relation;
use corroborate::judging::profile::TextProfile;
use corroborate::language::statements::clean;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use super::figures::share;
use super::sets;

/// Texts embedded at once.
const AT_ONCE: usize = 512;

/// The relevance floor of the default configuration.
const FLOOR: f64 = 0.30;

/// A question with its candidates, and which of them answer it.
struct Question {
    claim: Arc<TextProfile>,
    candidates: Vec<Arc<TextProfile>>,
    right: BTreeSet<usize>,
}

/// A way to tell relevance: its name, what embeds for it, and what ranks.
type Way = (String, Arc<dyn Embedder>, Arc<dyn Reranker>);

/// The folders of the models that are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Models<'a> {
    pub(crate) embedder: Option<&'a Path>,
    pub(crate) reranker: Option<&'a Path>,
    pub(crate) stance: Option<&'a Path>,
}

/// A stance model's 1 − P(neutral): what settles a claim is about it.
#[derive(Debug)]
struct Settles(LocalStance);

impl Reranker for Settles {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>> {
        Box::pin(async move {
            let judged = self.0.judge(pairs).await?;
            Ok(judged.iter().map(|one| 1.0 - one.probabilities.neutral).collect())
        })
    }
}

/// The similarity by which a published review is matched to a claim.
#[derive(Debug)]
struct AsReviews;

impl Reranker for AsReviews {
    fn name(&self) -> &'static str {
        "as reviews are compared"
    }

    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>> {
        Box::pin(async move { Ok(pairs.iter().map(|pair| relation(&pair.claim, &pair.passage).1).collect()) })
    }
}

pub(crate) async fn run(data: &Path, most: usize, models: Models<'_>) -> Result<(), String> {
    let folder = |dir: &Path| ModelFolder::read(dir).map_err(|error| error.to_string());
    let words: Arc<dyn Embedder> = Arc::new(HashedEmbedder::default());
    let mut kinds: Vec<Way> = vec![("lexical, hashed words".to_owned(), Arc::clone(&words), Arc::new(LexicalReranker))];
    if let Some(dir) = models.embedder {
        let found = folder(dir)?;
        let model: Arc<dyn Embedder> = Arc::new(LocalEmbedder::load(&found).map_err(|error| error.to_string())?);
        let range = found.manifest.cosine.ok_or("its model.toml gives no `cosine`, between which relevance rises")?;
        let cosine = Arc::new(EmbeddingReranker::new(model.as_ref(), range));
        kinds.push((format!("lexical, {}", model.name()), Arc::clone(&model), Arc::new(LexicalReranker)));
        kinds.push((cosine.name().to_owned(), model, cosine));
    }
    if let Some(dir) = models.reranker {
        let model = LocalReranker::load(&folder(dir)?).map_err(|error| error.to_string())?;
        kinds.push((model.name().to_owned(), Arc::clone(&words), Arc::new(model)));
    }
    let settles =
        models.stance.map(|dir| LocalStance::load(&folder(dir)?).map_err(|error| error.to_string())).transpose()?;
    for (name, embedder, reranker) in &kinds {
        if let Some(questions) = same_page(data, most, embedder.as_ref()).await? {
            show("fm2, same page", name, &questions, reranker.as_ref()).await?;
        }
        for part in ["dev", "test"] {
            if let Some(questions) = tweets(data, part, most, embedder.as_ref()).await? {
                let set = format!("checkthat2020 {part}");
                show(&set, name, &questions, reranker.as_ref()).await?;
                let name = format!("as reviews are compared, {}", embedder.name());
                show(&set, &name, &questions, &AsReviews).await?;
            }
        }
    }
    // Ten thousand claims a tweet are not for a model that reads each with it.
    if let Some(model) = settles
        && let Some(questions) = same_page(data, most, words.as_ref()).await?
    {
        let name = format!("1 - P(neutral) of {}", model.name());
        show("fm2, same page", &name, &questions, &Settles(model)).await?;
    }
    Ok(())
}

async fn embedded(
    texts: &BTreeSet<String>,
    embedder: &dyn Embedder,
) -> Result<BTreeMap<String, Arc<TextProfile>>, String> {
    let mut all = BTreeMap::new();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for some in texts.chunks(AT_ONCE) {
        let vectors = embedder.embed(some).await.map_err(|error| error.to_string())?;
        for (text, vector) in some.iter().zip(vectors) {
            let profile = TextProfile::new(text, Some("en"), None, &[]).embedded(vector, embedder.space(text));
            all.insert((*text).to_owned(), Arc::new(profile));
        }
    }
    Ok(all)
}

/// `fm2`: what was retrieved from the claim's page and what is gold of its other claims, the claim's own gold among it.
async fn same_page(data: &Path, most: usize, embedder: &dyn Embedder) -> Result<Option<Vec<Question>>, String> {
    let Some(lines) = sets::lines(data, "fm2/dev.jsonl") else { return Ok(None) };
    let rows: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let texts = |row: &Value, field: &str| -> Vec<String> {
        let list = row[field].as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|one| one["text"].as_str()).map(str::to_owned).collect()
    };
    let mut pages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &rows {
        let page = pages.entry(row["wikipedia_page"].as_str().unwrap_or_default().to_owned()).or_default();
        page.extend(texts(row, "gold_evidence"));
        page.extend(texts(row, "retrieved_evidence"));
    }
    let rows = sets::every(rows, most);
    let claim = |row: &Value| row["text"].as_str().unwrap_or_default().to_owned();
    let page = |row: &Value| pages.get(row["wikipedia_page"].as_str().unwrap_or_default()).cloned().unwrap_or_default();
    let wanted: BTreeSet<String> = rows.iter().flat_map(|row| std::iter::once(claim(row)).chain(page(row))).collect();
    let known = embedded(&wanted, embedder).await?;
    let mut questions = Vec::new();
    for row in &rows {
        let gold = texts(row, "gold_evidence");
        let candidates: Vec<String> = page(row).into_iter().collect();
        questions.extend(question(&known, &claim(row), &candidates, |text| gold.contains(text)));
    }
    Ok(Some(questions))
}

/// Tweets, cleaned as posts are, against all 10,375 reviewed claims.
async fn tweets(
    data: &Path,
    part: &str,
    most: usize,
    embedder: &dyn Embedder,
) -> Result<Option<Vec<Question>>, String> {
    let file = |name: &str| sets::lines(data, &format!("checkthat2020_t2/{name}"));
    let (queries, pairs) = (format!("{part}/tweets.queries.tsv"), format!("{part}/tweet-vclaim-pairs.qrels"));
    let (Some(claims), Some(tweets), Some(links)) = (file("verified_claims.docs.tsv"), file(&queries), file(&pairs))
    else {
        return Ok(None);
    };
    let row = |line: &String| -> Option<(String, String)> {
        let mut fields = line.split('\t');
        Some((fields.next()?.to_owned(), fields.next()?.trim_matches('"').to_owned()))
    };
    let claims: Vec<(String, String)> = claims.iter().skip(1).filter_map(row).collect();
    let tweets = tweets.iter().skip(1).filter_map(row).map(|(id, text)| (id, clean(&text))).collect();
    let tweets = sets::every(tweets, most);
    let links: Vec<(String, String)> = links
        .iter()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            Some(((*fields.first()?).to_owned(), (*fields.get(2)?).to_owned()))
        })
        .collect();
    let wanted: BTreeSet<String> = claims.iter().chain(&tweets).map(|(_, text)| text.clone()).collect();
    let known = embedded(&wanted, embedder).await?;
    let candidates: Vec<String> = claims.iter().map(|(_, text)| text.clone()).collect();
    let mut questions = Vec::new();
    for (id, text) in &tweets {
        let ids: Vec<&String> = links.iter().filter(|(tweet, _)| tweet == id).map(|(_, claim)| claim).collect();
        let right: BTreeSet<&String> =
            claims.iter().filter(|(claim, _)| ids.contains(&claim)).map(|(_, text)| text).collect();
        questions.extend(question(&known, text, &candidates, |text| right.contains(text)));
    }
    Ok(Some(questions))
}

fn question(
    known: &BTreeMap<String, Arc<TextProfile>>,
    claim: &str,
    candidates: &[String],
    is_right: impl Fn(&String) -> bool,
) -> Option<Question> {
    let profiles: Vec<Arc<TextProfile>> = candidates.iter().filter_map(|text| known.get(text).cloned()).collect();
    let right: BTreeSet<usize> =
        candidates.iter().enumerate().filter(|(_, text)| is_right(text)).map(|(at, _)| at).collect();
    let claim = Arc::clone(known.get(claim)?);
    (!right.is_empty() && right.len() < profiles.len()).then_some(Question { claim, candidates: profiles, right })
}

async fn show(set: &str, name: &str, questions: &[Question], reranker: &dyn Reranker) -> Result<(), String> {
    let started = Instant::now();
    let (mut first, mut precision, mut reciprocal, mut order) = (0usize, 0.0, 0.0, 0.0);
    let (mut own, mut own_above, mut others, mut others_above) = (0usize, 0usize, 0usize, 0usize);
    for one in questions {
        let pairs: Vec<Pair> = one
            .candidates
            .iter()
            .map(|passage| Pair { claim: Arc::clone(&one.claim), passage: Arc::clone(passage) })
            .collect();
        let found = reranker.relevance(&pairs).await.map_err(|error| error.to_string())?;
        let mut ranked: Vec<usize> = (0..found.len()).collect();
        ranked.sort_by(|a, b| found[*b].total_cmp(&found[*a]).then(a.cmp(b)));
        let places: Vec<usize> =
            ranked.iter().enumerate().filter(|(_, at)| one.right.contains(at)).map(|(place, _)| place).collect();
        let best = places.first().copied().unwrap_or(usize::MAX);
        first += usize::from(best == 0);
        reciprocal += 1.0 / (best as f64 + 1.0);
        let within: Vec<usize> = places.iter().copied().filter(|place| *place < 5).collect();
        precision += within.iter().enumerate().map(|(n, place)| (n + 1) as f64 / (*place + 1) as f64).sum::<f64>()
            / one.right.len().min(5) as f64;
        // The share of (right, other) pairs in the right order.
        let before = |place: &usize| ranked.iter().take(*place).filter(|at| !one.right.contains(at)).count();
        let wrong: usize = places.iter().map(before).sum();
        order += 1.0 - share(wrong, places.len() * (found.len() - places.len()));
        for (at, relevance) in found.iter().enumerate() {
            let above = usize::from(*relevance >= FLOOR);
            if one.right.contains(&at) {
                own += 1;
                own_above += above;
            } else {
                others += 1;
                others_above += above;
            }
        }
    }
    let all = questions.len().max(1) as f64;
    println!(
        "{set}, {name}: {} questions, P@1 {:.4}, MAP@5 {:.4}, MRR {:.4}, in order {:.4}; at {FLOOR}: {:.3} of the right, \
         {:.3} of the others; {:.1} s",
        questions.len(),
        share(first, questions.len()),
        precision / all,
        reciprocal / all,
        order / all,
        share(own_above, own),
        share(others_above, others),
        started.elapsed().as_secs_f64(),
    );
    Ok(())
}
