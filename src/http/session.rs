//! Sessions of people at the pages: a cookie that says, signed, what its bearer may do. Nothing is stored: every process that has
//! the same tokens reads the same cookies, and a changed token ends all of them.
//!
//! A session is rotated while it is used, ends some hours after signing in whatever is done, and carries a token of its own
//! against forged forms: one that another page sends for its visitor cannot know it.

use std::fmt::Write as _;

use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::scope::Scope;

/// The cookie. `__Host-` would need TLS, which a loopback server has not.
pub(crate) const COOKIE: &str = "corroborate_session";
/// From signing in to the end.
const LIFE: TimeDelta = TimeDelta::hours(12);
/// After which a used session gets a new value.
const ROTATE: TimeDelta = TimeDelta::hours(1);

/// Signs sessions. Made of the server's tokens.
#[derive(Clone)]
pub(crate) struct SessionKey(Hmac<Sha256>);

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey")
    }
}

/// What a cookie says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) scope: Scope,
    /// The token of the store that it began with; `None`: one of the server's own.
    pub(crate) token: Option<i64>,
    /// Of the sign-in: rotation does not lengthen a session.
    began: DateTime<Utc>,
    /// Of this value.
    issued: DateTime<Utc>,
    nonce: u64,
}

impl SessionKey {
    /// `None` without a token: nobody signs in to a server that has none.
    pub(crate) fn of(tokens: &[Option<[u8; 32]>]) -> Option<Self> {
        tokens.first().copied().flatten()?;
        let mut material = Vec::with_capacity(tokens.len() * 33);
        for token in tokens {
            material.push(u8::from(token.is_some()));
            material.extend(token.unwrap_or_default());
        }
        let mut key = Hmac::<Sha256>::new_from_slice(b"corroborate session key 1").ok()?;
        key.update(&material);
        Hmac::<Sha256>::new_from_slice(&key.finalize().into_bytes()).ok().map(Self)
    }

    /// A new session: its cookie's value.
    pub(crate) fn begin(&self, scope: Scope, token: Option<i64>, now: DateTime<Utc>, nonce: u64) -> String {
        self.value(&Session { scope, token, began: now, issued: now, nonce })
    }

    /// The session of a cookie's value; `None` of one that is not ours, or over.
    pub(crate) fn read(&self, value: &str, now: DateTime<Utc>) -> Option<Session> {
        let (said, signature) = value.rsplit_once('.')?;
        let expected = self.sign(said.as_bytes());
        if !bool::from(expected.as_bytes().ct_eq(signature.as_bytes())) {
            return None;
        }
        let mut fields = said.split('.');
        let scope = Scope::parse(fields.next()?)?;
        let token = match fields.next()? {
            "own" => None,
            id => Some(id.parse().ok()?),
        };
        let mut moment = || DateTime::from_timestamp(fields.next()?.parse().ok()?, 0);
        let (began, issued) = (moment()?, moment()?);
        let nonce = u64::from_str_radix(fields.next()?, 16).ok()?;
        (began <= now && now < began + LIFE).then_some(Session { scope, token, began, issued, nonce })
    }

    /// The value that takes a session's place, where it is time.
    pub(crate) fn rotated(&self, session: &Session, now: DateTime<Utc>, nonce: u64) -> Option<String> {
        (now >= session.issued + ROTATE).then(|| self.value(&Session { issued: now, nonce, ..*session }))
    }

    /// What a form of this session holds. It outlives a rotation: a page that was open before may still be sent.
    pub(crate) fn csrf(&self, session: &Session) -> String {
        let Session { scope, token, began, .. } = session;
        self.sign(format!("csrf {} {token:?} {}", scope.as_str(), began.timestamp()).as_bytes())
    }

    /// Whether a form was made by this session.
    pub(crate) fn is_own(&self, session: &Session, csrf: &str) -> bool {
        self.csrf(session).as_bytes().ct_eq(csrf.as_bytes()).into()
    }

    fn value(&self, session: &Session) -> String {
        let Session { scope, token, began, issued, nonce } = session;
        let token = token.map_or_else(|| "own".to_owned(), |id| id.to_string());
        let said = format!("{}.{token}.{}.{}.{nonce:016x}", scope.as_str(), began.timestamp(), issued.timestamp());
        let signature = self.sign(said.as_bytes());
        format!("{said}.{signature}")
    }

    fn sign(&self, text: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(text);
        hex(&mac.finalize().into_bytes())
    }
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// `Set-Cookie` of a session's value.
pub(crate) fn set(value: &str) -> String {
    format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={}", LIFE.num_seconds())
}

/// The same, to forget it.
pub(crate) fn forget() -> String {
    format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0")
}

/// A cookie of that name among those of a request.
pub(crate) fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(token: u8) -> SessionKey {
        SessionKey::of(&[Some([token; 32]), None]).unwrap()
    }

    fn at(hours: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(hours)
    }

    #[test]
    fn a_session_is_read_by_whoever_has_the_token_and_by_nobody_else() {
        let value = key(1).begin(Scope::Read, Some(3), at(0), 7);
        let session = key(1).read(&value, at(0)).unwrap();
        assert_eq!((session.scope, session.token), (Scope::Read, Some(3)));
        assert_eq!(key(1).read(&value, at(1)), Some(session));
        assert_eq!(key(2).read(&value, at(1)), None, "another token");
        assert_eq!(
            SessionKey::of(&[Some([1; 32]), Some([9; 32])]).unwrap().read(&value, at(1)),
            None,
            "one token more"
        );
        assert_eq!(key(1).read(&value.replace("read.", "admin."), at(1)), None, "a scope of one's own");
        assert_eq!(key(1).read("", at(1)), None);
        assert!(SessionKey::of(&[None, None]).is_none());
    }

    #[test]
    fn a_session_ends_and_rotation_does_not_lengthen_it() {
        let key = key(1);
        let value = key.begin(Scope::Admin, None, at(0), 7);
        let session = key.read(&value, at(0)).unwrap();
        assert_eq!(key.rotated(&session, at(0), 8), None);
        let rotated = key.rotated(&session, at(2), 8).unwrap();
        assert_ne!(rotated, value);
        assert!(key.read(&rotated, at(11)).is_some());
        assert_eq!(key.read(&rotated, at(12)), None);
        assert_eq!(key.read(&value, at(-1)), None, "from the future");
    }

    #[test]
    fn a_form_belongs_to_its_session() {
        let key = key(1);
        let begun = |scope, token| key.read(&key.begin(scope, token, at(0), 7), at(0)).unwrap();
        let (session, other, named) =
            (begun(Scope::Admin, None), begun(Scope::Read, None), begun(Scope::Admin, Some(1)));
        let rotated = key.rotated(&session, at(2), 8).and_then(|value| key.read(&value, at(2))).unwrap();
        assert!(key.is_own(&session, &key.csrf(&session)) && key.is_own(&rotated, &key.csrf(&session)));
        assert!(!key.is_own(&session, &key.csrf(&other)) && !key.is_own(&session, ""));
        assert!(!key.is_own(&session, &key.csrf(&named)));
        assert!(set("x").contains("HttpOnly; SameSite=Lax"));
        assert_eq!(cookie("a=b; corroborate_session=x.y; c", COOKIE), Some("x.y"));
    }
}
