//! Money that is told with its nation: "Cypriot pounds", "канадских долларов", "шведських крон".

use crate::lexer::Lexeme;

/// What money is called, in every language; a star ends a beginning.
const NOUNS: &[(&str, &str)] = &[
    ("pound", "pound pounds фунт*"),
    ("dollar", "dollar dollars доллар* долар*"),
    ("franc", "franc francs франк*"),
    ("krone", "krone kroner krona kronor koruna korunas крон крона кроны крону кронам кронами кронах крони"),
    ("ruble", "ruble rubles rouble roubles рубл*"),
    ("lira", "lira liras lire лир лира лиры лиру ліра ліри лір"),
    ("rupee", "rupee rupees рупи* рупі*"),
    ("peso", "peso pesos песо"),
    ("yen", "yen иен иена иены йен йена йены єн єна"),
    ("yuan", "yuan юан*"),
    ("dinar", "dinar dinars динар*"),
    ("rial", "rial rials риал* ріал*"),
    ("won", "won вон вона воны вони"),
];

/// Code, what the money is called, and whose it is: English words, and beginnings of Russian and Ukrainian adjectives.
const NATIONS: &str = "CYP pound cypriot cyprus кипрск кіпрськ\n\
    EGP pound egyptian египетск єгипетськ\n\
    LBP pound lebanese ливанск ліванськ\n\
    SYP pound syrian сирийск сирійськ\n\
    SDG pound sudanese суданск суданськ\n\
    GBP pound british британск британськ английск англійськ\n\
    IEP pound irish ирландск ірландськ\n\
    USD dollar american американск американськ\n\
    CAD dollar canadian канадск канадськ\n\
    AUD dollar australian австралийск австралійськ\n\
    NZD dollar новозеландск новозеландськ\n\
    HKD dollar гонконгск гонконгськ\n\
    SGD dollar singapore singaporean сингапурск сінгапурськ\n\
    TWD dollar taiwan taiwanese тайваньск тайванськ\n\
    CHF franc swiss швейцарск швейцарськ\n\
    FRF franc french французск французськ\n\
    BEF franc belgian бельгийск бельгійськ\n\
    SEK krone swedish шведск шведськ\n\
    NOK krone norwegian норвежск норвезьк\n\
    DKK krone danish датск данськ\n\
    CZK krone czech чешск чеськ\n\
    ISK krone icelandic исландск ісландськ\n\
    EEK krone estonian эстонск естонськ\n\
    RUB ruble russian российск російськ\n\
    BYN ruble belarusian белорусск білоруськ\n\
    TRY lira turkish турецк турецьк\n\
    ITL lira italian итальянск італійськ\n\
    INR rupee indian индийск індійськ\n\
    PKR rupee pakistani пакистанск пакистанськ\n\
    MXN peso mexican мексиканск мексиканськ\n\
    ARS peso argentine аргентинск аргентинськ\n\
    PHP peso philippine филиппинск філіппінськ\n\
    JPY yen japanese японск японськ\n\
    CNY yuan chinese китайск китайськ\n\
    RSD dinar serbian сербск сербськ\n\
    IQD dinar iraqi иракск іракськ\n\
    IRR rial iranian иранск іранськ\n\
    KRW won южнокорейск південнокорейськ";

/// The code of the money whose nation stands at the head of these lexemes and whose name follows.
pub(super) fn of_a_nation(rest: &[Lexeme<'_>]) -> Option<&'static str> {
    let (nation, noun) = (rest.first()?.word()?, rest.get(1)?.word()?);
    let called = |known: &str| match known.strip_suffix('*') {
        Some(beginning) => noun.strip_prefix(beginning).is_some_and(|ending| ending.chars().count() <= 4),
        None => known == noun,
    };
    let (name, _) = NOUNS.iter().find(|(_, forms)| forms.split_whitespace().any(called))?;
    let is_theirs = |known: &str| {
        let ending = nation.strip_prefix(known);
        // "Кипрских": an adjective in any case.
        ending.is_some_and(
            |ending| if known.is_ascii() { ending.is_empty() } else { (1..=3).contains(&ending.chars().count()) },
        )
    };
    NATIONS.lines().find_map(|line| {
        let mut row = line.split_whitespace();
        let code = row.next()?;
        (row.next()? == *name && row.any(is_theirs)).then_some(code)
    })
}
