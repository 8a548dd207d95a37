//! Finds pages that name an item's channel by its handle.

/// A shorter handle is an ordinary word (Telegram's minimum is five characters).
const MIN_HANDLE_LETTERS: usize = 5;

/// Whether a text names the channel as `@channel1` or `t.me/channel1`.
pub(super) fn is_named(text: &str, channel: Option<&str>) -> bool {
    let Some(handle) = channel.and_then(|name| name.trim().strip_prefix('@')).map(str::to_lowercase) else {
        return false;
    };
    let is_of_handle = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if handle.len() < MIN_HANDLE_LETTERS || !handle.chars().all(is_of_handle) {
        return false;
    }
    let text = text.to_lowercase();
    text.match_indices(&handle).any(|(at, _)| {
        let (before, behind) = (text.get(..at).unwrap_or_default(), text.get(at + handle.len()..).unwrap_or_default());
        let is_marked = before.ends_with('@') || before.ends_with("t.me/") || before.ends_with("t.me/s/");
        is_marked && !behind.starts_with(is_of_handle)
    })
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_handle_names_a_channel_and_a_word_does_not() {
        let of = |text| is_named(text, Some("@Zandor_News"));
        assert!(of("As @zandor_news wrote, the bridge fell."));
        assert!(of("Джерело: https://t.me/zandor_news/55."));
        assert!(!of("zandor_news fell"));
        assert!(!of("See @zandor_news_live."));
        assert!(!is_named("@kyiv is a city", Some("@kyiv")));
        assert!(!is_named("Zandor News", Some("Zandor News")));
        assert!(!is_named("@x", None));
    }
}
