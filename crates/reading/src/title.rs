//! Finds the article's title: the headline in the page's data, else its heading, the title for sharing, or the title
//! tag.
//!
//! Templates repeat the site's name, cut headlines, and write the title tag for search engines. The rules compare the
//! sources to find the article's own wording.

use std::collections::HashSet;

use serde_json::{Map, Value};
use url::Url;

use super::json_ld::string;
use super::page::{Heading, Mark, Page};
use super::text;
use super::twice_encoded::is_garbled;

const SHARED_TAGS: [&str; 4] = ["og:title", "twitter:title", "dc.title", "citation_title"];
/// Shorter headings are mostly section names.
const MIN_HEADING: usize = 8;
/// Shorter words ("und", "the") occur in unrelated titles.
const MIN_WORD: usize = 4;
/// Minimum letters of a site name for a comparison by containment.
const MIN_NAME: usize = 4;
/// Bytes. A hostile title may be as long as its page; a longer headline is misplaced text.
const MAX_COMPARED: usize = 1_000;

/// The names of the site, as letters only.
struct Site {
    stated: Vec<String>,
    /// First label of the domain. It may also be a word for the article's subject.
    label: String,
    domain: String,
    /// Headings that link to the home page: the site's name, or "Home".
    banners: Vec<String>,
}

impl Site {
    fn of(page: &Page, names: &[&str], url: &Url) -> Self {
        let banners = page.heads.iter().filter(|head| head.link.as_deref().is_some_and(|link| leads_home(link, url)));
        let known = |names: &mut dyn Iterator<Item = &str>, min: usize| {
            let names = names.map(|name| text::letters(text::cut(name, MAX_COMPARED)));
            names.filter(|name| name.chars().count() >= min).take(4).collect()
        };
        let domain = url.host_str().map(super::registered_domain).unwrap_or_default();
        Self {
            label: text::letters(domain.split('.').next().unwrap_or_default()),
            domain: text::letters(&domain),
            stated: known(&mut names.iter().copied(), 1),
            banners: known(&mut banners.map(|heading| heading.text.as_str()), MIN_NAME),
        }
    }

    fn is(&self, letters: &str) -> bool {
        self.is_site_name(letters) || (!letters.is_empty() && self.label == letters)
    }

    /// As [`Self::is`], without the domain's label.
    fn is_site_name(&self, letters: &str) -> bool {
        self.stated.iter().chain(&self.banners).any(|name| name == letters)
    }

    /// True if `end` contains a site name or the reverse ("BBC News"). Banners are excluded because of "Home", and the
    /// domain's label beyond three words.
    fn is_about(&self, end: &str) -> bool {
        let is_long = |name: &str| name.chars().count() >= MIN_NAME;
        let letters = text::letters(end);
        let label = Some(&self.label).filter(|_| end.split_whitespace().count() <= 3);
        let mut names = self.stated.iter().chain(label).filter(|name| is_long(name));
        is_long(&letters) && names.any(|name| name.contains(&letters) || letters.contains(name.as_str()))
    }
}

/// Finds the title. `names` are the stated names of the site.
pub(super) fn read(page: &Page, article: Option<&Map<String, Value>>, names: &[&str], url: &Url) -> Option<String> {
    let site = Site::of(page, names, url);
    let tag = page.title.as_deref().unwrap_or_default();
    let headline = headline(page, article).map(|title| without_site(&title, &site));
    // Templates put the site's name in place of the article's title.
    let is_site = |title: &str| url.path() != "/" && site.is(&text::letters(title));
    let stated = SHARED_TAGS
        .iter()
        .filter_map(|name| page.meta(&[name]))
        .map(|title| without_site(title, &site))
        .find(|title| !is_site(title));
    let of_tag = (!tag.is_empty()).then(|| without_site(tag, &site));
    let own = own_headings(page, &site, url);
    let stated = stated.map(|title| whole(title, &own, of_tag.as_deref()));
    let named = of_tag.clone().filter(|title| !is_site(title));
    let of_stated = stated.as_deref().map(text::letters);
    let compared: Vec<String> = headline.as_deref().map(text::letters).into_iter().chain(of_stated.clone()).collect();
    let known: Vec<String> = compared.iter().cloned().chain(of_tag.as_deref().map(text::letters)).collect();
    let firsts: Vec<String> = own
        .iter()
        .filter(|heading| heading.is_first && !text::letters(&heading.text).is_empty())
        .map(|heading| own_words(heading, &compared))
        .collect();
    // A heading that the shared title or title tag repeats is the article's. Others may belong to the navigation, a
    // widget or the next article.
    let is_repeated = |heading: &&String| match &stated {
        Some(title) => title.contains(heading.as_str()) || of_stated.as_ref() == Some(&text::letters(heading)),
        None => tag.contains(heading.as_str()),
    };
    let long = || firsts.iter().filter(|heading| heading.chars().count() >= MIN_HEADING);
    let confirmed = long().filter(is_repeated).rev().max_by_key(|heading| heading.len()).cloned();
    let heading = confirmed.clone().or_else(|| long().next().cloned());
    if let Some(headline) = headline {
        let marked = entry_title(&own, &[Mark::Entry, Mark::Headline], firsts.is_empty(), Some(&headline), &known);
        return Some(by_headline(headline, heading, marked, stated.as_deref(), of_tag.as_deref()));
    }
    // The shared title is more reliable than a heading with only microdata's mark.
    let marks: &[Mark] = if stated.is_some() { &[Mark::Entry] } else { &[Mark::Entry, Mark::Headline] };
    let entry = entry_title(&own, marks, firsts.is_empty(), stated.as_deref(), &known);
    let lower = if confirmed.is_none() { lower(&own, stated.as_deref().unwrap_or(tag)) } else { None };
    // The title tag is written for search engines, and templates repeat it as shared title. A single heading is then
    // better.
    let only = heading.clone().filter(|heading| {
        firsts.len() == 1 && stated.as_deref().is_none_or(|title| is_reworded(heading, title, of_tag.as_deref(), page))
    });
    let found = entry.or(confirmed).or(lower).or(only).or(stated).or(named).or(heading).or(of_tag);
    found
        .or_else(|| page.meta(&SHARED_TAGS).map(str::to_owned))
        .or_else(|| long_headline(article))
        .filter(|it| !it.is_empty())
}

/// Completes a shortened shared title from the heading or title tag.
fn whole(shared: String, own: &[&Heading], of_tag: Option<&str>) -> String {
    let trimmed = shared.trim_end();
    if !(trimmed.ends_with('…') || trimmed.ends_with("...")) {
        return shared;
    }
    let begins = text::letters(&shared);
    let firsts = own.iter().filter(|heading| heading.is_first).map(|heading| heading.text.as_str());
    let is_whole = |full: &&str| {
        let full = text::letters(full);
        begins.chars().count() >= 2 * MIN_HEADING && full.len() > begins.len() && full.starts_with(&begins)
    };
    let known = firsts.chain(of_tag).filter(is_whole).min_by_key(|full| full.len()).map(str::to_owned);
    known.unwrap_or(shared)
}

/// True if `heading` rewords `shared`, which only repeats the title tag. A `twitter:title`, or a heading that contains
/// it, shows that it was written for the article.
fn is_reworded(heading: &str, shared: &str, of_tag: Option<&str>, page: &Page) -> bool {
    of_tag.is_some_and(|tag| same_letters(tag, shared))
        && page.meta(&["twitter:title"]).is_none()
        && !text::letters(heading).contains(&text::letters(shared))
        && share_a_word(heading, shared)
}

/// Returns the data's headline. If it is cut or written for search engines, returns `heading` or the `marked` headline.
fn by_headline(
    headline: String,
    heading: Option<String>,
    marked: Option<String>,
    stated: Option<&str>,
    of_tag: Option<&str>,
) -> String {
    let repeats_tag = of_tag.is_some_and(|tag| same_letters(tag, &headline));
    if let Some(marked) = marked.filter(|_| repeats_tag) {
        return marked;
    }
    let Some(full) = heading else { return headline };
    let for_search = repeats_tag && stated.is_some_and(|title| !same_letters(title, &headline));
    // Sites cut the headline because schema.org readers show 110 characters.
    let cut = headline.trim_end_matches(['.', '…']);
    let may_be_cut = cut.len() < headline.len() || headline.chars().count() >= 90;
    let is_cut = may_be_cut && headline.len() < full.len() && full.starts_with(cut);
    // Heading and shared title agree, and the headline differs. A title tag that agrees with them means that the
    // headline was written separately, and it stays.
    let holds = |whole: &str, title: &str| text::letters(whole).contains(&text::letters(title));
    let is_alone = stated.is_some_and(|title| same_letters(title, &full))
        && !of_tag.is_some_and(|tag| holds(tag, &full) || holds(tag, &headline));
    if is_cut || ((for_search || is_alone) && !same_letters(&full, &headline)) { full } else { headline }
}

/// The headline in JSON-LD, else in microdata.
fn headline(page: &Page, article: Option<&Map<String, Value>>) -> Option<String> {
    let tag = page.title.as_deref().unwrap_or_default();
    let of_data = article.and_then(|node| {
        let short = |key: &str| string(node, key).filter(|title| title.len() <= MAX_COMPARED && !is_garbled(title));
        let (headline, name) = (short("headline"), short("name"));
        // Wikipedia has a description in `headline` and the title in `name`.
        match (&headline, &name) {
            (Some(stated), Some(other)) if !tag.contains(stated.as_str()) && tag.contains(other.as_str()) => name,
            _ => headline.or(name.filter(|name| tag.contains(name.as_str()))),
        }
    });
    // Teasers have this property too.
    let marked = page.meta(&["headline"]).filter(|headline| {
        let headline_letters = text::letters(headline);
        !headline_letters.is_empty() && text::letters(tag).contains(&headline_letters)
    });
    of_data.or_else(|| marked.map(str::to_owned))
}

fn long_headline(article: Option<&Map<String, Value>>) -> Option<String> {
    let headline = string(article?, "headline")?;
    Some(text::cut(&headline, MAX_COMPARED).trim_end().to_owned())
}

/// Returns the headings that may be the article's: not in surroundings, not the site's name, not a link to the home
/// page.
fn own_headings<'a>(page: &'a Page, site: &Site, url: &Url) -> Vec<&'a Heading> {
    page.heads
        .iter()
        .filter(|heading| !heading.is_aside)
        .filter(|heading| {
            let letters = text::letters(&heading.text);
            letters != site.domain && !site.is(&letters)
        })
        .filter(|heading| heading.link.as_deref().is_none_or(|link| !leads_home(link, url)))
        .collect()
}

/// Returns the heading that the template marks as the article's. `known` are the letters of the page's titles.
///
/// Marks on several headings are a list. A heading with a kicker contains the `other` title. A widget's only entry is
/// marked too: then another heading has a known title, or the entry shares no word with the other title.
fn entry_title(
    own: &[&Heading],
    marks: &[Mark],
    of_any_rank: bool,
    other: Option<&str>,
    known: &[String],
) -> Option<String> {
    let is_marked = |heading: &Heading| marks.contains(&heading.mark);
    let mut marked = own.iter().filter(|heading| is_marked(heading) && (heading.is_first || of_any_rank));
    let (first, stated) = (marked.next()?, other.map(text::letters));
    let entry = own_words(first, stated.as_slice());
    let letters = text::letters(&entry);
    let adds = stated.is_some_and(|title| letters.contains(&title));
    let is_known = own.iter().any(|heading| !is_marked(heading) && known.contains(&text::letters(&heading.text)));
    let is_of_widget = is_known || (!first.is_first && other.is_some_and(|title| !share_a_word(&entry, title)));
    (!adds && !is_of_widget && !letters.is_empty() && marked.all(|next| same_letters(&next.text, &entry)))
        .then_some(entry)
}

/// Finds a lower-rank heading that equals a part of the stated title, next to a site or section name.
fn lower(own: &[&Heading], title: &str) -> Option<String> {
    let edges = edges(title);
    own.iter()
        .filter(|heading| !heading.is_first && heading.text.chars().count() >= MIN_HEADING)
        .filter(|heading| edges.contains(&text::letters(&heading.text)))
        .max_by_key(|heading| heading.text.len())
        .map(|heading| heading.text.clone())
}

fn edges(title: &str) -> HashSet<String> {
    let title = text::cut(title, MAX_COMPARED);
    let parts = |&(at, found): &(usize, &str)| {
        let (before, after) = (title.get(..at)?, title.get(at + found.len()..)?);
        let is_inner = before.chars().next_back().is_some_and(char::is_alphanumeric)
            && after.chars().next().is_some_and(char::is_alphanumeric);
        (found != "-" || !is_inner).then_some([before, after])
    };
    let separators = title.match_indices(['|', '»', '«', '–', '—', '-', ':', '·', '•', '/', '_']);
    separators.filter_map(|at| parts(&at)).take(20).flatten().chain([title]).map(text::letters).collect()
}

/// Returns a heading without a kicker, date or subtitle. `stated` are the letters of the page's titles.
fn own_words(heading: &Heading, stated: &[String]) -> String {
    // If all its parts are stated, it is one title on two lines.
    let whole = text::letters(&heading.text);
    if heading.pieces.is_empty() || stated.iter().any(|title| title.contains(&whole)) {
        return heading.text.clone();
    }
    let of_title = heading.pieces.iter().find(|piece| stated.contains(&text::letters(piece)));
    let longer = if let [one, other] = heading.pieces.as_slice() {
        Some(if text::letters(one).len() > text::letters(other).len() { one } else { other })
    } else {
        None
    };
    of_title.or(longer).unwrap_or(&heading.text).clone()
}

fn leads_home(link: &str, url: &Url) -> bool {
    let link = link.trim();
    if link.is_empty() || link.starts_with('#') {
        return false;
    }
    let Ok(to) = url.join(link) else { return false };
    let (domain, path) = place(&to);
    let is_home = matches!(path.trim_matches('/'), "" | "index.html" | "index.php");
    let is_web = matches!(to.scheme(), "http" | "https");
    is_web && is_home && to.query().is_none() && !domain.is_empty() && domain == place(url).0
}

/// The registered domain and path of a URL, or of the copied page in an archive's URL.
fn place(url: &Url) -> (String, &str) {
    let (host, path) = match url.path().rsplit_once("://") {
        Some((_, copied)) => {
            let (host, path) = copied.split_once('/').unwrap_or((copied, ""));
            (host.split(':').next().unwrap_or_default(), path)
        }
        None => (url.host_str().unwrap_or_default(), url.path()),
    };
    (super::registered_domain(host), path)
}

/// Removes the site's name from a title ("… | Reuters", "The Blog » …").
fn without_site(title: &str, site: &Site) -> String {
    for separator in [" | ", " - ", " — ", " – ", " :: ", " · ", " • ", " « ", " » ", " / "] {
        // The name may contain the separator.
        let whole_name = title.match_indices(separator).take(10).find_map(|(at, _)| {
            let (head, tail) = (title.get(..at)?, title.get(at + separator.len()..)?);
            (head.chars().count() >= MIN_HEADING && site.is(&text::letters(tail))).then_some(head)
        });
        if let Some(head) = whole_name {
            return text::collapse(head);
        }
        if let Some((head, tail)) = title.split_once(separator)
            && site.is_site_name(&text::letters(head))
            && tail.chars().count() >= MIN_HEADING
        {
            return text::collapse(tail);
        }
        let Some((head, tail)) = title.rsplit_once(separator) else { continue };
        let is_name = site.is_about(tail);
        let is_domain = tail.contains('.') && !tail.trim().contains(' ');
        let bar_and_short =
            separator == " | " && tail.split_whitespace().count() <= 3 && head.split_whitespace().count() >= 4;
        if (is_name || is_domain || bar_and_short) && head.chars().count() >= MIN_HEADING {
            return text::collapse(head);
        }
    }
    title.to_owned()
}

fn share_a_word(left: &str, right: &str) -> bool {
    let right = text::cut(right, MAX_COMPARED).to_lowercase();
    let of_right: HashSet<&str> = words(&right).collect();
    words(&left.to_lowercase()).any(|word| of_right.contains(word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= MIN_WORD)
}

fn same_letters(left: &str, right: &str) -> bool {
    text::letters(left) == text::letters(right)
}

#[cfg(test)]
mod tests;
