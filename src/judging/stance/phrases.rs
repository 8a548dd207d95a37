//! The words by which a sentence repeats a claim and does not state it: lists alone.

/// Beginnings of words that call untrue, or a joke, what stands with them in one sentence.
pub(super) const FRAMES: &str = "hoax fake debunk misinform disinform satir parod spoof fabricat baseless unfounded falsely falsehood untrue \
    неверн дезинформ ложь ложью лжи ложн фейк неправд выдум вымыс пароди сатир шутк шутил недостоверн ипсо врут врёт врет лгут лжёт лжет \
    представим представьте якобы маловероятн неподтвержд вброс unconfirmed unverified \
    дезінформ хибн невірн брехн брешут вигад пародій жарт недостовірн іпсо уявімо уявіть нібито малоймовірн непідтвердж вкид";

/// Beginnings of words that do so for the clause they govern alone: "accused X of", "refused to". Elsewhere in the sentence they
/// are another story's.
pub(super) const GOVERNING: &str = "accus refus claimed claims claiming alleg rumor rumour conspirac imagin propagand \
    слух обвин отказ утвержд пропаганд манипул чутк звинувач відмов стверджу пропаганд маніпул";

/// Phrases, small letters, that say so of the whole sentence.
pub(super) const PHRASES: &[&str] = &[
    "no evidence that",
    "no proof that",
    "is false",
    "was false",
    "are false",
    "a lie",
    "a myth",
    "posts claim",
    "posts say",
    "users claim",
    "нет доказательств того",
    "нет доказательств, что",
    "нет подтвержд",
    "немає доказів того",
    "немає доказів, що",
    "немає підтвердж",
    "in a first reading",
    "at first reading",
    "in the first reading",
    "в первом чтении",
    "у першому читанні",
    "принял за основу",
    "приняла за основу",
    "приняли за основу",
    "прийняла за основу",
    "ухвалила за основу",
    "ухвалили за основу",
    "по версии следств",
    "по версии обвин",
    "за версією слідств",
    "за версією обвин",
    "по легенде",
    "за легендою",
    "по сюжету",
    "за сюжетом",
    "по сценарию",
    "за сценарієм",
    "каналы пишут",
    "пишут каналы",
    "анонимные каналы",
    "анонимных каналов",
    "вражеские каналы",
    "вражеских каналах",
    "ворожі канали",
    "ворожих каналах",
    "анонімних каналів",
    "канали пишуть",
    "пишуть канали",
    "анонімні канали",
    "в соцсетях пишут",
    "в соцсетях распростран",
    "у соцмережах пишуть",
    "у соцмережах поширю",
    "если бы",
    "якби",
    "по данным следств",
    "за даними слідств",
    "в підозрі",
    "по замыслу",
    "за задумом",
    "учебная тревога",
    "навчальна тривога",
    "телеграм-каналы",
    "телеграм-канали",
    "telegram-каналы",
    "telegram-канали",
    "ряд каналов",
    "кілька каналів",
    "паблик",
    "пабліки",
    "таблоид",
    "таблоїд",
    "такими заголовк",
    "в соцсетях писали",
    "в соцсетях появил",
    "у соцмережах писали",
    "у соцмережах з'явил",
    "в сети писали",
    "у мережі писали",
];

/// Beginnings of sentences that tell of a film or a book.
pub(super) const INVENTED: &[&str] = &[
    "in the film",
    "in the movie",
    "in the novel",
    "in the series",
    "в фильме",
    "в сериале",
    "в романе",
    "у фільмі",
    "у серіалі",
];

/// Beginnings of words by which somebody says that it is not so.
pub(super) const DENIALS: &str =
    "denied denies denying denial deny отрица опроверг опроверж отверг спростов спростув запереч";

/// Words of a verdict on a claim that stands beside it.
pub(super) const VERDICTS: &str = "false fake hoax untrue misleading debunked фейк неправда ложь ложно манипуляция дезинформация выдумка \
    брехня маніпуляція дезінформація вигадка";

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
