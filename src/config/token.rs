//! Checks whether a secret token can be guessed, by its form alone.

use std::collections::BTreeSet;

/// Shortest random token, in characters: 128 bits in hexadecimal.
const MIN_CHARACTERS: usize = 32;
/// Fewest different characters of a random token. Of 32 random hexadecimal digits, one in ten million has fewer.
const MIN_DISTINCT_CHARACTERS: usize = 8;
/// Fewest different steps between neighbouring characters; `abcdef` has one.
const MIN_DISTINCT_STEPS: usize = 8;

/// Returns the reason as the end of a sentence, or `None` if the token looks random. A long sentence passes.
pub(super) fn guessable(token: &str) -> Option<&'static str> {
    let characters: Vec<u32> = token.chars().map(u32::from).collect();
    let distinct: BTreeSet<u32> = characters.iter().copied().collect();
    let steps: BTreeSet<i64> = characters.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).collect();
    if characters.len() < MIN_CHARACTERS {
        Some("is shorter than 32 characters")
    } else if distinct.len() < MIN_DISTINCT_CHARACTERS {
        Some("has too few different characters")
    } else if steps.len() < MIN_DISTINCT_STEPS {
        Some("is a sequence")
    } else if is_repetition(&characters) {
        Some("repeats a short text")
    } else {
        None
    }
}

/// Returns true if the text repeats a part shorter than [`MIN_CHARACTERS`].
fn is_repetition(characters: &[u32]) -> bool {
    let longest = (MIN_CHARACTERS - 1).min(characters.len() / 2);
    (1..=longest).any(|length| characters.iter().zip(characters.iter().skip(length)).all(|(one, next)| one == next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_guessable_when_it_is_short_or_regular() {
        for (token, why) in [
            ("", "shorter"),
            ("corroborate2026admin", "shorter"),
            ("0123456789abcdef0123456789abcde", "shorter"),
            (&"a".repeat(40), "few different"),
            (&"secret".repeat(10), "few different"),
            ("abcdefghijklmnopqrstuvwxyz0123456789", "sequence"),
            ("corroborate2026admincorroborate2026admin", "repeats"),
            ("change-me-change-me-change-me-change-me", "repeats"),
        ] {
            assert!(guessable(token).is_some_and(|found| found.contains(why)), "{token}: {:?}", guessable(token));
        }
    }

    #[test]
    fn random_token_is_not_guessable() {
        for _ in 0..500 {
            let hex = format!("{:032x}", rand::random::<u128>() | 1 << 127);
            assert_eq!(guessable(&hex), None, "{hex}");
        }
        assert_eq!(guessable("8301946275520918364740295183627405918273"), None);
        assert_eq!(guessable("q7VhJ2mXw9Rk4TzB8nLc6YfPd3SgA5eU"), None);
    }
}
