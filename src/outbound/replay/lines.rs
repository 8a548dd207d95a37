//! Reads recordings in line form: a head, then one exchange a line.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Archive, ArchiveError, FORMAT, Recording};

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::outbound) struct Head {
    format: u32,
    recorded_at: DateTime<Utc>,
}

impl Head {
    pub(in crate::outbound) const fn now(recorded_at: DateTime<Utc>) -> Self {
        Self { format: FORMAT, recorded_at }
    }
}

impl Archive {
    /// Adds a file's recordings; `origin` names it in errors. An incomplete last line of a killed run is omitted and
    /// named in [`Archive::warnings`].
    pub fn extend_from_lines(&mut self, text: &str, origin: &str) -> Result<(), ArchiveError> {
        let mut lines = text.split_inclusive('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
        let Some((_, first)) = lines.next() else { return Ok(()) };
        let bad =
            |number: usize, source| ArchiveError::NotJson { origin: format!("{origin}, line {}", number + 1), source };
        let torn = |line: &str, is_last: bool| is_last && !line.ends_with('\n');
        let head: Head = match serde_json::from_str(first) {
            Ok(head) => head,
            Err(_) if torn(first, lines.peek().is_none()) => {
                self.warnings.push(format!("{origin} is cut off in its first line and holds nothing"));
                return Ok(());
            }
            Err(error) => return Err(bad(0, error)),
        };
        if head.format != FORMAT {
            return Err(ArchiveError::UnknownFormat { found: head.format });
        }
        self.recorded_at = self.recorded_at.max(Some(head.recorded_at));
        while let Some((number, line)) = lines.next() {
            match serde_json::from_str::<Recording>(line) {
                Ok(recording) => self.insert(recording)?,
                Err(_) if torn(line, lines.peek().is_none()) => {
                    let line = number + 1;
                    self.warnings.push(format!("{origin} is cut off in line {line}; that exchange is left out"));
                }
                Err(error) => return Err(bad(number, error)),
            }
        }
        Ok(())
    }
}
