//! Small charts, drawn on the server.
//!
//! No information is in a picture alone: the figures are also text.

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};

pub(super) const HOURS: usize = 24;
/// In units of the drawing.
const BAR: usize = 10;
const HEIGHT: f64 = 60.0;

#[derive(Debug)]
pub(super) struct Chart {
    pub(super) width: usize,
    pub(super) height: f64,
    pub(super) parts: Vec<Part>,
    pub(super) most: i64,
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) x: usize,
    pub(super) y: String,
    pub(super) height: String,
    pub(super) class: &'static str,
    pub(super) title: String,
}

/// The index of a time in the chart; the last is the current hour.
pub(super) fn hour_of(moment: DateTime<Utc>, now: DateTime<Utc>) -> Option<usize> {
    let whole = |at: DateTime<Utc>| at.duration_trunc(TimeDelta::hours(1)).ok();
    let back = usize::try_from((whole(now)? - whole(moment)?).num_hours()).ok()?;
    (HOURS - 1).checked_sub(back)
}

/// A stacked chart. Each bar is a list of parts from the bottom up, with class, size and title.
pub(super) fn stacked(bars: &[Vec<(&'static str, i64, String)>]) -> Chart {
    let sum = |bar: &Vec<(&'static str, i64, String)>| bar.iter().map(|(_, count, _)| count).sum::<i64>();
    let most = bars.iter().map(sum).max().unwrap_or_default();
    let scale = |count: i64| {
        i32::try_from(count).map_or(HEIGHT, f64::from) * HEIGHT / i32::try_from(most.max(1)).map_or(HEIGHT, f64::from)
    };
    let mut parts = Vec::new();
    for (place, bar) in bars.iter().enumerate() {
        let mut top = HEIGHT;
        for (class, count, title) in bar.iter().filter(|(_, count, _)| *count > 0) {
            let height = scale(*count);
            top -= height;
            parts.push(Part {
                x: place * BAR,
                y: format!("{top:.1}"),
                height: format!("{height:.1}"),
                class,
                title: title.clone(),
            });
        }
    }
    Chart { width: bars.len() * BAR, height: HEIGHT, parts, most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_finds_its_place_and_older_ones_none() {
        let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        assert_eq!(hour_of(now, now), Some(23));
        assert_eq!(hour_of(now - TimeDelta::hours(23), now), Some(0));
        assert_eq!(hour_of(now - TimeDelta::hours(24), now), None);
        assert_eq!(hour_of(now + TimeDelta::hours(2), now), None, "a clock ahead");
    }

    #[test]
    fn the_highest_bar_fills_the_chart() {
        let chart =
            stacked(&[vec![("a", 1, "one".into()), ("b", 3, "three".into())], vec![("a", 2, "two".into())], vec![]]);
        assert_eq!((chart.most, chart.width), (4, 30));
        let drawn: Vec<_> = chart.parts.iter().map(|part| (part.x, part.y.as_str(), part.height.as_str())).collect();
        assert_eq!(drawn, [(0, "45.0", "15.0"), (0, "0.0", "45.0"), (10, "30.0", "30.0")]);
        assert_eq!(stacked(&[]).most, 0);
    }
}
