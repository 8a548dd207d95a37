//! The words that keep a sentence from meaning what it repeats.

use std::sync::LazyLock;

use crate::profile::{SentenceProfile, TextProfile, Word};
use corroborate_language::word_list::WordList;

/// What keeps a sentence from stating what it says, unless the claim has it too: saying, trying, wanting, promising, denying
/// something is not its being so.
pub(crate) static HEDGES: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "if whether would could might may should unless almost nearly rumor rumour deny denies бы если якобы чтобы будто \
         едва чуть может могут должен должны би якщо нібито щоб ледь може можуть se talvez poderia claim* alleg* suppos* \
         rumors rumours denied denying denial denials unclear unproven* unverif* hypothe* fiction* propos* plann* hope \
         hopes hoped hoping expect expects expected expecting expectation* fail fails failed failing failure failures refus* attempt* tried trying unlikely* \
         possibl* potential* suggest* unknown promis* urge urges urged urging demand* threat* intend* accus* suspect* \
         predict* warn warns warned warning warnings слух слуха слухи слухов слухам слухами слухах возможн* вероятн* \
         отрицает отрицают отрицал* отрицани* отрицая опроверг* планир* предпол* обеща* утвержда* попыт* пытается \
         пытаются пытался пыталась пытались пытаясь намерен* собира* допуска* просьб* просил* просит призва* призыв* \
         требу* хотел* хочет хотят подозрев* обвиня* угрож* грозит чутки чуток чуткам чутками чутках можлив* ймовірн* \
         запереч* спростув* планує планують планува* обіця* стверджу* намага* спроб* намір* збира* прохан* просить заклика* вимага* хотів* \
         хоче* хочуть підозрю* звинувач* погрож* supost* afirma* promet* tentou* negou* считает считают считал* посчит* \
         думает думают думал* уверен уверена уверены уверяет уверяют уверял* надеет* надеют* надеял* надежды надежду опаса* мнени* вважа* сподіва* побою* думк* \
         думає",
    )
});

/// Words with which a sentence calls what it repeats untrue.
pub(crate) static DEBUNKS: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "false falsely hoax debunked myth untrue fake fabricated misinformation disinformation baseless wrongly ложно \
         ложь ложный ложные ложное фейк фейковая фейковое неправда миф выдумка неправдивий неправдива міф вигадка брехня \
         falso falsa boato mentira",
    )
});

/// Words that widen, order or turn a claim: where the claim has one, the passage must have it too. Most are function
/// words, which the coverage of content words does not see.
pub(crate) static QUANTIFIERS: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "all always every everyone everybody only most entire first last both same ever solely exclusively все всегда \
         каждый каждая только лишь весь вся первый первая последний усі всі завжди кожен кожна тільки лише перший перша \
         останній todos todas sempre apenas primeiro primeira último última",
    )
});

/// Stems of words that name a direction or an outcome. Where the claim has one and the sentence has not, it is never
/// the word that may be missing.
pub(crate) static DIRECTIONS: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "increas* decreas* reduc* rais* rise rising* rose fall* fell drop grew* grow* shrink* declin* negativ* positiv* \
         high higher highest low lower lowest better* worse* activ* deactiv* inhibit* promot* prevent* caus* win winner \
         won lost* loss lose support* oppos* accept* reject* alive* open clos* allow* ban legal* illeg* guilti* innoc* \
         larg* small* old older oldest young* kill* die dead resign* вырос* рост сниз* упал* паден* увелич* уменьш* \
         повыс* пониз* выигр* проигр* разреш* запрет* запрещ* откры* закры* убит* погиб* умер* зрос* зниз* впал* збільш* \
         зменш* підвищ* дозвол* заборон* відкри* закри* виграл* програл* загинул* помер* вырас* впасть впасти упасти загину* дозвіл aument* diminu* reduz* proib* \
         permit* narrowly* avert* avoid* escap* urg",
    )
});

/// Whether the sentence says it with reserve and the claim does not.
pub(crate) fn hedged(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    let own = || claim.sentences.iter().flat_map(|own| &own.spoken).filter(|own| !own.name);
    let claim_too = |word: &str| own().any(|own| own.text == word);
    sentence.spoken.iter().any(|word| !word.name && HEDGES.has(&word.text) && !claim_too(&word.text))
}

/// Whether the sentence has such a word and the claim has none of them.
fn speaks_of(sentence: &SentenceProfile, claim: &TextProfile, words: &WordList) -> bool {
    let has = |own: &SentenceProfile| own.spoken.iter().any(|word| words.has(&word.text));
    has(sentence) && !claim.sentences.iter().any(has)
}

/// Whether the sentence calls what it repeats untrue, and the claim does not.
pub(crate) fn debunked(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    speaks_of(sentence, claim, &DEBUNKS)
}

/// Whether the claim has a word that widens, orders or turns it, and the sentence has not.
pub(crate) fn widened(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let own = claim.sentences.iter().flat_map(|own| &own.spoken).filter(|word| QUANTIFIERS.has(&word.text));
    own.into_iter().any(|word| !sentence.spoken.iter().any(|other| other.text == word.text))
}

/// Whether a word names a direction or an outcome.
pub(crate) fn is_direction(word: &Word) -> bool {
    DIRECTIONS.has(&word.stem)
}

/// Words with which a claim speaks of a part only. What holds in general does not contradict it: that vaccines are safe
/// leaves some that are not.
pub(crate) static PARTIAL: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "some certain few several sometimes occasionally rarely partly некоторые некоторых некоторым некоторая некоторый \
         иногда порой отдельные отдельных часть деякі деяких деяким інколи іноді часом окремі окремих частина alguns \
         algumas",
    )
});

/// Words with which a sentence speaks of every one, and so of the part too.
pub(crate) static WHOLE: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "no none never nobody nothing any all every each ни никакие никогда никто все всі усі ні жоден жодна жодної жодні \
         ніколи ніхто nenhum nenhuma todos todas",
    )
});

/// Whether the claim speaks of a part and the sentence neither of that part nor of every one.
pub(crate) fn partial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    // "Above all, by …" speaks of no every one: the word must stand right before what the claim speaks of.
    let of_every_one = sentence.spoken.iter().enumerate().any(|(at, own)| {
        let mut next = sentence.spoken.iter().skip(at + 1).take(2);
        WHOLE.has(&own.text) && next.any(|word| word.content && claim.has_stem(&word.stem))
    });
    speaks_of_a_part(claim) && !of_every_one && !sentence.spoken.iter().any(|own| PARTIAL.has(&own.text))
}

/// Whether a text speaks of a part only. "Some 300" and "a few 100" are figures.
pub(crate) fn speaks_of_a_part(text: &TextProfile) -> bool {
    text.sentences.iter().any(|sentence| {
        sentence.spoken.iter().enumerate().any(|(at, word)| {
            let counts = sentence
                .spoken
                .get(at + 1)
                .is_some_and(|next| next.text.chars().next().is_some_and(|c| c.is_ascii_digit()));
            PARTIAL.has(&word.text) && !counts
        })
    })
}
