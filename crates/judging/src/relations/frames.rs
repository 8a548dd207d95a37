//! The words by which a sentence repeats a claim and does not state it: lists alone. How entries are written says
//! [`WordList`].

use std::sync::LazyLock;

use corroborate_language::word_list::WordList;

/// What calls untrue, or a joke, what stands with it in one sentence.
pub(crate) static FRAMES: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "hoax hoaxes debunk* misinform* disinform* satir* parod* spoof spoofs fake fakes faked fabricated fabrication \
         fabrications baseless unfounded falsely falsehood* untrue неверн* дезинформ* ложь ложью лжи ложн* фейк* неправд* \
         выдум* вымыс* пароди* сатир* шутк* шутил* недостоверн* ипсо врут врет лгут лжет представим представьте якобы \
         маловероятн* неподтвержд* вброс* unconfirmed unverified дезінформ* хибн* невірн* брехн* брешут вигад* пародій* \
         жарт* недостовірн* іпсо уявімо уявіть нібито малоймовірн* непідтвердж* вкид вкиди вкидів",
    )
});

/// What does so for the clause it governs alone: "accused X of", "refused to". Elsewhere in the sentence it is another story's.
pub(crate) static GOVERNING: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "accus* refus* claimed claims claiming alleg* rumor* rumour* conspirac* imagin* propagand* слух слуха слухи \
         слухов слухам слухами слухах обвин* отказ* утвержд* пропаганд* манипул* чутки чуток чуткам чутками чутках \
         звинувач* відмов* стверджу* маніпул*",
    )
});

/// Phrases that say so of the whole sentence.
pub(crate) static PHRASES: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "no_evidence_that no_proof_that is_false was_false are_false a_lie a_myth posts_claim posts_say users_claim \
         нет_доказательств_того нет_доказательств_что нет_подтвержд* немає_доказів_того немає_доказів_що немає_підтвердж* \
         in_a_first_reading at_first_reading in_the_first_reading в_первом_чтении у_першому_читанні принял_за_основу \
         приняла_за_основу приняли_за_основу прийняла_за_основу ухвалила_за_основу ухвалили_за_основу по_версии_следств* \
         по_версии_обвин* за_версією_слідств* за_версією_обвин* по_легенде за_легендою по_сюжету за_сюжетом по_сценарию \
         за_сценарієм каналы_пишут пишут_каналы анонимные_каналы анонимных_каналов вражеские_каналы вражеских_каналах \
         ворожі_канали ворожих_каналах анонімних_каналів канали_пишуть пишуть_канали анонімні_канали в_соцсетях_пишут \
         в_соцсетях_распростран* у_соцмережах_пишуть у_соцмережах_поширю* если_бы якби по_данным_следств* \
         за_даними_слідств* в_підозрі по_замыслу за_задумом учебная_тревога навчальна_тривога телеграм_каналы \
         телеграм_канали telegram_каналы telegram_канали ряд_каналов кілька_каналів паблик* пабліки таблоид* таблоїд* \
         такими_заголовк* в_соцсетях_писали в_соцсетях_появил* у_соцмережах_писали у_соцмережах_з'явил* в_сети_писали \
         у_мережі_писали",
    )
});

/// Beginnings of sentences that tell of a film or a book.
pub(crate) static INVENTED: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new("in_the_film in_the_movie in_the_novel in_the_series в_фильме в_сериале в_романе у_фільмі у_серіалі")
});

/// Words by which somebody says that it is not so.
pub(crate) static DENIALS: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "denied denies denying denial denials deny отрицает отрицают отрицал* отрицани* отрицая опроверг* опроверж* \
         отверг* спростов* спростув* запереч*",
    )
});

/// Words of a verdict on a claim that stands beside it.
pub(crate) static VERDICTS: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "false fake hoax untrue misleading debunked фейк неправда ложь ложно манипуляция дезинформация выдумка брехня \
         маніпуляція дезінформація вигадка",
    )
});

pub(super) const CONJUNCTIONS: &[&str] = &["that", "что", "будто", "що", "ніби", "начебто"];

pub(super) const NEGATIONS: &[&str] = &[
    "not",
    "no",
    "never",
    "nobody",
    "none",
    "neither",
    "не",
    "ни",
    "нет",
    "никто",
    "ні",
    "немає",
    "нема",
    "ніхто",
    "жоден",
    "жодне",
];
