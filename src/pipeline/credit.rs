//! Determines the publisher that a page credits.

use crate::judging::independence;
use crate::reading::letters;

/// Returns the agency in the byline, otherwise the publisher. Many sites are called "News", so a site name must be in
/// the domain.
pub(super) fn credit(
    author: Option<&str>,
    publisher: Option<String>,
    site: Option<String>,
    domain: &str,
) -> Option<String> {
    let agency =
        author.and_then(|names| names.split([',', ';', '/']).map(str::trim).find(|name| independence::is_agency(name)));
    let named = |name: &String| {
        let name = letters(name);
        name.len() > 3 && letters(domain).contains(name.strip_prefix("the").unwrap_or(&name))
    };
    agency.map(str::to_owned).or(publisher).or_else(|| site.filter(named))
}

#[cfg(test)]
mod tests {
    #[test]
    fn agency_is_credited_before_the_publisher_when_the_byline_names_it() {
        let credit = |author: Option<&str>, publisher: Option<&str>, site: Option<&str>| {
            super::credit(author, publisher.map(str::to_owned), site.map(str::to_owned), "dailypost.example")
        };
        assert_eq!(credit(Some("Jane Doe, Reuters"), Some("Daily Post"), None).as_deref(), Some("Reuters"));
        assert_eq!(credit(Some("Jane Doe"), Some("Post Group"), Some("Daily Post")).as_deref(), Some("Post Group"));
        assert_eq!(credit(None, None, Some("The Daily Post")).as_deref(), Some("The Daily Post"));
        assert_eq!(credit(None, None, Some("News")), None);
    }
}
