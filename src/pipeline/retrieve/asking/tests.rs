use std::sync::atomic::Ordering;

use super::super::samples::{ScriptedAnswer, ScriptedProvider, foreign, hit, query};
use super::super::stages::Plan;
use super::*;
use crate::cache::AnswerCacheSettings;
use crate::domain::ids;
use crate::domain::verdict::Origin;
use crate::outbound::NoObserver;
use crate::pipeline::queries::ForeignQuery;
use crate::providers::Content;

/// Hits on `count` sites that are named after the provider.
fn pages(provider: &'static str, count: usize) -> ScriptedAnswer {
    ScriptedAnswer::Hits(
        (0..count).map(|n| hit(provider, &format!("https://{provider}{n}.example/"), "", None)).collect(),
    )
}

struct Bench {
    journal: Journal,
    cache: SearchCache<Answer>,
    latencies: Latencies,
    rules: DomainRules,
    snippets: SnippetCache,
    time: Duration,
}

impl Bench {
    fn new(time: Duration) -> Self {
        let settings = AnswerCacheSettings::default();
        Self {
            journal: Journal::new(Instant::now(), time, chrono::DateTime::UNIX_EPOCH),
            cache: SearchCache::new("search", settings, Answer::is_empty, None, Arc::new(NoObserver)),
            latencies: Latencies::default(),
            rules: DomainRules::default(),
            snippets: SnippetCache::default(),
            time,
        }
    }

    fn round(&self) -> Round<'_> {
        Round {
            journal: &self.journal,
            cache: &self.cache,
            latencies: &self.latencies,
            rules: &self.rules,
            snippets: &self.snippets,
            own: OwnSite::default(),
            wanted: 3,
            until: Instant::now() + self.time,
            failed: Mutex::default(),
        }
    }

    async fn search(&self, providers: &[&Arc<ScriptedProvider>], queries: usize) -> Finds {
        let round = self.round();
        self.search_in(&round, providers, queries).await
    }

    async fn search_in(&self, round: &Round<'_>, providers: &[&Arc<ScriptedProvider>], queries: usize) -> Finds {
        self.search_also(round, providers, queries, &[]).await
    }

    async fn search_also(
        &self,
        round: &Round<'_>,
        providers: &[&Arc<ScriptedProvider>],
        queries: usize,
        others: &[ForeignQuery],
    ) -> Finds {
        let (own, search): (Vec<_>, Vec<_>) = providers
            .iter()
            .map(|one| Arc::clone(one) as Arc<dyn Provider>)
            .partition(|one| one.kind() == ProviderKind::Own);
        let plan = Plan {
            own: &own,
            search: &search,
            kinds: &[],
            rules: round.rules,
            without_fact_checks: false,
            now: chrono::DateTime::UNIX_EPOCH,
        };
        let queries: Vec<Query> = (0..queries).map(|number| query(&format!("query {number}"))).collect();
        // The providers are borrowed for a shorter time than the finds live.
        let mut finds = Finds::default();
        let shorter =
            Round { failed: Mutex::new(round.failed.lock().unwrap().clone()), own: OwnSite::default(), ..*round };
        shorter.search(plan.stages(&queries, others), &mut finds).await;
        *round.failed.lock().unwrap() = shorter.failed.lock().unwrap().clone();
        finds
    }

    fn degraded(&self) -> Vec<String> {
        self.journal.degraded().iter().map(ToString::to_string).collect()
    }
}

fn begun(provider: &Arc<ScriptedProvider>) -> u32 {
    provider.begun.load(Ordering::Relaxed)
}

fn ended(provider: &Arc<ScriptedProvider>) -> u32 {
    provider.ended.load(Ordering::Relaxed)
}

fn scripted(name: &str, late: Duration, script: impl IntoIterator<Item = ScriptedAnswer>) -> Arc<ScriptedProvider> {
    Arc::new(ScriptedProvider::new(name, late, script))
}

const NOW: Duration = Duration::ZERO;

#[tokio::test]
async fn enough_stops_the_search_and_queries_go_out_one_by_one_until_then() {
    let bench = Bench::new(Duration::from_mins(1));
    let first = scripted("searxng", NOW, [pages("searxng", 1), pages("searxng", 3)]);
    let second = scripted("gdelt", NOW, [pages("gdelt", 3)]);
    let finds = bench.search(&[&first, &second], 4).await;
    assert_eq!((finds.pages.len(), begun(&first), begun(&second)), (3, 2, 0));
    assert_eq!(bench.degraded(), Vec::<String>::new());
}

#[tokio::test]
async fn a_slow_provider_does_not_starve_the_next_and_is_not_named_where_it_did_not_matter() {
    let bench = Bench::new(Duration::from_secs(4));
    let slow = scripted("searxng", Duration::from_secs(3), [pages("searxng", 3)]);
    let quick = scripted("gdelt", NOW, [pages("gdelt", 3)]);
    let start = Instant::now();
    let finds = bench.search(&[&slow, &quick], 2).await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(finds.pages.len(), 3);
    assert_eq!(bench.degraded(), Vec::<String>::new());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((begun(&slow), ended(&slow)), (1, 0), "what is not needed any more is dropped, not left running");
    for _ in 0..20 {
        bench.latencies.took("searxng", Duration::from_secs(4), Instant::now());
    }
    let round = Round { until: Instant::now() + Duration::from_secs(40), ..bench.round() };
    assert_eq!(round.patience("searxng", false), LEAST_PATIENCE);
    assert_eq!(round.patience("never asked", false), FIRST_PATIENCE);
    assert_eq!(round.patience("searxng", true), MOST_PATIENCE, "paying to save time comes last");
}

#[tokio::test]
async fn a_slow_provider_may_still_answer_and_is_named_where_it_mattered() {
    let bench = Bench::new(Duration::from_secs(8));
    let slow = scripted("searxng", Duration::from_secs(3), [pages("searxng", 2), pages("searxng", 2)]);
    let quick = scripted("gdelt", NOW, [pages("gdelt", 1)]);
    let finds = bench.search(&[&slow, &quick], 1).await;
    assert_eq!(finds.pages.len(), 3, "what came late was used");
    assert_eq!(bench.degraded(), Vec::<String>::new());

    let short = Bench::new(Duration::from_millis(1_500));
    let slow = scripted("searxng", Duration::from_secs(30), [pages("searxng", 3)]);
    let quick = scripted("gdelt", NOW, [pages("gdelt", 1)]);
    let start = Instant::now();
    let finds = short.search(&[&slow, &quick], 1).await;
    assert!(start.elapsed() <= Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(finds.pages.len(), 1);
    let causes = short.degraded();
    assert!(
        causes.contains(&"deadline".to_owned()) && causes.contains(&"provider_failed:searxng".to_owned()),
        "{causes:?}"
    );
}

#[tokio::test]
async fn a_failed_provider_is_not_asked_again_for_the_item_and_counts_only_where_it_mattered() {
    let bench = Bench::new(Duration::from_mins(1));
    let down = scripted("searxng", NOW, [ScriptedAnswer::Fails(AskError::Server { status: 503 })]);
    let poor = scripted("gdelt", NOW, [pages("gdelt", 1)]);
    let round = bench.round();
    bench.search_in(&round, &[&down, &poor], 3).await;
    assert_eq!(begun(&down), 1, "what refused one query refuses the next");
    assert_eq!(bench.degraded(), ["provider_failed:searxng"]);
    bench.search_in(&round, &[&down, &poor], 3).await;
    assert_eq!(begun(&down), 1, "nor is it asked for another claim");

    let rich = Bench::new(Duration::from_mins(1));
    let down = scripted("searxng", NOW, [ScriptedAnswer::Fails(AskError::Server { status: 503 })]);
    let other = scripted("gdelt", NOW, [pages("gdelt", 3)]);
    rich.search(&[&down, &other], 3).await;
    assert_eq!(rich.degraded(), Vec::<String>::new(), "the other one made up for it");
}

#[tokio::test]
async fn a_query_in_another_language_that_fails_costs_no_claim_its_own() {
    let bench = Bench::new(Duration::from_mins(1));
    let busy = scripted("searxng", NOW, [pages("searxng", 1), ScriptedAnswer::Fails(AskError::Server { status: 503 })]);
    let round = bench.round();
    bench.search_also(&round, &[&busy], 1, &[foreign("Η Κύπρος", "el")]).await;
    assert_eq!((begun(&busy), bench.degraded()), (2, vec!["provider_failed:searxng".to_owned()]));
    bench.search_in(&round, &[&busy], 3).await;
    assert_eq!(begun(&busy), 4, "asked for the next claim: its two queries that were not answered yet");
}

#[tokio::test]
async fn a_page_found_in_another_language_is_held_against_the_claim_in_that_language() {
    let claim = TextProfile::new("The government opened a terminal for gas last week.", Some("en"), None, &[]);
    let translated = "Η κυβέρνηση άνοιξε τερματικό φυσικού αερίου την περασμένη εβδομάδα.";
    let other = "Συνταγή για νόστιμο ψωμί στο σπίτι";
    let found = ["Η κυβέρνηση άνοιξε τερματικό φυσικού αερίου", other].map(|title| {
        let url = if title == other { "https://b.example/" } else { "https://a.example/" };
        Hit { language: Some("el".to_owned()), ..hit("searxng", url, title, None) }
    });
    let about = |foreign: Option<&TextProfile>| {
        let bench = Bench::new(Duration::from_mins(1));
        let mut finds = Finds::of(&Arc::new(claim.clone()));
        bench.round().keep(&Answer { hits: found.to_vec(), ..Answer::default() }, foreign, &mut finds);
        finds.pages.iter().map(|page| page.about).collect::<Vec<bool>>()
    };
    assert_eq!(about(None), [false, false]);
    assert_eq!(about(Some(&TextProfile::new(translated, Some("el"), None, &[]))), [true, false]);
}

#[tokio::test]
async fn nothing_is_paid_twice_and_free_ones_come_first() {
    let bench = Bench::new(Duration::from_secs(6));
    let paid = Arc::new(ScriptedProvider::new("brave", Duration::from_secs(2), [pages("brave", 3)]).priced(0.01));
    let dearer = Arc::new(ScriptedProvider::new("serpapi", NOW, [pages("serpapi", 3)]).priced(0.02));
    let free = scripted("gdelt", NOW, [pages("gdelt", 1)]);
    let finds = bench.search(&[&paid, &dearer, &free], 1).await;
    assert_eq!((begun(&free), begun(&paid), begun(&dearer)), (1, 1, 0));
    assert_eq!((ended(&paid), finds.pages.len()), (1, 4), "what is paid for is waited for");

    let stuck = Bench::new(Duration::from_secs(3));
    let paid = Arc::new(ScriptedProvider::new("brave", Duration::from_mins(5), []).priced(0.01));
    let dearer = Arc::new(ScriptedProvider::new("serpapi", NOW, [pages("serpapi", 3)]).priced(0.02));
    let start = Instant::now();
    let finds = stuck.search(&[&paid, &dearer], 1).await;
    assert_eq!(finds.pages.len(), 3, "the second has its turn within the time");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn provider_is_not_asked_when_it_usually_takes_longer_than_is_left() {
    let bench = Bench::new(Duration::from_secs(4));
    bench.latencies.took("searxng", Duration::from_secs(9), Instant::now());
    let slow = scripted("searxng", NOW, [pages("searxng", 3)]);
    let quick = scripted("gdelt", NOW, [pages("gdelt", 1)]);
    let finds = bench.search(&[&slow, &quick], 1).await;
    assert_eq!((begun(&slow), finds.pages.len()), (0, 1));
    assert_eq!(bench.degraded(), ["deadline"], "it could not be asked, and that is told");
}

#[tokio::test]
async fn a_provider_is_asked_in_its_languages_only_and_that_degrades_nothing() {
    let bench = Bench::new(Duration::from_mins(1));
    let foreign = Arc::new(ScriptedProvider::new("newsapi", NOW, [pages("newsapi", 3)]).with_languages(&["de", "fr"]));
    let native = Arc::new(ScriptedProvider::new("gdelt", NOW, [pages("gdelt", 1)]).with_languages(&["en"]));
    bench.search(&[&foreign, &native], 2).await;
    assert_eq!((begun(&foreign), begun(&native)), (0, 2));
    assert_eq!(bench.degraded(), Vec::<String>::new());
}

#[tokio::test]
async fn the_operators_material_is_asked_at_once_and_replaces_no_page() {
    let bench = Bench::new(Duration::from_mins(1));
    let text = |url: &str| {
        let content = Content {
            text: "The valve opens at 4 bar.".to_owned(),
            origin: Origin::Corpus,
            publisher: None,
            credibility: None,
        };
        ScriptedAnswer::Hits(vec![hit("corpus", url, "Valves", Some(content))])
    };
    let corpus = scripted("corpus", Duration::from_secs(1), [text("corpus://bbc.com/Valves.md#Opening")]);
    let rows = scripted("database", Duration::from_secs(1), [text("database://stock/7")]);
    let web = scripted("searxng", NOW, [pages("searxng", 3)]);
    let start = Instant::now();
    let finds = bench.search(&[&corpus, &rows, &web], 2).await;
    assert!(start.elapsed() < Duration::from_millis(1_900), "side by side: {:?}", start.elapsed());
    assert_eq!((begun(&corpus), begun(&rows), finds.own.len(), finds.pages.len()), (1, 1, 2, 3));
    let kept =
        finds.own.iter().find(|candidate| candidate.hit.provider == "corpus" && candidate.url.scheme() == "corpus");
    let kept = kept.unwrap();
    assert_eq!(kept.url.as_str(), "corpus://bbc.com/Valves.md#Opening", "its own address is its key");
    assert_eq!(kept.domain, "corpus:bbc.com", "and it is no site of the web");
}

#[test]
fn pages_of_other_schemes_denied_hosts_and_the_items_own_are_no_candidates() {
    let bench = Bench::new(NOW);
    let round = Round { own: OwnSite::of(Some("https://own.example/story"), &bench.rules), ..bench.round() };
    let keeps = |url: &str| round.candidate(&hit("searxng", url, "", None)).is_some();
    assert!(keeps("https://a.example/1"));
    for url in [
        "corpus://a.example/1",
        "mailto:a@b.c",
        "data:text/plain,x",
        "https://own.example/story?utm_source=x",
        "https://news.own.example/another",
        "nonsense",
    ] {
        assert!(!keeps(url), "{url}");
    }
    let only = DomainRules::new([], true);
    let strict = Round { rules: &only, ..bench.round() };
    assert!(strict.candidate(&hit("searxng", "https://a.example/1", "", None)).is_none());
    let content = Content { text: "x".to_owned(), origin: Origin::Api, publisher: None, credibility: None };
    assert!(
        strict.candidate(&hit("api", "https://prices.example/x", "", Some(content))).is_some(),
        "what the operator configured is no search result"
    );
}

fn allowing(domain: &str) -> DomainRules {
    let rule = crate::domain::rules::DomainRule {
        domain: domain.to_owned(),
        list: crate::domain::rules::DomainList::Allow,
        credibility: None,
        source_type: None,
        why: None,
    };
    DomainRules::new([rule], false)
}

#[tokio::test]
async fn feeds_and_trusted_sites_alone_never_end_a_search_and_one_open_query_does() {
    let bench = Bench { rules: allowing("trusted.example"), ..Bench::new(Duration::from_mins(1)) };
    let feeds = scripted("feeds", NOW, [pages("feeds", 5)]);
    let web = scripted("searxng", NOW, [pages("searxng", 1)]);
    let finds = bench.search(&[&feeds, &web], 4).await;
    assert_eq!((begun(&feeds), begun(&web), finds.pages.len()), (1, 1, 6), "the trusted sites add nothing to feeds");
    assert_eq!(bench.degraded(), Vec::<String>::new());

    let bench = Bench { rules: allowing("trusted.example"), ..Bench::new(Duration::from_mins(1)) };
    let web = scripted("searxng", NOW, [pages("gdelt", 5), pages("searxng", 1)]);
    let finds = bench.search(&[&web], 4).await;
    assert_eq!((begun(&web), finds.pages.len()), (2, 6), "one query on trusted sites, one openly");

    let bench = Bench::new(Duration::from_mins(1));
    let alone = scripted("feeds", NOW, [pages("feeds", 5)]);
    bench.search(&[&alone], 4).await;
    assert_eq!(bench.degraded(), Vec::<String>::new(), "nobody else is configured");

    let blind = Bench { rules: allowing("trusted.example"), ..Bench::new(Duration::from_mins(1)) };
    let web = scripted("searxng", NOW, [pages("searxng", 5), ScriptedAnswer::Fails(AskError::Server { status: 503 })]);
    blind.search(&[&web], 4).await;
    assert_eq!(blind.degraded(), ["provider_failed:searxng"], "whoever contradicts was never looked for");
}

#[tokio::test]
async fn pages_about_something_else_do_not_end_the_search() {
    let bench = Bench::new(Duration::from_mins(1));
    let titled = |titles: [&str; 3]| {
        let one = |title| hit("searxng", &format!("https://{}.example/", ids::content_hash(&[title])), title, None);
        ScriptedAnswer::Hits(titles.map(one).into())
    };
    let loose = titled(["Velmora elects a mayor", "Rain in Velmora", "Home"]);
    let about = titled(["Velmora ships grain", "Grain leaves Velmora", "Record year for grain from Velmora"]);
    let web = scripted("searxng", NOW, [loose, about]);
    let plan = Plan {
        own: &[],
        search: &[Arc::clone(&web) as Arc<dyn Provider>],
        kinds: &[],
        rules: &bench.rules,
        without_fact_checks: false,
        now: chrono::DateTime::UNIX_EPOCH,
    };
    let round = bench.round();
    let claim = TextProfile::new("Velmora shipped 4200 tonnes of grain.", Some("en"), None, &[]);
    let mut finds = Finds::of(&Arc::new(claim));
    round.search(plan.stages(&[query("one"), query("two"), query("three")], &[]), &mut finds).await;
    assert_eq!((begun(&web), finds.pages.iter().filter(|page| page.about).count()), (2, 3));
}

#[tokio::test]
async fn an_own_source_that_could_not_be_asked_is_always_named() {
    let bench = Bench::new(Duration::from_mins(1));
    let rows = scripted("database", NOW, [ScriptedAnswer::Fails(AskError::Server { status: 503 })]);
    let web = scripted("searxng", NOW, [pages("searxng", 5)]);
    bench.search(&[&rows, &web], 2).await;
    assert_eq!(bench.degraded(), ["provider_failed:database"], "the web does not stand in for it");
}

#[tokio::test]
async fn only_what_was_really_asked_is_listed_as_checked() {
    let bench = Bench::new(Duration::from_mins(1));
    let idle = Arc::new(ScriptedProvider::new("api", NOW, []).with_nothing_to_ask());
    let rows = scripted("database", NOW, []);
    bench.search(&[&idle, &rows], 1).await;
    assert!(bench.journal.was_checked("database") && !bench.journal.was_checked("api"));
}
