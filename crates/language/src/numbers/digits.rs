//! Parses digits with separators of any country.

/// Returns value and unit of the last digit; `None` for "1.2.3".
pub(super) fn parse(text: &str, comma_decimal: bool, dot_groups: bool) -> Option<(f64, f64)> {
    let plain: String = text.chars().filter(|c| c.is_ascii_digit() || matches!(c, '.' | ',')).collect();
    let grouped = |separator: char| {
        let mut parts = plain.split(separator);
        let head = parts.next().unwrap_or_default();
        (1..=3).contains(&head.len()) && head != "0" && parts.all(|part| part.len() == 3)
    };
    let (dots, commas) = (plain.matches('.').count(), plain.matches(',').count());
    let digits = match (dots, commas) {
        (0, 0) => plain,
        (0, 1) if !comma_decimal && grouped(',') => plain.replace(',', ""),
        (0, 1) => plain.replace(',', "."),
        (0, _) if grouped(',') => plain.replace(',', ""),
        (1, 0) if dot_groups && grouped('.') => plain.replace('.', ""),
        (1, 0) => plain,
        (_, 0) if grouped('.') => plain.replace('.', ""),
        (1, _) if plain.rfind('.') > plain.rfind(',') => plain.replace(',', ""),
        (_, 1) if plain.rfind(',') > plain.rfind('.') => plain.replace('.', "").replace(',', "."),
        _ => return None,
    };
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = digits.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some((value, 10f64.powi(-i32::try_from(decimals).unwrap_or(0))))
}
