//! How much a check of a statement would tell. A sum of signs, squashed to 0–1.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::domain::ClaimKind;
use crate::language::entities::{EntityKind, entities};
use crate::language::numbers::{Unit, quantities};
use crate::language::tokens;

/// Words of claims: causes, changes, comparisons, deeds that leave a record.
const FACTUAL: &str = "percent million billion trillion cause causes caused increase increased decrease decreased rose fell cut doubled tripled voted signed \
    passed killed died spent raised lost won highest lowest largest biggest first most more less fewer than ever rate tax taxes budget deficit debt jobs unemployment \
    inflation election vaccine virus cancer study report according contains created banned approved founded born built launched invented \
    процент млн млрд вызывает причина вырос выросла упал упала снизился погибли погиб умер убит подписал принял запретил построил основан родился \
    крупнейший первый самый больше меньше налог бюджет инфляция выборы вакцина вирус исследование согласно является содержит создан \
    відсоток викликає причина зріс зросла впав загинули загинув помер підписав ухвалив заборонив заснований народився найбільший перший більше менше \
    податок бюджет інфляція вибори вакцина вірус дослідження згідно містить створений";

static FACTUAL_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    FACTUAL.split_whitespace().flat_map(|word| tokens::tokens(word, None)).map(|token| token.stem).collect()
});

/// Words of talk: the speaker, the hearer, what may be.
const TALK: &str = "i i'm i've i'd i'll me my we we're we've let's you your you're would could might maybe perhaps hope want think believe going question \
    я мы мне мой ты вы вам ваш может возможно хочу думаю надеюсь ми мені мій ви може можливо хочу думаю сподіваюся";

static TALK_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| TALK.split_whitespace().collect());

/// 0–1. Opinions and vague statements stay under 0.2, whatever figures they hold.
pub(super) fn check_worthiness(text: &str, kind: ClaimKind, language: Option<&str>) -> f64 {
    let all = tokens::tokens(text, language);
    let content = all.iter().filter(|token| !token.stop).count();
    let stated = quantities(text, language);
    let figures = stated.iter().filter(|quantity| !matches!(quantity.unit, Unit::Identifier | Unit::Ordinal)).count();
    let names = entities(text, language, &[]);
    let strong = names.iter().filter(|name| name.kind != EntityKind::Misc).count();
    let factual = all.iter().filter(|token| FACTUAL_STEMS.contains(&token.stem)).count();
    let talk = all.iter().filter(|token| TALK_WORDS.contains(token.text.as_str())).count();
    let sum = -1.6
        + 1.1 * figures.min(2) as f64
        + 0.35 * strong.min(3) as f64
        + 0.45 * factual.min(3) as f64
        + 0.12 * content.min(12) as f64
        - 0.55 * talk.min(3) as f64;
    let worth = 1.0 / (1.0 + (-sum).exp());
    match kind {
        ClaimKind::Factual => worth,
        ClaimKind::Mixed => worth * 0.9,
        ClaimKind::Opinion | ClaimKind::Ambiguous => worth * 0.2,
    }
}
