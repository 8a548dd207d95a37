//! Parses `robots.txt` by RFC 9309: which URLs of a site we may fetch, and how often.
//!
//! Pure: it fetches nothing. `pages::permission` fetches and caches the file.

use std::time::Duration;

use url::Url;

/// Our name in `User-agent` lines, independent of the configured user agent.
pub(super) const PRODUCT_TOKEN: &str = "corroborate";

/// Bytes that are read: the minimum of RFC 9309 (2.5).
pub(super) const MAX_BYTES: usize = 500 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Robots {
    rules: Vec<Rule>,
    /// Pause between requests; the caller limits it.
    pub(super) crawl_delay: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allow: bool,
    /// Normalised; `*` matches any bytes, `$` the end.
    pattern: Vec<u8>,
}

#[derive(Debug, Default)]
struct Group {
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Addressees {
    us: bool,
    everyone: bool,
}

impl Robots {
    /// Returns the rules of the groups for us, else of those for everyone. Skips unreadable lines, as the RFC requires.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..MAX_BYTES).unwrap_or(bytes);
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let (mut ours, mut everyones): (Option<Group>, Group) = (None, Group::default());
        let mut addressees = Addressees::default();
        let mut names_follow = false;
        for line in bytes.split(|byte| matches!(byte, b'\r' | b'\n')) {
            let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = line.split_at(colon);
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            let field = Field::of(name.trim_ascii());
            if let Field::UserAgent = field {
                // Successive names share rules; a name after rules begins a new group.
                if !names_follow {
                    addressees = Addressees::default();
                }
                names_follow = true;
                addressees.everyone |= value.starts_with(b"*") && value.get(1).is_none_or(u8::is_ascii_whitespace);
                if is_our_name(value) {
                    addressees.us = true;
                    // A group for us replaces the one for everyone, even without rules.
                    ours.get_or_insert_default();
                }
                continue;
            }
            // Sitemaps and unknown fields belong to no group and end none.
            if matches!(field, Field::Other) {
                continue;
            }
            names_follow = false;
            let groups = addressees.us.then(|| ours.get_or_insert_default()).into_iter();
            for group in groups.chain(addressees.everyone.then_some(&mut everyones)) {
                group.take(field, value);
            }
        }
        let Group { rules, crawl_delay } = ours.unwrap_or(everyones);
        Self { rules, crawl_delay }
    }

    /// Whether we may fetch this URL. The longest matching rule decides; `Allow` wins a tie.
    pub(super) fn allows(&self, url: &Url) -> bool {
        let mut target = url.path().as_bytes().to_vec();
        if target == b"/robots.txt" {
            return true;
        }
        if let Some(query) = url.query() {
            target.push(b'?');
            target.extend_from_slice(query.as_bytes());
        }
        let target = normalise(&target, Side::Address);
        self.rules
            .iter()
            .filter(|rule| matches(&rule.pattern, &target))
            .max_by_key(|rule| (rule.pattern.len(), rule.allow))
            .is_none_or(|rule| rule.allow)
    }

    pub(super) fn weight(&self) -> u32 {
        let bytes: usize = self.rules.iter().map(|rule| rule.pattern.len() + 48).sum();
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

impl Group {
    fn take(&mut self, field: Field, value: &[u8]) {
        match field {
            Field::Allow | Field::Disallow if !value.is_empty() => {
                let pattern = normalise(value, Side::Rule);
                self.rules.push(Rule { allow: matches!(field, Field::Allow), pattern });
            }
            Field::CrawlDelay => {
                let seconds = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
                let delay = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                // The longer delay counts.
                self.crawl_delay = self.crawl_delay.max(delay);
            }
            // An empty rule has no effect.
            _ => {}
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Field {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Other,
}

impl Field {
    fn of(name: &[u8]) -> Self {
        match name.to_ascii_lowercase().as_slice() {
            b"user-agent" | b"useragent" | b"user agent" => Self::UserAgent,
            b"allow" => Self::Allow,
            // Misspellings that large crawlers accept.
            b"disallow" | b"dissallow" | b"dissalow" | b"disalow" | b"diasllow" | b"disallaw" => Self::Disallow,
            b"crawl-delay" | b"crawldelay" | b"crawl delay" => Self::CrawlDelay,
            _ => Self::Other,
        }
    }
}

/// Whether a name is ours. Any other character ends it: `Corroborate/1.0` is ours.
fn is_our_name(value: &[u8]) -> bool {
    let end = value.iter().position(|byte| !(byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')));
    value.get(..end.unwrap_or(value.len())).is_some_and(|name| name.eq_ignore_ascii_case(PRODUCT_TOKEN.as_bytes()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// `*` and `$` are wildcards.
    Rule,
    /// `*` and `$` are plain; a rule writes them as `%2A` and `%24`.
    Address,
}

/// Writes each byte in one form, so that `%7Ejoe`, `~joe` and `%7ejoe` are equal. Characters with another meaning stay
/// encoded (`% * $ ? #` and the blank).
fn normalise(text: &[u8], side: Side) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let hex = |offset: usize| text.get(at + offset).and_then(|digit| char::from(*digit).to_digit(16));
        let escaped = if byte == b'%' { hex(1).zip(hex(2)) } else { None };
        if let Some((high, low)) = escaped {
            let value = (high << 4 | low) as u8;
            if value.is_ascii_graphic() && !matches!(value, b'%' | b'*' | b'$' | b'?' | b'#') {
                out.push(value);
            } else {
                encode(value, &mut out);
            }
            at += 3;
            continue;
        }
        let is_sign = side == Side::Rule || !matches!(byte, b'*' | b'$');
        if byte.is_ascii_graphic() && is_sign {
            out.push(byte);
        } else {
            encode(byte, &mut out);
        }
        at += 1;
    }
    out
}

fn encode(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Whether the pattern matches the beginning of `target`, or with a final `$` all of it. Pieces between stars match as
/// early as possible, so time is limited by the product of the lengths.
fn matches(pattern: &[u8], target: &[u8]) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix(b"$") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = target.strip_prefix(first) else { return false };
    let mut pieces: Vec<&[u8]> = pieces.collect();
    let Some(last) = pieces.pop() else { return !anchored || rest.is_empty() };
    for piece in pieces {
        let Some(after) = after_first(rest, piece) else { return false };
        rest = after;
    }
    if anchored { rest.ends_with(last) } else { after_first(rest, last).is_some() }
}

fn after_first<'a>(text: &'a [u8], piece: &[u8]) -> Option<&'a [u8]> {
    if piece.is_empty() {
        return Some(text);
    }
    let start = text.windows(piece.len()).position(|window| window == piece)?;
    text.get(start + piece.len()..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(robots: &str, target: &str) -> bool {
        Robots::parse(robots.as_bytes()).allows(&Url::parse("https://a.example").unwrap().join(target).unwrap())
    }

    /// The example of RFC 9309, 5.1, with our name in the place of `foobot`.
    const SIMPLE: &str = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
        User-Agent: corroborate\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
        User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n\
        User-Agent: quxbot\n";

    #[test]
    fn parser_returns_documented_rules_when_file_is_example_of_rfc() {
        for (target, expected) in
            [("/example/page.html", true), ("/example/allowed.gif", true), ("/", false), ("/publications/", false)]
        {
            assert_eq!(allows(SIMPLE, target), expected, "{target}");
        }
        let strangers = SIMPLE.replace("corroborate", "foobot");
        for (target, expected) in [
            ("/x.gif", false),
            ("/x.gif?y", true),
            ("/example/page.html", false),
            ("/publications/", true),
            ("/", true),
        ] {
            assert_eq!(allows(&strangers, target), expected, "for everyone: {target}");
        }
        assert!(allows(
            &SIMPLE.replace("quxbot", "corroborate").replace("corroborate\nDisallow", "x\nDisallow"),
            "/x.gif"
        ));
    }

    #[test]
    fn the_longest_match_decides_and_allow_wins_a_tie() {
        let longest = "User-Agent: corroborate\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
        assert!(!allows(longest, "/example/page/disallowed.gif") && allows(longest, "/example/page/x"));
        for tie in ["Disallow: /a\nAllow: /a", "Allow: /a\nDisallow: /a"] {
            assert!(allows(&format!("user-agent: *\n{tie}"), "/abc"), "{tie}");
        }
        assert!(!allows("user-agent: *\nAllow: /p\nDisallow: /*.html", "/page.html"), "counted in octets of the rule");
    }

    #[test]
    fn encodings_are_compared_in_one_form() {
        // The tables of RFC 9309, 2.2.2 and 2.2.3.
        for (rule, target) in [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
            ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
            ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
            ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84"),
            ("/foo/bar/%e3%83%84", "/foo/bar/\u{30c4}"),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
            ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
            ("/path/foo-%24", "/path/foo-$"),
            ("/%7Ejoe/", "/~joe/index.html"),
        ] {
            assert!(!allows(&format!("user-agent: *\ndisallow: {rule}"), target), "{rule} and {target}");
        }
        assert!(allows("user-agent: *\ndisallow: /path/file-with-a-%2A.html", "/path/file-with-a-b.html"));
        assert!(allows("user-agent: *\ndisallow: /a?b", "/a%3Fb"), "an encoded question mark begins no query");
    }

    #[test]
    fn stars_and_ends_match_as_large_crawlers_do() {
        let cases = [
            ("/fish", &["/fish", "/fish.html", "/fish/salmon", "/fishheads"][..], &["/Fish.asp", "/catfish", "/"][..]),
            ("/fish*", &["/fish", "/fish.html"], &["/catfish"]),
            ("/fish/", &["/fish/", "/fish/?id=1"], &["/fish", "/fish.html"]),
            ("/*.php", &["/index.php", "/a/b.php?x", "/a.php/"], &["/", "/windows.PHP"]),
            ("/*.php$", &["/a.php", "/f/a.php"], &["/a.php?x", "/a.php5", "/a.php/"]),
            ("/fish*.php", &["/fish.php", "/fishheads/catfish.php?x"], &["/Fish.PHP"]),
            ("/*a*b*c$", &["/abc", "/xaxbxbxc"], &["/abcd", "/acb"]),
            ("*", &["/", "/x"], &[]),
            ("/$", &["/"], &["/x"]),
            ("/a$b", &[], &["/a", "/ab"]),
            ("admin", &[], &["/admin"]),
        ];
        for (rule, matching, others) in cases {
            for (targets, expected) in [(matching, false), (others, true)] {
                for target in targets {
                    assert_eq!(
                        allows(&format!("user-agent: *\ndisallow: {rule}"), target),
                        expected,
                        "{rule} {target}"
                    );
                }
            }
        }
    }

    #[test]
    fn groups_apply_when_other_lines_are_between_them() {
        let refused = [
            "\u{feff}User-agent: *\nDisallow: /",
            "user-agent:*\rdisallow:/\r",
            "USER-AGENT: *  # all\r\n\r\n  DISALLOW :  /  # nothing\r\n",
            "User-agent: other\nUser-agent: Corroborate/2.0\nDisallow: /",
            "User-agent: corroborate\nSitemap: https://a.example/s.xml\nUser-agent: other\nDisallow: /",
            "User-agent: corroborate\nDisallow: /b\n\nUser-agent: other\nDisallow:\n\nUser-agent: corroborate\nDisallow: /",
            "User-agent: *\nDissallow: /",
            "nonsense\n\0\u{1}: x\nUser-agent: *\nDisallow: /",
        ];
        for robots in refused {
            assert!(!allows(robots, "/a"), "{robots:?}");
        }
        let allowed = [
            "",
            "Disallow: /",
            "<!doctype html><title>User-agent: *</title><p>Disallow: /",
            "User-agent: *\nDisallow:\n",
            "User-agent: *\nDisallow: /\nUser-agent: corroborate\nAllow: /",
            "User-agent: *\nDisallow: /\nUser-agent: corroborate\n",
            "User-agent: corroborater\nDisallow: /",
            "User-agent: *bot\nDisallow: /",
            "User-agent: *\nCrawl-delay: 3\nUser-agent: other\nDisallow: /",
        ];
        for robots in allowed {
            assert!(allows(robots, "/a"), "{robots:?}");
        }
        assert!(allows("User-agent: *\nDisallow: /", "/robots.txt"), "the file itself may always be read");
    }

    #[test]
    fn a_delay_is_read_where_it_is_a_time() {
        let delay = |value: &str| Robots::parse(format!("user-agent: *\ncrawl-delay: {value}").as_bytes()).crawl_delay;
        assert_eq!(delay("2"), Some(Duration::from_secs(2)));
        assert_eq!(delay("0.5"), Some(Duration::from_millis(500)));
        for unreadable in ["", "-1", "NaN", "inf", "soon", "1e400"] {
            assert_eq!(delay(unreadable), None, "{unreadable}");
        }
    }

    #[test]
    fn what_is_behind_the_cap_is_not_read() {
        let mut robots = b"User-agent: *\n".to_vec();
        robots.resize(MAX_BYTES, b'\n');
        robots.extend_from_slice(b"Disallow: /");
        assert_eq!(Robots::parse(&robots), Robots::default());
    }

    #[test]
    fn many_stars_take_no_time() {
        let rule = "*a".repeat(2_000);
        let target = format!("/{}", "a".repeat(4_000));
        let start = tokio::time::Instant::now();
        assert!(!allows(&format!("user-agent: *\ndisallow: /{rule}"), &target));
        assert!(allows(&format!("user-agent: *\ndisallow: /{rule}b$"), &target));
        assert!(start.elapsed() < Duration::from_secs(2));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400), path in "[ -~]{0,60}") {
            let robots = Robots::parse(&bytes);
            if let Ok(url) = Url::parse("https://a.example").unwrap().join(&path) {
                robots.allows(&url);
            }
        }

        /// The greedy search finds what a full search would.
        #[test]
        fn matching_agrees_with_the_plain_definition(pattern in "[ab*]{0,8}\\$?", target in "[ab]{0,10}") {
            fn slow(pattern: &[u8], target: &[u8]) -> bool {
                match pattern.split_first() {
                    None => true,
                    Some((b'$', [])) => target.is_empty(),
                    Some((b'*', rest)) => (0..=target.len()).any(|from| slow(rest, &target[from..])),
                    Some((byte, rest)) => target.split_first().is_some_and(|(head, tail)| head == byte && slow(rest, tail)),
                }
            }
            prop_assert_eq!(matches(pattern.as_bytes(), target.as_bytes()), slow(pattern.as_bytes(), target.as_bytes()));
        }
    }
}
