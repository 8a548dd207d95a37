//! Spans whose year is told once, with their end: "с января по май 2012 года", "from 15 March to 14 April 2010".

use super::{day_number, month_name, trailing_year};
use crate::function_words::AND;
use crate::lexer::Lexeme;
use crate::lexicon::Words;

static JOINTS: Words = Words::of("dates.spans.joint");

/// The year of a span's first month, from what stands behind it: a joint, the last day or month, and the year. A span that runs
/// over the turn of a year began in the one before; "June and May 2010" is a list, and of one year.
pub(super) fn year_of_the_end(behind: &[Lexeme<'_>], month: u32) -> Option<i32> {
    let [joint, end @ ..] = behind else { return None };
    let joins = joint.is_sign('-') || joint.is_sign('–') || JOINTS.has_this(joint.word());
    let days = if joins { day_number(end).map_or(0, |(_, taken)| taken) } else { return None };
    let last = month_name(end.get(days)?)?;
    // "March 15 to April 14, 2010" has the day behind the month.
    let behind = end.get(days + 1..)?;
    let passed = if days == 0 { day_number(behind).map_or(0, |(_, taken)| taken) } else { 0 };
    let (year, _) = trailing_year(behind.get(passed..)?)?;
    let listed = AND.has_this(joint.word());
    Some(if month <= last || (listed && month - last <= 6) { year } else { year - 1 })
}
