//! Stance on the labelled sets: the agreement rule; the model alone; the model with limits and the comparison of figures.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use corroborate::domain::evidence::StanceProbabilities;
use corroborate::inference::hashed::HashedEmbedder;
use corroborate::inference::languages::ModelLanguages;
use corroborate::inference::local::{LocalEmbedder, LocalStance};
use corroborate::inference::routed::{RoutedEmbedder, RoutedStance};
use corroborate::inference::rules::RuleStance;
use corroborate::inference::{Embedder, ModelFolder, Pair, StanceModel};
use corroborate::judging::agreement::cosine;
use corroborate::judging::coverage::best_sentence;
use corroborate::judging::names::Names;
use corroborate::judging::numbers;
use corroborate::judging::profile::TextProfile;
use corroborate::language::detect;
use tokio::time::Instant;

use super::figures::Tally;
use super::sets::{self, Label, Row};

/// Held out from every training: file below the data folder.
const SETS: [(&str, &str); 5] = [
    ("healthver", "healthver/pairs.jsonl"),
    ("scifact_rte", "scifact_rte/pairs.jsonl"),
    ("fm2", "fm2/pairs.jsonl"),
    ("climate_fever", "climate_fever/pairs.jsonl"),
    ("terra_ru", "terra_ru/pairs.jsonl"),
];

/// `ENRICHMENT_MIN_AGREEMENT`.
const MIN_AGREEMENT: f64 = 0.65;

/// Pairs handed over at once: what a few items bring.
const AT_ONCE: usize = 256;

/// A judge with the name it is shown by, and whether figures are applied after it as the daemon does.
type Judge = (&'static str, Arc<dyn StanceModel>, bool);

/// The folders of models.
pub(crate) struct Models<'a> {
    pub(crate) stance: Option<&'a Path>,
    pub(crate) embedder: Option<&'a Path>,
}

pub(crate) async fn run(
    data: &Path,
    most: usize,
    models: Models<'_>,
    wanted: &[String],
    predictions: Option<&Path>,
) -> Result<(), String> {
    let rules = RuleStance { min_agreement: MIN_AGREEMENT };
    let mut judges: Vec<Judge> = vec![("rules", Arc::new(rules), true)];
    let (embedder, embedder_name) = embedder(models.embedder)?;
    if let Some(dir) = models.stance {
        let folder = ModelFolder::read(dir).map_err(|error| error.to_string())?;
        let languages = ModelLanguages::new(&folder.manifest.languages);
        let model = LocalStance::load(&folder).map_err(|error| error.to_string())?;
        let model = model.with_cosine_of(&embedder_name);
        judges.push(("model", Arc::new(model.clone()), false));
        judges.push(("both", Arc::new(RoutedStance::new(Arc::new(model), languages, rules)), true));
    }
    let mut out = match predictions {
        Some(path) => Some(std::fs::File::create(path).map_err(|error| format!("{}: {error}", path.display()))?),
        None => None,
    };
    let files = wanted
        .iter()
        .filter(|one| Path::new(one).extension().is_some_and(|ending| ending == "jsonl"))
        .map(|file| (file.as_str(), file.as_str()));
    let (mut together, mut sets) = (BTreeMap::<&str, Tally>::new(), BTreeSet::new());
    let chosen = SETS.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|one| one == name));
    for (name, file) in chosen.chain(files) {
        let Some(rows) = sets::rows(data, file, most) else { continue };
        let pairs = embedded(embedder.as_ref(), &rows).await?;
        let mut answers = Vec::new();
        for (judge, model, applies_figures) in &judges {
            let started = Instant::now();
            let said = judged(model.as_ref(), &pairs, *applies_figures).await?;
            let tally = tally(&rows, &said);
            show(name, judge, &tally, &rows, &said, started.elapsed());
            if !is_two_way(&rows) {
                together.entry(judge).or_default().extend(tally);
                sets.insert(name);
            }
            answers.push((*judge, said));
        }
        if let Some(out) = &mut out {
            write(out, name, &rows, &pairs, &answers).map_err(|error| format!("predictions: {error}"))?;
        }
    }
    if sets.len() > 1 {
        show_together(&together, &sets);
    }
    Ok(())
}

/// The embedder as the daemon has it, and the name of its model; hashed words without one.
fn embedder(dir: Option<&Path>) -> Result<(Arc<dyn Embedder>, String), String> {
    let Some(dir) = dir else { return Ok((Arc::new(HashedEmbedder::default()), String::new())) };
    let folder = ModelFolder::read(dir).map_err(|error| error.to_string())?;
    let model = Arc::new(LocalEmbedder::load(&folder).map_err(|error| error.to_string())?);
    let routed = RoutedEmbedder::new(model, ModelLanguages::new(&folder.manifest.languages));
    Ok((Arc::new(routed), folder.manifest.name))
}

async fn embedded(embedder: &dyn Embedder, rows: &[Row]) -> Result<Vec<Pair>, String> {
    let mut pairs = Vec::with_capacity(rows.len());
    for some in rows.chunks(AT_ONCE) {
        let texts: Vec<&str> = some.iter().flat_map(|row| [row.claim.as_str(), row.evidence.as_str()]).collect();
        let vectors = embedder.embed(&texts).await.map_err(|error| error.to_string())?;
        let mut profiles = texts.into_iter().zip(vectors).map(|(text, vector)| {
            // The rules look at the language; a page's is known, here it is told from the text.
            let language = detect::detect(text).language;
            let profile = TextProfile::new(text, language.as_deref(), None, &[]);
            Arc::new(profile.embedded(vector, embedder.space(text)))
        });
        while let (Some(claim), Some(passage)) = (profiles.next(), profiles.next()) {
            pairs.push(Pair { claim, passage });
        }
    }
    Ok(pairs)
}

async fn judged(
    model: &dyn StanceModel,
    pairs: &[Pair],
    applies_figures: bool,
) -> Result<Vec<StanceProbabilities>, String> {
    let mut all = Vec::with_capacity(pairs.len());
    for some in pairs.chunks(AT_ONCE) {
        let said = model.judge(some).await.map_err(|error| error.to_string())?;
        all.extend(some.iter().zip(said).map(|(pair, judgement)| {
            let given = judgement.probabilities;
            if applies_figures { numbers::apply(given, &numbers::compare(&pair.claim, &pair.passage)) } else { given }
        }));
    }
    Ok(all)
}

fn is_two_way(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.label == Label::NotEntail)
}

fn tally(rows: &[Row], said: &[StanceProbabilities]) -> Tally {
    let (mut tally, is_two_way) = (Tally::default(), is_two_way(rows));
    for (row, p) in rows.iter().zip(said) {
        tally.add(row.label, p, is_two_way, row.is_numeric());
    }
    tally
}

/// Claims with figures and calibration over the sets of three labels together.
fn show_together(together: &BTreeMap<&str, Tally>, sets: &BTreeSet<&str>) {
    let names: Vec<&str> = sets.iter().copied().collect();
    for (judge, tally) in together {
        let (error, by_chance) = tally.calibration_error();
        println!(
            "{} together, {judge}: with figures ({} rows) {:.4}; ECE {error:.4}, by chance {by_chance:.4}",
            names.join(", "),
            tally.numeric(),
            tally.accuracy(Some(true)),
        );
    }
    if let Some((both, model)) = together.get("both").zip(together.get("model")) {
        let (gained, lost) = both.against(model);
        println!(
            "    of those with figures {gained} are right beside the model that are not by it alone, {lost} the reverse"
        );
    }
}

fn show(set: &str, judge: &str, tally: &Tally, rows: &[Row], said: &[StanceProbabilities], took: std::time::Duration) {
    let (error, by_chance) = tally.calibration_error();
    let each: Vec<String> = tally.f1().iter().map(|(label, f1)| format!("{} {f1:.3}", label.as_str())).collect();
    println!(
        "{set} {judge}: {} rows, macro-F1 {:.4} ({}), accuracy {:.4}; with figures ({} rows) {:.4}, without {:.4}; \
         ECE {error:.4}, by chance {by_chance:.4}; {:.0} pairs/s",
        rows.len(),
        tally.macro_f1(),
        each.join(", "),
        tally.accuracy(None),
        tally.numeric(),
        tally.accuracy(Some(true)),
        tally.accuracy(Some(false)),
        rows.len() as f64 / took.as_secs_f64().max(1e-9),
    );
    println!("    {}", tally.confusion());
    println!("    {}", decided(rows, said));
}

/// How precise the sides are that a verdict counts.
fn decided(rows: &[Row], said: &[StanceProbabilities]) -> String {
    let both = || rows.iter().zip(said);
    let side = |test: &dyn Fn(&StanceProbabilities) -> bool, right: &[Label], wrong: &[Label]| {
        let taken: Vec<Label> = both().filter(|(_, p)| test(p)).map(|(row, _)| row.label).collect();
        let count = |labels: &[Label]| taken.iter().filter(|label| labels.contains(label)).count();
        (taken.len(), count(right), count(wrong))
    };
    let supports = side(&|p| p.entail >= 0.6 && p.contradict < 0.5, &[Label::Entail], &[Label::Contradict]);
    let contradicts = side(&|p| p.contradict >= 0.6, &[Label::Contradict, Label::NotEntail], &[Label::Entail]);
    format!(
        "supports {} (right {}, the opposite {}), contradicts {} (right {}, the opposite {})",
        supports.0, supports.1, supports.2, contradicts.0, contradicts.1, contradicts.2
    )
}

fn write(
    out: &mut std::fs::File,
    set: &str,
    rows: &[Row],
    pairs: &[Pair],
    answers: &[(&str, Vec<StanceProbabilities>)],
) -> std::io::Result<()> {
    for (position, (row, pair)) in rows.iter().zip(pairs).enumerate() {
        let of = |said: &Vec<StanceProbabilities>| {
            said.get(position).map(|p| [p.entail, p.neutral, p.contradict]).unwrap_or_default()
        };
        let judges: serde_json::Map<String, serde_json::Value> =
            answers.iter().map(|(judge, said)| ((*judge).to_owned(), serde_json::json!(of(said)))).collect();
        // Whether the aligned figures agree.
        let num_ok = numbers::compare(&pair.claim, &pair.passage).num_ok;
        let names = Names::new(&pair.claim, &pair.passage);
        let shared = best_sentence(&pair.claim, &pair.passage, &names).map_or(0.0, |(_, share)| share);
        let line = serde_json::json!({
            "set": set, "source": row.source, "id": row.id, "label": row.label.as_str(), "numeric": row.is_numeric(),
            "judges": judges, "num_ok": num_ok, "shared": shared, "names": names.found(), "cosine": cosine(&pair.claim, &pair.passage),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
