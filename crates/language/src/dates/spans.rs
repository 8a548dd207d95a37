//! Reads periods with the year only at the end: "с января по май 2012 года".

use super::{day_number, month_name, trailing_year};
use crate::function_words::AND;
use crate::lexer::Lexeme;
use crate::lexicon::Words;

static JOINTS: Words = Words::of("dates.spans.joint");

/// Returns the year of the first month. Across the turn of the year it is one less; "June and May 2010" is a list.
pub(super) fn year_of_the_end(behind: &[Lexeme<'_>], month: u32) -> Option<i32> {
    let [joint, end @ ..] = behind else { return None };
    let joins = joint.is_sign('-') || joint.is_sign('–') || JOINTS.has_this(joint.word());
    let days = if joins { day_number(end).map_or(0, |(_, taken)| taken) } else { return None };
    let last = month_name(end.get(days)?)?;
    // The day follows: "March 15 to April 14, 2010".
    let behind = end.get(days + 1..)?;
    let passed = if days == 0 { day_number(behind).map_or(0, |(_, taken)| taken) } else { 0 };
    let (year, _) = trailing_year(behind.get(passed..)?)?;
    let listed = AND.has_this(joint.word());
    Some(if month <= last || (listed && month - last <= 6) { year } else { year - 1 })
}
