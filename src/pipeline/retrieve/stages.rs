//! Plans the search for one claim: own material, feeds, encyclopaedia, trusted sites, sites of fact-checkers, open
//! search, other languages.
//! The module sends nothing. To add a stage, add a line to [`Plan::stages`].

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::SourceType;
use crate::judging::credibility::credibility;
use crate::judging::profile::TextProfile;
use crate::pipeline::queries::ForeignQuery;
use crate::providers::{Provider, Query, wikipedia};

/// GDELT accepts 250 characters; more domains would leave no space for words.
const DOMAINS_PER_QUERY: usize = 5;

/// A claim about an earlier time is not news.
const NEWS_AGE: TimeDelta = TimeDelta::days(365);

/// Sites by language, best known first; searched only if the fact-check provider is not available.
const FACT_CHECKERS: &[(&str, &[&str])] = &[
    ("en", &["snopes.com", "politifact.com", "factcheck.org", "fullfact.org"]),
    ("ru", &["provereno.media", "stopfake.org", "factcheck.kz"]),
    ("uk", &["stopfake.org", "voxukraine.org"]),
    ("pt", &["aosfatos.org", "lupa.uol.com.br"]),
    ("es", &["maldita.es", "newtral.es", "chequeado.com"]),
    ("de", &["correctiv.org", "mimikama.org"]),
    ("fr", &["factuel.afp.com", "20minutes.fr"]),
];

/// Sites whose language is not that of their top-level domain.
const LANGUAGE_OF: &[(&str, &str)] = &[
    ("suspilne.media", "uk"),
    ("unian.net", "uk"),
    ("ukrinform.net", "uk"),
    ("meduza.io", "ru"),
    ("novayagazeta.eu", "ru"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageMode {
    /// All at once, because each has its own content.
    All,
    /// One answer suffices.
    First,
    /// As `First`, even if enough was found: other languages know other things.
    Always,
    /// Until one query was answered and enough is found.
    UntilEnough,
}

#[derive(Debug)]
pub(super) struct Stage<'a> {
    pub(super) name: &'static str,
    pub(super) mode: StageMode,
    pub(super) providers: Vec<&'a Arc<dyn Provider>>,
    pub(super) queries: Vec<Query>,
    /// The claim in the queries' language, if that differs.
    pub(super) foreign: Option<Arc<TextProfile>>,
}

impl Stage<'_> {
    /// Whether the stage searches openly, not only chosen sites or feeds.
    pub(super) fn is_open(&self) -> bool {
        self.mode == StageMode::UntilEnough
    }
}

pub(super) struct Plan<'a> {
    pub(super) own: &'a [Arc<dyn Provider>],
    pub(super) search: &'a [Arc<dyn Provider>],
    /// Empty for all.
    pub(super) kinds: &'a [SourceKind],
    pub(super) rules: &'a DomainRules,
    pub(super) without_fact_checks: bool,
    pub(super) now: DateTime<Utc>,
}

pub(super) fn selects(kinds: &[SourceKind], kind: SourceKind) -> bool {
    kinds.is_empty() || kinds.contains(&kind)
}

impl<'a> Plan<'a> {
    /// Returns the selected providers, without the evidence store.
    pub(super) fn selected(&self) -> impl Iterator<Item = &'a Arc<dyn Provider>> {
        let kinds = self.kinds;
        self.own.iter().chain(self.search).filter(move |provider| selects(kinds, provider.profile().source))
    }

    pub(super) fn searches_in(&self, language: &str) -> bool {
        self.of(self.search, |kind| kind != SourceKind::Feeds).iter().any(|provider| provider.accepts(language))
    }

    /// Returns the stages in order, without empty ones. Each of `others` is a stage.
    pub(super) fn stages(&self, queries: &[Query], others: &[ForeignQuery]) -> Vec<Stage<'a>> {
        let best = || queries.first().cloned().into_iter().collect::<Vec<Query>>();
        let language = queries.first().and_then(|query| query.language.as_deref());
        let mut stages = vec![
            stage("own material", StageMode::All, self.of(self.own, |_| true), best()),
            stage("feeds", StageMode::All, self.of(self.search, |kind| kind == SourceKind::Feeds), best()),
        ];
        let web = self.of(self.search, |kind| kind != SourceKind::Feeds);
        let (encyclopaedias, mut web): (Vec<_>, Vec<_>) =
            web.into_iter().partition(|one| one.name() == wikipedia::NAME);
        // A claim without a date, or about an earlier time, is asked there first. For news it is the last free provider.
        let is_recent =
            queries.first().and_then(|query| query.around).is_some_and(|around| self.now - around < NEWS_AGE);
        // Otherwise its pages would be discarded, and its empty answer would look like one.
        let is_of_use =
            !self.rules.allowlist_only || self.rules.allowed().iter().any(|domain| domain.ends_with("wikipedia.org"));
        let encyclopaedias = if is_of_use { encyclopaedias } else { Vec::new() };
        let comes_first = !is_recent && !self.rules.allowlist_only;
        if comes_first {
            stages.push(stage("encyclopaedia", StageMode::All, encyclopaedias.clone(), best()));
        }
        let free = web.iter().take_while(|provider| !provider.paid()).count();
        let mut all = web.clone();
        all.splice(free..free, encyclopaedias);
        if !comes_first {
            web.clone_from(&all);
        }
        let restricting: Vec<&Arc<dyn Provider>> =
            web.iter().copied().filter(|provider| provider.profile().restricts_domains).collect();
        // With an allow list only, every search is on trusted sites.
        if !self.rules.allowlist_only {
            let trusted = restricted(best(), &self.trusted(language));
            stages.push(stage("trusted sites", StageMode::First, restricting.clone(), trusted));
        }
        if self.without_fact_checks && selects(self.kinds, SourceKind::Factcheck) {
            let sites = restricted(best(), &self.fact_checkers(language));
            stages.push(stage("fact-checkers' sites", StageMode::First, restricting, sites));
        }
        stages.push(stage("everything", StageMode::UntilEnough, web.clone(), self.only_allowed(queries.to_vec())));
        // Last: queries in the claim's own language must not wait.
        for other in others {
            let asked = self.only_allowed(vec![other.query.clone()]);
            let foreign = Some(Arc::clone(&other.profile));
            stages.push(Stage { foreign, ..stage("another language", StageMode::Always, all.clone(), asked) });
        }
        stages.retain(|stage| !stage.providers.is_empty() && !stage.queries.is_empty());
        stages
    }

    /// Returns providers of a kind, free ones first, otherwise in original order.
    fn of(&self, among: &'a [Arc<dyn Provider>], kind: impl Fn(SourceKind) -> bool) -> Vec<&'a Arc<dyn Provider>> {
        let wanted = |source: SourceKind| kind(source) && selects(self.kinds, source);
        let mut chosen: Vec<&Arc<dyn Provider>> =
            among.iter().filter(|provider| wanted(provider.profile().source)).collect();
        chosen.sort_by_key(|provider| provider.paid());
        chosen
    }

    /// Returns the allowed domains that most likely cover the claim: its language first, then news.
    fn trusted(&self, language: Option<&str>) -> Vec<String> {
        let mut domains: Vec<(bool, bool, f64, &str)> = self
            .rules
            .allowed()
            .into_iter()
            .map(|domain| {
                let host = domain.trim_start_matches("*.");
                let (figure, kind) = credibility(host, self.rules);
                (!writes_in(host, language), kind != SourceType::News, -figure, host)
            })
            .collect();
        domains.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(b.3)));
        domains.into_iter().take(DOMAINS_PER_QUERY).map(|(.., host)| host.to_owned()).collect()
    }

    fn fact_checkers(&self, language: Option<&str>) -> Vec<String> {
        let wanted = language.unwrap_or("en");
        let known = FACT_CHECKERS.iter().find(|(code, _)| *code == wanted).or_else(|| FACT_CHECKERS.first());
        let sites = known.map_or(&[][..], |(_, sites)| sites);
        sites.iter().filter(|site| !self.rules.is_denied(site)).map(|site| (*site).to_owned()).collect()
    }

    /// Restricts each query to other allowed domains if only those are allowed: an open search would be discarded.
    fn only_allowed(&self, mut queries: Vec<Query>) -> Vec<Query> {
        let allowed = self.rules.allowed();
        if !self.rules.allowlist_only || allowed.is_empty() {
            return queries;
        }
        let parts: Vec<&[&str]> = allowed.chunks(DOMAINS_PER_QUERY).collect();
        for (query, part) in queries.iter_mut().zip(parts.into_iter().cycle()) {
            query.domains = part.iter().map(|domain| domain.trim_start_matches("*.").to_owned()).collect();
        }
        queries
    }
}

fn stage<'a>(
    name: &'static str,
    mode: StageMode,
    providers: Vec<&'a Arc<dyn Provider>>,
    queries: Vec<Query>,
) -> Stage<'a> {
    Stage { name, mode, providers, queries, foreign: None }
}

/// Returns nothing without domains.
fn restricted(queries: Vec<Query>, domains: &[String]) -> Vec<Query> {
    if domains.is_empty() {
        return Vec::new();
    }
    queries.into_iter().map(|query| Query { domains: domains.to_vec(), ..query }).collect()
}

fn writes_in(host: &str, language: Option<&str>) -> bool {
    let listed = LANGUAGE_OF.iter().find(|(domain, _)| *domain == host).map(|(_, language)| *language);
    let own = listed.unwrap_or(match host.rsplit('.').next() {
        Some("ua") => "uk",
        Some("ru") => "ru",
        Some("br" | "pt") => "pt",
        _ => "en",
    });
    own == language.unwrap_or("en")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::samples::{ScriptedProvider, foreign, query};
    use super::*;
    use crate::domain::rules::{DomainList, DomainRule};

    fn rules(allowed: &[&str], allowlist_only: bool) -> DomainRules {
        let rule = |domain: &&str| DomainRule {
            domain: (*domain).to_owned(),
            list: DomainList::Allow,
            credibility: None,
            source_type: None,
            why: None,
        };
        DomainRules::new(allowed.iter().map(rule), allowlist_only)
    }

    fn now() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000)
    }

    fn names(plan: &Plan<'_>, queries: &[Query]) -> Vec<(&'static str, Vec<&'static str>)> {
        let stages = plan.stages(queries, &[]);
        stages.iter().map(|stage| (stage.name, stage.providers.iter().map(|one| one.name()).collect())).collect()
    }

    #[test]
    fn own_material_comes_before_trusted_sites_and_everything_behind_them() {
        let own = [ScriptedProvider::provider("corpus"), ScriptedProvider::provider("database")];
        let search = [
            ScriptedProvider::provider("feeds"),
            ScriptedProvider::provider("searxng"),
            ScriptedProvider::paid("brave"),
            ScriptedProvider::provider("gdelt"),
        ];
        let lists = rules(&["reuters.com"], false);
        let plan = |kinds, without_fact_checks| Plan {
            own: &own,
            search: &search,
            kinds,
            rules: &lists,
            without_fact_checks,
            now: now(),
        };
        let queries = [query("a"), query("b")];
        let web = vec!["searxng", "gdelt", "brave"];
        assert_eq!(
            names(&plan(&[], true), &queries),
            [
                ("own material", vec!["corpus", "database"]),
                ("feeds", vec!["feeds"]),
                ("trusted sites", web.clone()),
                ("fact-checkers' sites", web.clone()),
                ("everything", web.clone()),
            ]
        );
        let some = plan(&[SourceKind::Database, SourceKind::Feeds], true);
        assert_eq!(names(&some, &queries), [("own material", vec!["database"]), ("feeds", vec!["feeds"])]);
        assert!(names(&plan(&[SourceKind::Knowledge], false), &queries).is_empty());
        let open = names(&plan(&[SourceKind::Web], false), &queries);
        assert_eq!(open, [("trusted sites", web.clone()), ("everything", web)]);
        assert!(names(&plan(&[], true), &[]).is_empty(), "nothing to ask for");
    }

    #[test]
    fn a_stage_without_domains_is_left_out_and_an_allow_list_alone_makes_one_search() {
        let search = [ScriptedProvider::provider("searxng")];
        let none = rules(&[], false);
        let plan =
            |rules| Plan { own: &[], search: &search, kinds: &[], rules, without_fact_checks: false, now: now() };
        let stages = |rules| plan(rules).stages(&[query("a"), query("b")], &[]);
        assert_eq!(stages(&none).iter().map(|stage| stage.name).collect::<Vec<_>>(), ["everything"]);
        let only = rules(&["a.com", "b.com", "c.com", "d.com", "e.com", "f.com"], true);
        let found = stages(&only);
        assert_eq!(found.len(), 1);
        let domains: Vec<usize> = found[0].queries.iter().map(|query| query.domains.len()).collect();
        assert_eq!(domains, [5, 1], "the queries of a claim ask different domains");
    }

    #[test]
    fn encyclopaedia_is_asked_first_when_claim_is_no_news() {
        let search = [
            ScriptedProvider::provider("wikipedia"),
            ScriptedProvider::provider("gdelt"),
            ScriptedProvider::paid("brave"),
        ];
        let lists = rules(&[], false);
        let plan =
            Plan { own: &[], search: &search, kinds: &[], rules: &lists, without_fact_checks: false, now: now() };
        let of = |days: i64| Query { around: Some(now() - TimeDelta::days(days)), ..query("a") };
        let first = [("encyclopaedia", vec!["wikipedia"]), ("everything", vec!["gdelt", "brave"])];
        assert_eq!(names(&plan, &[query("a")]), first);
        assert_eq!(names(&plan, &[of(20_000)]), first, "a claim about an earlier time");
        assert_eq!(names(&plan, &[of(3)]), [("everything", vec!["gdelt", "wikipedia", "brave"])]);
        let only = rules(&["bbc.com"], true);
        let only = Plan { rules: &only, ..plan };
        let stages = only.stages(&[of(3)], &[foreign("c", "de")]);
        let asked: Vec<Vec<&str>> =
            stages.iter().map(|stage| stage.providers.iter().map(|one| one.name()).collect()).collect();
        assert_eq!(asked, [["gdelt", "brave"], ["gdelt", "brave"]], "in every language");
    }

    #[test]
    fn a_claim_is_asked_in_every_further_language_behind_everything() {
        let search = [ScriptedProvider::provider("searxng")];
        let lists = rules(&[], false);
        let plan =
            Plan { own: &[], search: &search, kinds: &[], rules: &lists, without_fact_checks: false, now: now() };
        let stages = plan.stages(&[query("Cyprus")], &[foreign("Η Κύπρος", "el"), foreign("c", "de")]);
        let sent: Vec<(&str, &str)> = stages.iter().map(|stage| (stage.name, stage.queries[0].text.as_str())).collect();
        assert_eq!(sent, [("everything", "Cyprus"), ("another language", "Η Κύπρος"), ("another language", "c")]);
        assert_eq!((stages[1].mode, stages[1].is_open()), (StageMode::Always, false));
    }

    #[test]
    fn language_is_searched_when_a_selected_provider_supports_it() {
        let own = [ScriptedProvider::provider("corpus")];
        let german: Arc<dyn Provider> =
            Arc::new(ScriptedProvider::new("searxng", Duration::ZERO, []).with_languages(&["de"]));
        let search = [ScriptedProvider::provider("feeds"), german];
        let lists = rules(&[], false);
        let searched = |kinds, language| {
            Plan { own: &own, search: &search, kinds, rules: &lists, without_fact_checks: false, now: now() }
                .searches_in(language)
        };
        assert!(searched(&[], "de") && searched(&[SourceKind::Web], "de"));
        assert!(!searched(&[], "el"), "neither feeds nor a folder search the web");
        assert!(!searched(&[SourceKind::Corpus], "de") && !searched(&[SourceKind::Feeds], "de"));
    }

    #[test]
    fn trusted_sites_are_those_of_the_claims_language() {
        let lists =
            rules(&["pravda.com.ua", "reuters.com", "meduza.io", "nature.com", "bbc.com", "*.gov", "dw.com"], false);
        let plan = Plan { own: &[], search: &[], kinds: &[], rules: &lists, without_fact_checks: false, now: now() };
        assert_eq!(plan.trusted(Some("uk"))[0], "pravda.com.ua");
        assert_eq!(plan.trusted(Some("ru"))[0], "meduza.io");
        assert_eq!(plan.trusted(Some("en"))[..3], ["bbc.com", "reuters.com", "dw.com"]);
        assert_eq!(plan.trusted(None).len(), DOMAINS_PER_QUERY);
        assert_eq!(plan.fact_checkers(Some("uk")), ["stopfake.org", "voxukraine.org"]);
        assert_eq!(plan.fact_checkers(Some("xx"))[0], "snopes.com");
    }
}
