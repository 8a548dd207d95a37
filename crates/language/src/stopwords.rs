//! Function words: they carry grammar, not subject matter. Lower case, `ё` written `е`, straight apostrophes.

use std::collections::HashSet;
use std::sync::LazyLock;

const ENGLISH: &str = "a about above after again against all also am an and any are aren't as at be because been before \
    being below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each \
    even few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him \
    himself his how how's i i'd i'll i'm i've if in into is isn't it it's its itself just let's me more most mustn't my \
    myself no nor not of off on once only or other ought our ours ourselves out over own same shan't she she'd she'll she's \
    should shouldn't so some such than that that's the their theirs them themselves then there there's these they they'd \
    they'll they're they've this those through to too under until up upon us very was wasn't we we'd we'll we're we've were \
    weren't what what's when when's where where's which while who who's whom whose why why's will with won't would wouldn't \
    you you'd you'll you're you've your yours yourself yourselves may might must shall yet though although since per via \
    within without among amid towards toward however therefore thus";

const RUSSIAN: &str = "а без более бы был была были было быть в вам вами вас весь во вот все всего всех вся вы где да даже \
    для до его ее ей ему если есть еще же за здесь и из или им ими их к как какая какой какие когда кого который которая \
    которые которого которой которых которым ко кто ли лишь между меня мне много может можно мой моя мои мы на над надо нам \
    нами нас не него нее ней нем ним ними них но ну о об однако он она они оно от очень по под после потом потому при про с \
    сам сама сами свой своя свои своего своей своих свою себя себе со так также такая такие такой там те тебя тем теми то \
    тогда того тоже той только том тот ту ты у уже хотя чего чей чем через что чтоб чтобы эта эти это этого этой этом этот \
    этих этим эту я является являются являлся ни нет пока перед около ради среди ведь";

const UKRAINIAN: &str = "а аби або адже але без би б був була були було бути в вам вами вас весь вже ви від вона вони воно він \
    все всі всіх вся всього да де для до еще є за завжди задля з зі із й його йому її їй їм їх їхній ж же і із-за коли кого \
    котрий крім ледь лише між мене мені ми мій моя мої може можна на над нам нами нас наш не нею ним ними них ні но ну о об \
    однак ось от отже під після по поки при про саме свій своя свої свого своєї своїх свою себе собі та так такий така такі \
    також там те тим тими ти тих тільки то тобі тоді того тої той ту у уже хоча хто це цей ця ці цього цієї цим цих цю чи \
    понад близько майже більше щонайменше чий чого чому щє ще що щоб як яка який які якого якої яких якщо я ви є являється через перед серед біля";

const GERMAN: &str = "aber als am an auch auf aus bei bin bis da das dass dem den der des die doch du durch ein eine einem \
    einen einer er es für gegen hat haben ich ihr im in ist ja kann mit nach nicht noch nur ob oder sein sich sie sind so über \
    um und uns unter vom von vor war was wenn wie wir wird zu zum zur";

const FRENCH: &str = "à au aux avec ce ces cette dans de des du elle en est et été être il ils je la le les leur lui mais ne \
    nous on ou où par pas plus pour qu que qui sa se ses son sont sur un une vous y a d l c s n j";

const SPANISH: &str = "a al como con de del el ella en entre era es esta este fue ha han hay la las le lo los más mi muy no o \
    para pero por que se ser sin sobre son su sus también un una y ya";

const PORTUGUESE: &str = "a ao aos as com como da das de do dos e é ela ele em entre era esta este foi há isso já mais mas na \
    nas no nos não o os ou para pela pelo por que se sem ser seu sua são também um uma";

const ITALIAN: &str = "a ai al alla anche che chi ci come con da dal dalla dei del della delle di e è gli ha hanno i il in io la \
    le lo ma mi nel nella non o per più se si sono su sua suo tra un una";

const POLISH: &str = "a ale bez by był była były być co czy dla do gdy go i ich jak jako jego jej jest już się są na nad nie o od \
    oraz po pod przez przy tak także to tylko tym w we z za ze że który która które";

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

static ENGLISH_SET: LazyLock<HashSet<&'static str>> = LazyLock::new(|| set(ENGLISH));
static RUSSIAN_SET: LazyLock<HashSet<&'static str>> = LazyLock::new(|| set(RUSSIAN));
static UKRAINIAN_SET: LazyLock<HashSet<&'static str>> = LazyLock::new(|| set(UKRAINIAN));
static OTHERS: LazyLock<[(&'static str, HashSet<&'static str>); 6]> = LazyLock::new(|| {
    [
        ("de", set(GERMAN)),
        ("fr", set(FRENCH)),
        ("es", set(SPANISH)),
        ("pt", set(PORTUGUESE)),
        ("it", set(ITALIAN)),
        ("pl", set(POLISH)),
    ]
});

/// Whether the normalised word (see [`super::tokens`]) is a function word of that ISO 639-1 language. A word in Cyrillic
/// is held against Russian and Ukrainian, one in Latin letters of an unknown language against English.
pub fn is_stop_word(word: &str, language: Option<&str>) -> bool {
    if super::has_cyrillic(word) {
        return match language {
            Some("uk") => UKRAINIAN_SET.contains(word),
            Some("ru") => RUSSIAN_SET.contains(word),
            _ => RUSSIAN_SET.contains(word) || UKRAINIAN_SET.contains(word),
        };
    }
    OTHERS
        .iter()
        .find(|(code, _)| language == Some(*code))
        .map_or_else(|| ENGLISH_SET.contains(word), |(_, words)| words.contains(word))
}

/// Whether the word is an English function word, whatever the text is written in.
pub fn is_english(word: &str) -> bool {
    ENGLISH_SET.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stops_only_in_its_own_language() {
        assert!(is_stop_word("the", Some("en")) && is_stop_word("the", None) && is_stop_word("the", Some("ru")));
        assert!(!is_stop_word("die", Some("en")) && is_stop_word("die", Some("de")));
        assert!(is_stop_word("что", Some("ru")) && is_stop_word("що", Some("uk")) && is_stop_word("що", None));
        assert!(!is_stop_word("vaccine", Some("en")) && !is_stop_word("война", Some("ru")));
    }
}
