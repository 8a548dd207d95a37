use std::future::{Ready, ready};

use tokio::time::Instant;

use super::super::contract;
use super::super::contract_own::{OwnSubject, gate};
use super::*;
use crate::outbound::AskMeter;

/// The behaviour of a source.
#[derive(Debug, Clone)]
enum Behaviour {
    Bring(Vec<GatheredPage>),
    Fail,
    Sleep,
}

#[derive(Debug)]
struct ScriptedSource(&'static str, Behaviour);

impl Gatherer for ScriptedSource {
    fn name(&self) -> &str {
        self.0
    }

    fn gather<'a>(&'a self, _query: &'a Query) -> BoxFuture<'a, Result<Vec<GatheredPage>, StepError>> {
        Box::pin(async move {
            match &self.1 {
                Behaviour::Bring(found) => Ok(found.clone()),
                Behaviour::Fail => Err("the archive is closed".into()),
                Behaviour::Sleep => {
                    tokio::time::sleep(Duration::from_secs(6)).await;
                    Ok(Vec::new())
                }
            }
        })
    }
}

fn page(url: &str, text: Option<&str>) -> GatheredPage {
    GatheredPage {
        url: Url::parse(url).unwrap(),
        title: " Harbour\nnews ".to_owned(),
        text: text.map(str::to_owned),
        published_at: Some(contract::now()),
        credibility: Some(7.0),
    }
}

fn of(sources: Vec<(&'static str, Behaviour)>) -> GathererProvider {
    let gatherers = sources.into_iter().map(|(name, kind)| Arc::new(ScriptedSource(name, kind)) as Arc<dyn Gatherer>);
    new(gatherers.collect(), gate(gate_settings(Duration::from_mins(10))))
}

async fn ask(provider: &GathererProvider) -> Result<Answer, AskError> {
    let asker = Asker { until: Instant::now() + Duration::from_secs(20), meter: &AskMeter::default() };
    provider.ask(&contract::query(), asker).await
}

pub(in crate::providers) fn own_subject() -> Ready<Option<OwnSubject>> {
    let full = vec![
        page("archive://harbour/1", Some("The seaport is approved.")),
        page("archive://harbour/2", Some("It will open in June.")),
        page("archive://harbour/1", Some("Once more.")),
    ];
    ready(Some(OwnSubject {
        kind: ProviderKind::Own,
        query: contract::query(),
        full: Box::new(of(vec![("harbour", Behaviour::Bring(full))])),
        empty: Box::new(of(vec![("harbour", Behaviour::Bring(Vec::new()))])),
        broken: Box::new(of(vec![("harbour", Behaviour::Fail)])),
        slow: Box::new(of(vec![("harbour", Behaviour::Sleep)])),
        content: Some(Origin::Api),
        clear: Box::pin(async {}),
    }))
}

#[tokio::test]
async fn answer_is_not_whole_when_one_source_fails() {
    let known = Behaviour::Bring(vec![page("archive://a/1", Some("The port is open."))]);
    let found = ask(&of(vec![("gone", Behaviour::Fail), ("archive", known)])).await.unwrap();
    assert_eq!((found.hits.len(), found.failed.as_slice()), (1, ["gone".to_owned()].as_slice()));
    let nothing = ask(&of(vec![("gone", Behaviour::Fail), ("archive", Behaviour::Bring(Vec::new()))])).await;
    assert!(matches!(nothing, Err(AskError::CouldNotAsk { .. })), "{nothing:?}");
}

#[tokio::test]
async fn a_page_is_to_be_fetched_and_what_is_neither_page_nor_text_is_left_out() {
    let brought = vec![
        page("https://news.example/a", None),
        page("archive://a/1", Some("  ")),
        page("https://me:secret@news.example/b", None),
        page("archive://a/2", Some("The port is open.")),
    ];
    let hits = ask(&of(vec![("archive", Behaviour::Bring(brought))])).await.unwrap().hits;
    let places: Vec<&str> = hits.iter().map(|hit| hit.url.as_str()).collect();
    assert_eq!(places, ["https://news.example/a", "archive://a/2"]);
    assert_eq!((hits[0].content.as_ref(), hits[0].title.as_str()), (None, "Harbour news"));
    let content = hits[1].content.as_ref().unwrap();
    assert_eq!((content.publisher.as_deref(), content.credibility), (Some("archive"), Some(1.0)));
}

#[tokio::test]
async fn a_source_that_hangs_takes_nothing_of_the_others_with_it() {
    let known = Behaviour::Bring(vec![page("archive://a/1", Some("The port is open."))]);
    let provider = of(vec![("quick", known), ("hangs", Behaviour::Sleep)]);
    let asker = Asker { until: Instant::now() + Duration::from_millis(600), meter: &AskMeter::default() };
    let answer = provider.ask(&contract::query(), asker).await.unwrap();
    assert_eq!((answer.hits.len(), answer.failed), (1, vec!["hangs".to_owned()]));
    let other = of(vec![("quick", Behaviour::Bring(Vec::new()))]);
    assert_ne!(provider.cache_key(&contract::query()), other.cache_key(&contract::query()));
}
