//! Names of months, weekdays and time zones in the languages of news pages.
//!
//! Names are whole words in lower case, in the cases that dates use, with the usual short forms. The beginning of a word
//! is never enough, because people's names begin like months ("Marcus", "Julian", "Березовский").
//!
//! A name that two languages use for different months is in both rows: "listopada" is October in Croatian and November
//! in Polish. Then only a weekday decides.

use std::sync::LazyLock;

use chrono::{FixedOffset, Weekday};

const MONTHS: [&str; 12] = [
    "jan january januar jänner januari janvier janv janeiro enero ene gennaio gen genn gener stycznia styczeń sty január \
     januára januara januarja janvāris janvārī ianuarie ian ocak oca январь января январе янв януари јануар јануара \
     січень січня січні січн січ студзень студзеня студз",
    "feb february februar feber februari février fevrier févr fevr fév fev fevereiro febrero febbraio febb febr febrer \
     lutego luty lut február februára februara februarja februāris februārī februarie şubat şub февраль февраля феврале \
     февр фев февруари фебруар фебруара лютий лютого лютому лют люты лютага",
    "mar march märz mär mrz mars marts marzo março maart mrt marca marzec marzo març marec márc március marta mart \
     martie март марта марте мар березень березня березні берез бер сакавік сакавіка",
    "apr april avril avr abril abr aprile apríla aprila aprīlis aprīlī aprilie kwietnia kwiecień kwi ápr április nisan \
     nis апрель апреля апреле апр април априла квітень квітня квітні квіт кві красавік красавіка",
    "may mai mayo maio maggio mag maj maja mei maig máj mája május maijs maijā mayıs май мая мае мај маја травень травня \
     травні трав тра",
    "jun june juni juin junio junho giugno giu juny juna júna junija jún június jūnijs jūnijā iunie iun czerwca \
     czerwiec cze czerw haziran haz lip июнь июня июне июн юни јун јуна червень червня червні черв чер чэрвень чэрвеня",
    "jul july juli juillet juil julio julho luglio lug juliol jula júla julija júl július jūlijs jūlijā iulie iul lipca \
     lipiec lip temmuz tem июль июля июле июл юли јул јула липень липня липні лип ліпень ліпеня",
    "aug august augusti augustus août aout aoû agosto ago agost augusta avgusta avg augusts augustā augusztus sierpnia \
     sierpień sierp sie ağustos ağu август августа августе авг серпень серпня серпні серп сер жнівень жніўня",
    "sep sept september septembre septiembre setiembre setembro settembre sett set setembre septembra septembris \
     septembrī septembrie szept szeptember września wrzesień wrz eylül eyl сентябрь сентября сентябре сент сен \
     септември септембар септембра вересень вересня вересні верес вер верасень верасня",
    "oct october oktober okt octobre octubre outubro out ottobre ott octombrie október októbra oktobra oktobris \
     oktobrī października październik paźdz paź ekim eki listopada listopad lis list октябрь октября октябре окт \
     октомври октобар октобра жовтень жовтня жовтні жовт жов кастрычнік кастрычніка",
    "nov november novembre noviembre novembro novembra novembris novembrī noiembrie noi listopada listopad lis list \
     kasım kas ноябрь ноября ноябре нояб ноя ноември новембар новембра листопад листопада листопаді листоп лист лис \
     лістапад лістапада",
    "dec december dezember dez décembre decembre déc diciembre dic dezembro dicembre desembre desember des decembra \
     decembris decembrī decembrie grudnia grudzień grudz gru aralık ara декабрь декабря декабре дек декември децембар \
     децембра грудень грудня грудні груд гру снежань снежня",
];

/// From Monday.
const WEEKDAYS: [&str; 7] = [
    "monday mon montag mo lundi lun lunes lunedì lunedi segunda seg maandag ma poniedziałek pon pn måndag mandag mån man \
     hétfő luni pazartesi pzt понедельник пн пон понеділок понеділка панядзелак",
    "tuesday tue tues dienstag di die mardi mar martes martedì martedi terça terca ter dinsdag din wtorek wt wto tisdag \
     tirsdag tis tir kedd marți salı sal вторник вт втр вівторок вівт вів аўторак",
    "wednesday wed weds mittwoch mi mit mercredi mer miércoles miercoles mié mie mercoledì mercoledi quarta qua woensdag \
     wo woe środa środę śr śro onsdag ons szerda miercuri çarşamba çar среда среду ср сре середа середу сер серада",
    "thursday thu thur thurs donnerstag do don jeudi jeu jueves jue giovedì giovedi gio quinta qui donderdag czwartek \
     czw torsdag tor csütörtök joi perşembe per четверг чт чет чтв четвер чацвер",
    "friday fri freitag fr fre vendredi ven viernes vie venerdì venerdi sexta sex vrijdag vr vri piątek pt pią fredag \
     péntek vineri cuma cum пятница пятницу пт пят пятн п'ятниця п'ятницю п'ят птн пятніца",
    "saturday sat samstag sonnabend sa sam samedi sábado sabado sáb sab sabato zaterdag za zat sobota sobotę sob lördag \
     lørdag lör lør szombat cumartesi cmt суббота субботу сб суб субота суботу",
    "sunday sun sonntag so son dimanche dim domingo dom domenica zondag zo zon niedziela niedzielę nd nie niedz söndag \
     søndag sön søn vasárnap duminică pazar paz воскресенье вс вск вос неділя неділю нд нед нядзеля",
];

/// Minutes east of UTC. `None` for "IST", which is Irish, Indian and Israeli time.
const ZONES: [(Option<i32>, &str); 21] = [
    (Some(0), "Z UTC GMT UT WET"),
    (Some(60), "BST WEST CET MEZ"),
    (Some(120), "CEST MESZ EET SAST"),
    (Some(180), "MSK EEST TRT"),
    (Some(240), "MSD"),
    (Some(300), "PKT"),
    (Some(480), "HKT SGT AWST"),
    (Some(540), "JST KST"),
    (Some(600), "AEST"),
    (Some(660), "AEDT"),
    (Some(720), "NZST"),
    (Some(780), "NZDT"),
    (Some(-180), "ART BRT"),
    (Some(-240), "EDT AST"),
    (Some(-300), "EST CDT"),
    (Some(-360), "CST MDT"),
    (Some(-420), "MST PDT"),
    (Some(-480), "PST AKDT"),
    (Some(-540), "AKST"),
    (Some(-600), "HST"),
    (None, "IST"),
];

fn has(names: &str, word: &str) -> bool {
    names.split(' ').any(|name| name == word)
}

/// Months with this name: none, one, or two.
pub(super) fn months(word: &str) -> impl Iterator<Item = u32> {
    let word = word.to_lowercase();
    (1..).zip(MONTHS).filter_map(move |(month, names)| has(names, &word).then_some(month))
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    let word = word.to_lowercase().replace(['’', 'ʼ'], "'");
    let word = word.strip_suffix("-feira").unwrap_or(&word);
    let place = WEEKDAYS.iter().position(|names| has(names, word))?;
    Weekday::try_from(u8::try_from(place).ok()?).ok()
}

/// The names of all months, as alternatives of a regular expression.
pub(super) static ANY_MONTH: LazyLock<String> = LazyLock::new(|| MONTHS.join(" ").replace(' ', "|"));

/// The names of all zones, as alternatives of a regular expression.
pub(super) static ANY_ZONE: LazyLock<String> =
    LazyLock::new(|| ZONES.map(|(_, names)| names).join(" ").replace(' ', "|"));

/// Reads "+0300", "GMT+3" and "MSK".
pub(super) fn offset(zone: &str) -> Option<FixedOffset> {
    let zone = zone.trim().to_ascii_uppercase();
    let bare = zone.trim_start_matches("GMT").trim_start_matches("UTC").trim();
    let minutes = match bare.strip_prefix(['+', '-']) {
        Some(rest) => {
            let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
            let value: i32 = digits.parse().ok()?;
            let (hours, minutes) = if digits.len() <= 2 { (value, 0) } else { (value / 100, value % 100) };
            let minutes = (hours <= 14 && minutes < 60).then_some(hours * 60 + minutes)?;
            if bare.starts_with('-') { -minutes } else { minutes }
        }
        None => ZONES.iter().find(|(_, names)| has(names, &zone)).and_then(|(minutes, _)| *minutes)?,
    };
    FixedOffset::east_opt(minutes * 60)
}
