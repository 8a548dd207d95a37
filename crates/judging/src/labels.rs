//! Reader-facing words for verdicts, notes, stances and degradation causes: one match arm with four languages each.

pub mod firmness;
mod places;

pub use places::{domain, place, quoted};

use corroborate_domain::Degradation;
use corroborate_domain::result::{ClaimResult, EvidenceRow};
use corroborate_domain::verdict::{Apply, CorrectionType, Note, Relation, Stance, Tier, Verdict};

/// The default conflict limit. An operator's other limit changes verdicts, not this label.
pub const MIN_POSSIBLE_CONTRADICTION: f64 = 0.4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderLanguage {
    English,
    Russian,
    Ukrainian,
    Portuguese,
}

impl ReaderLanguage {
    pub const ALL: [Self; 4] = [Self::English, Self::Russian, Self::Ukrainian, Self::Portuguese];

    pub fn of(language: Option<&str>) -> Self {
        match language.and_then(|code| code.split(['-', '_']).next()).unwrap_or_default().to_lowercase().as_str() {
            "ru" => Self::Russian,
            "uk" => Self::Ukrainian,
            "pt" => Self::Portuguese,
            _ => Self::English,
        }
    }

    pub fn figure(self, value: f64) -> String {
        let figure = format!("{value:.2}");
        if self == Self::English { figure } else { figure.replace('.', ",") }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    english: &'static str,
    russian: &'static str,
    ukrainian: &'static str,
    portuguese: &'static str,
}

impl Words {
    pub const fn of(self, reader: ReaderLanguage) -> &'static str {
        match reader {
            ReaderLanguage::English => self.english,
            ReaderLanguage::Russian => self.russian,
            ReaderLanguage::Ukrainian => self.ukrainian,
            ReaderLanguage::Portuguese => self.portuguese,
        }
    }
}

pub(crate) const fn words(
    english: &'static str,
    russian: &'static str,
    ukrainian: &'static str,
    portuguese: &'static str,
) -> Words {
    Words { english, russian, ukrainian, portuguese }
}

/// A name, the same in every language.
const fn name(name: &'static str) -> Words {
    words(name, name, name, name)
}

pub const fn verdict(verdict: Verdict) -> Words {
    match verdict {
        Verdict::Supported => words("Supported", "Подтверждается", "Підтверджується", "Respaldado pelas fontes"),
        Verdict::Refuted => words("Refuted", "Опровергается", "Спростовується", "Desmentido pelas fontes"),
        Verdict::Contested => words("Contested", "Источники расходятся", "Джерела розходяться", "Fontes divergem"),
        Verdict::Misleading => words("Misleading", "Вводит в заблуждение", "Вводить в оману", "Enganoso"),
        Verdict::Outdated => words("Outdated", "Устарело", "Застаріло", "Desatualizado"),
        Verdict::NotEnoughEvidence => words(
            "Not enough evidence",
            "Недостаточно данных",
            "Недостатньо даних",
            "Fontes insuficientes para verificar",
        ),
        Verdict::NotVerifiable => {
            words("Not verifiable", "Не поддаётся проверке", "Неможливо перевірити", "Não verificável")
        }
    }
}

/// Whether the verdict is conclusive; `None` without a side.
pub const fn decisive(verdict: Verdict, decisive: bool) -> Option<Words> {
    match (verdict, decisive) {
        (Verdict::Contested | Verdict::NotEnoughEvidence | Verdict::NotVerifiable, _) => None,
        (_, true) => Some(words("conclusive", "уверенный вывод", "упевнений висновок", "conclusivo")),
        (_, false) => Some(words("provisional", "предварительный вывод", "попередній висновок", "provisório")),
    }
}

/// The tier's words. Callers omit them for verdicts against the claim, because the tier is then always low.
pub const fn tier(tier: Tier) -> Words {
    match tier {
        Tier::High => words(
            "corroboration: high",
            "степень подтверждения: высокая",
            "ступінь підтвердження: високий",
            "corroboração: alta",
        ),
        Tier::Medium => words(
            "corroboration: medium",
            "степень подтверждения: средняя",
            "ступінь підтвердження: середній",
            "corroboração: média",
        ),
        Tier::Low => words(
            "corroboration: low",
            "степень подтверждения: низкая",
            "ступінь підтвердження: низький",
            "corroboração: baixa",
        ),
    }
}

pub const fn note(note: Note) -> Words {
    match note {
        Note::NoCorroboration => words(
            "no independent source supports it",
            "независимых подтверждений нет",
            "незалежних підтверджень немає",
            "nenhuma fonte independente confirma a afirmação",
        ),
        Note::ConflictingSources => {
            words("sources disagree", "источники расходятся", "джерела розходяться", "as fontes divergem")
        }
        Note::SingleSource => words("one source only", "только один источник", "лише одне джерело", "apenas uma fonte"),
        Note::Degraded => words(
            "not every source could be asked",
            "опрошены не все источники",
            "опитано не всі джерела",
            "nem todas as fontes puderam ser consultadas",
        ),
        Note::NoSources => {
            words("no sources found", "источников не найдено", "джерел не знайдено", "nenhuma fonte encontrada")
        }
        Note::SocialOnly => words(
            "only social media posts",
            "только посты в соцсетях",
            "лише дописи в соцмережах",
            "apenas publicações em redes sociais",
        ),
        Note::OnlyRelated => words(
            "sources are about the topic and take no side",
            "источники по теме, но ни за, ни против",
            "джерела стосуються теми, але ні за, ні проти",
            "as fontes tratam do tema, sem tomar partido",
        ),
        Note::JudgesDisagree => words(
            "the language model reads the cited passages differently",
            "языковая модель оценивает эти фрагменты иначе",
            "мовна модель оцінює ці уривки інакше",
            "o modelo de linguagem interpreta os trechos citados de outra forma",
        ),
        Note::Phase1Only => words(
            "only published fact-checks were looked up",
            "искались только опубликованные проверки фактов",
            "шукали лише опубліковані перевірки фактів",
            "apenas checagens publicadas foram consultadas",
        ),
        Note::WordsOnly => words(
            "compared by words alone",
            "сравнивались только слова",
            "порівнювали лише слова",
            "comparação só por palavras",
        ),
        Note::NoClaims => words(
            "no statement to check",
            "нет утверждения, которое можно проверить",
            "немає твердження, яке можна перевірити",
            "nenhuma afirmação a verificar",
        ),
    }
}

/// Returns the notes that neither repeat nor contradict the verdict.
pub fn notes(claim: &ClaimResult) -> Vec<Note> {
    let has = |stance| claim.evidence.iter().any(|row| row.stance == stance);
    let both_sides = has(Stance::Supports) && has(Stance::Contradicts);
    let no_sources = claim.notes.contains(&Note::NoSources);
    let adds = |note: &Note| match note {
        Note::NoCorroboration => claim.verdict == Verdict::NotEnoughEvidence && !no_sources,
        Note::ConflictingSources => both_sides && claim.verdict != Verdict::Contested,
        Note::NoSources => claim.verdict == Verdict::NotEnoughEvidence,
        // "Not enough evidence" already states this.
        Note::OnlyRelated => false,
        Note::SingleSource
        | Note::Degraded
        | Note::SocialOnly
        | Note::Phase1Only
        | Note::WordsOnly
        | Note::JudgesDisagree
        | Note::NoClaims => true,
    };
    claim.notes.iter().copied().filter(adds).collect()
}

pub fn stance(row: &EvidenceRow) -> Words {
    match row.stance {
        Stance::Supports => words("supports", "подтверждает", "підтверджує", "confirma"),
        Stance::Contradicts => words("contradicts", "противоречит", "суперечить", "contradiz"),
        Stance::Neutral if row.contradict >= MIN_POSSIBLE_CONTRADICTION && row.contradict >= row.entail => {
            words("may contradict", "возможно, противоречит", "можливо, суперечить", "talvez contradiga")
        }
        Stance::Neutral if row.entail >= MIN_POSSIBLE_CONTRADICTION => {
            words("may support", "возможно, подтверждает", "можливо, підтверджує", "talvez confirme")
        }
        Stance::Neutral => words("takes no side", "ни за, ни против", "ні за, ні проти", "neutro"),
    }
}

pub const fn fact_check(relation: Relation) -> Words {
    match relation {
        Relation::Same => words(
            "Fact-check of this claim",
            "Проверка этого утверждения",
            "Перевірка цього твердження",
            "Checagem desta afirmação",
        ),
        Relation::Opposite => words(
            "Fact-check of the opposite claim",
            "Проверка противоположного утверждения",
            "Перевірка протилежного твердження",
            "Checagem da afirmação contrária",
        ),
        Relation::Related => words(
            "Fact-check of a related claim",
            "Проверка близкого по теме утверждения",
            "Перевірка близького за темою твердження",
            "Checagem de uma afirmação relacionada",
        ),
        Relation::Other => words(
            "Fact-check of another claim",
            "Проверка другого утверждения",
            "Перевірка іншого твердження",
            "Checagem de outra afirmação",
        ),
    }
}

/// The heading of a correction, with who must review it.
pub const fn correction(kind: CorrectionType, apply: Apply) -> Words {
    match (kind, apply) {
        (CorrectionType::Replace, Apply::Auto) => words("Correction", "Исправление", "Виправлення", "Correção"),
        (CorrectionType::Replace, Apply::Review) => words(
            "Possible correction, for an editor to check",
            "Возможное исправление (нужна проверка редактора)",
            "Можливе виправлення (потрібна перевірка редактора)",
            "Possível correção, a ser conferida",
        ),
        (CorrectionType::Update, Apply::Auto) => words("Update", "Обновление", "Оновлення", "Atualização"),
        (CorrectionType::Update, Apply::Review) => words(
            "Possible update, for an editor to check",
            "Возможное обновление (нужна проверка редактора)",
            "Можливе оновлення (потрібна перевірка редактора)",
            "Possível atualização, a ser conferida",
        ),
        (CorrectionType::Clarify, Apply::Auto) => words("Clarification", "Уточнение", "Уточнення", "Esclarecimento"),
        (CorrectionType::Clarify, Apply::Review) => words(
            "Possible clarification, for an editor to check",
            "Возможное уточнение (нужна проверка редактора)",
            "Можливе уточнення (потрібна перевірка редактора)",
            "Possível esclarecimento, a ser conferido",
        ),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phrase {
    Confidence,
    /// "12 of 100" follows.
    Support,
    OutOf100,
    NoDate,
    Gaps,
    Digest,
    AlsoReportedBy,
    RelatedFactCheck,
    /// A count per verdict follows.
    Claims,
}

impl Phrase {
    #[cfg(test)]
    const ALL: [Self; 9] = [
        Self::Confidence,
        Self::Support,
        Self::OutOf100,
        Self::NoDate,
        Self::Gaps,
        Self::Digest,
        Self::AlsoReportedBy,
        Self::RelatedFactCheck,
        Self::Claims,
    ];

    pub const fn words(self) -> Words {
        match self {
            Self::Confidence => words(
                "confidence in this verdict",
                "уверенность в этом выводе",
                "упевненість у цьому висновку",
                "confiança neste veredito",
            ),
            Self::Support => words(
                "support for the claim in the passages",
                "поддержка утверждения во фрагментах",
                "підтримка твердження в уривках",
                "respaldo à afirmação nos trechos",
            ),
            Self::OutOf100 => words("of 100", "из 100", "зі 100", "de 100"),
            Self::NoDate => words("no date", "без даты", "без дати", "sem data"),
            Self::Gaps => words(
                "Not everything could be asked",
                "Не все источники удалось опросить",
                "Не всі джерела вдалося опитати",
                "Nem tudo pôde ser consultado",
            ),
            Self::Digest => words("For the digest", "Для дайджеста", "Для дайджесту", "Para o resumo"),
            Self::AlsoReportedBy => words(
                "Also reported by",
                "Об этом сообщают и другие каналы",
                "Про це повідомляють також інші канали",
                "Também noticiado por",
            ),
            Self::RelatedFactCheck => words(
                "Related fact-check",
                "Проверка фактов по теме",
                "Перевірка фактів на цю тему",
                "Checagem relacionada",
            ),
            Self::Claims => words("Claims", "Утверждений", "Тверджень", "Afirmações"),
        }
    }
}

/// Counts the sources that take a side; `None` without any.
pub fn evidence(supporting: usize, contradicting: usize, reader: ReaderLanguage) -> Option<String> {
    let (count, supports, contradicts) = match reader {
        ReaderLanguage::English => return english_evidence(supporting, contradicting),
        ReaderLanguage::Russian => ("Источники", "подтверждают", "противоречат"),
        ReaderLanguage::Ukrainian => ("Джерела", "підтверджують", "суперечать"),
        ReaderLanguage::Portuguese => ("Fontes", "a favor", "contra"),
    };
    match (supporting, contradicting) {
        (0, 0) => None,
        (support, 0) => Some(format!("{count}: {supports} — {support}")),
        (0, against) => Some(format!("{count}: {contradicts} — {against}")),
        (support, against) => Some(format!("{count}: {supports} — {support}, {contradicts} — {against}")),
    }
}

fn english_evidence(supporting: usize, contradicting: usize) -> Option<String> {
    let sources = |count: usize, verb: &str| {
        if count == 1 { format!("1 source {verb}s the claim") } else { format!("{count} sources {verb} the claim") }
    };
    match (supporting, contradicting) {
        (0, 0) => None,
        (support, 0) => Some(format!("Evidence: {}", sources(support, "support"))),
        (0, against) => Some(format!("Evidence: {}", sources(against, "contradict"))),
        (support, against) => {
            let verb = if against == 1 { "contradicts" } else { "contradict" };
            Some(format!("Evidence: {}, {against} {verb} it", sources(support, "support")))
        }
    }
}

/// Words for a degradation cause in its stored form; an unknown one gets a general text.
pub fn cause(cause: &str, reader: ReaderLanguage) -> String {
    let Some(cause) = Degradation::parse(cause) else {
        return words("another fault", "другой сбой", "інший збій", "outra falha").of(reader).to_owned();
    };
    let label = degradation(&cause).of(reader);
    cause.component().map_or_else(|| label.to_owned(), |component| format!("{}: {label}", asked(component, reader)))
}

/// The caller prefixes the provider.
const fn degradation(cause: &Degradation) -> Words {
    match cause {
        Degradation::ProviderOpen(_) => words(
            "takes no requests at the moment",
            "запросы сейчас не принимаются",
            "запити зараз не приймаються",
            "não aceita consultas no momento",
        ),
        Degradation::ProviderBusy(_) => words(
            "the request limit is used up for now",
            "лимит запросов пока исчерпан",
            "ліміт запитів поки вичерпано",
            "limite de consultas esgotado no momento",
        ),
        Degradation::ProviderFailed(_) => words(
            "no usable answer",
            "не удалось получить ответ",
            "не вдалося отримати відповідь",
            "não foi possível obter resposta",
        ),
        Degradation::ProviderDisabled(_) => words(
            "access refused, the key has to be checked",
            "доступ закрыт, нужно проверить ключ",
            "доступ закрито, потрібно перевірити ключ",
            "acesso recusado; é preciso verificar a chave",
        ),
        Degradation::StoreAway(_) => words(
            "not asked, because the database was not reachable",
            "запрос не отправлен: база данных недоступна",
            "запит не надіслано: база даних недоступна",
            "consulta não enviada: banco de dados inacessível",
        ),
        Degradation::ModelFailed(_) => words(
            "failed; rules were used instead",
            "сбой, вместо неё сработали правила",
            "збій, замість неї спрацювали правила",
            "falhou; foram usadas regras em seu lugar",
        ),
        Degradation::Deadline => words("time ran out", "не хватило времени", "забракло часу", "o tempo se esgotou"),
        Degradation::Budget => words(
            "paid requests are stopped, the spending cap is reached",
            "платные запросы остановлены: достигнут предел расходов",
            "платні запити зупинено: досягнуто межі витрат",
            "consultas pagas suspensas: limite de gastos atingido",
        ),
        Degradation::Overload => words(
            "too much work at once, so sources were not searched",
            "слишком большая нагрузка, источники не искались",
            "завелике навантаження, джерел не шукали",
            "sobrecarga: as fontes não foram pesquisadas",
        ),
        Degradation::NoPageRead => words(
            "pages were found, and none had a text that could be read",
            "страницы найдены, но ни на одной нет текста, который удалось бы прочитать",
            "сторінки знайдено, але на жодній немає тексту, який вдалося б прочитати",
            "páginas foram encontradas, mas nenhuma tinha um texto que pudesse ser lido",
        ),
        Degradation::PagesFailed => words(
            "most of the pages found could not be read",
            "большинство найденных страниц не удалось прочитать",
            "більшість знайдених сторінок не вдалося прочитати",
            "a maioria das páginas encontradas não pôde ser lida",
        ),
        Degradation::NoProvider => words(
            "no search service is set up",
            "ни один поисковый сервис не настроен",
            "жодного пошукового сервісу не налаштовано",
            "nenhum serviço de busca está configurado",
        ),
    }
}

/// The public name of a provider or model, else its id.
pub fn asked(of: &str, reader: ReaderLanguage) -> &str {
    let words = match of {
        "google_factcheck" => name("Google Fact Check"),
        "searxng" => name("SearxNG"),
        "brave" => name("Brave Search"),
        "serpapi" => name("SerpAPI"),
        "gdelt" => name("GDELT"),
        "eventregistry" => name("Event Registry"),
        "newsapi" => name("NewsAPI"),
        "wikipedia" => words("Wikipedia", "Википедия", "Вікіпедія", "Wikipédia"),
        "knowledge" => words("stored evidence", "сохранённые источники", "збережені джерела", "evidências armazenadas"),
        "corpus" => words("own documents", "собственные документы", "власні документи", "documentos próprios"),
        "api" => words("own services", "собственные сервисы", "власні сервіси", "serviços próprios"),
        "database" => words("own database", "собственная база данных", "власна база даних", "banco de dados próprio"),
        "gatherer" => words("own sources", "собственные источники", "власні джерела", "fontes próprias"),
        "feeds" => words("news feeds", "новостные ленты", "новинні стрічки", "feeds de notícias"),
        "embedder" => words(
            "model that compares meanings",
            "модель сравнения по смыслу",
            "модель порівняння за змістом",
            "modelo que compara significados",
        ),
        "stance" => words(
            "model that judges passages",
            "модель оценки фрагментов",
            "модель оцінювання уривків",
            "modelo que avalia trechos",
        ),
        "reranker" => words(
            "model that ranks passages",
            "модель отбора фрагментов",
            "модель добору уривків",
            "modelo que ordena trechos",
        ),
        other => return other,
    };
    words.of(reader)
}

#[cfg(test)]
mod tests;
