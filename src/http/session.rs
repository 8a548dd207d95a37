//! Sessions of the web UI: a random secret in a cookie and a row in the store.
//!
//! The store has only the secret's SHA-256. A session ends at sign-out, when its token is revoked, or twelve hours
//! after sign-in.
//!
//! A session of a configured token also ends when that token changes. The row has an HMAC-SHA256 of the token, keyed with
//! the secret. A copy of the store lacks the key and a cookie lacks the MAC, so neither alone can confirm a guessed
//! token.

use std::fmt::Write as _;
use std::sync::Arc;

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::auth::Scope;
use super::keyring::{ApiToken, Keyring};
use crate::store::{NewSession, SessionOrigin, Store, StoreError, StoredSession};

/// A `__Host-` prefix would need TLS, which a loopback server lacks.
pub(crate) const COOKIE: &str = "corroborate_session";
/// Lifetime of the cookie and of a session.
const MAX_AGE_SECONDS: u32 = 12 * 60 * 60;
/// Length of a secret in the cookie, characters.
const SECRET_DIGITS: usize = 64;

/// The secret of a session, 256 random bits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    fn random() -> Self {
        Self(hex(&rand::random::<[u8; 32]>()))
    }

    /// Returns `None` without a store query if the text cannot be a secret.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        let is_hex = value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (value.len() == SECRET_DIGITS && is_hex).then(|| Self(value.to_owned()))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The MAC of a configured token. `token` is its digest.
    fn mac(&self, token: &[u8; 32]) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(b"corroborate server token");
        mac.update(token);
        Some(mac.finalize().into_bytes().into())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) token: ApiToken,
    /// The CSRF token of its forms.
    pub(crate) csrf: Arc<str>,
    secret: Secret,
}

impl Session {
    fn of(stored: StoredSession, secret: Secret, keyring: &Keyring) -> Option<Self> {
        let scope = Scope::parse(&stored.scope)?;
        let token = match (stored.token, stored.server_token_mac) {
            (Some(token), None) => ApiToken::of_session(&token, scope),
            (None, Some(mac)) => {
                let (digest, token) = keyring.configured_for(scope)?;
                let expected = secret.mac(digest)?;
                bool::from(expected.ct_eq(mac.as_slice())).then(|| token.clone())?
            }
            _ => return None,
        };
        Some(Self { token, csrf: stored.csrf_token.into(), secret })
    }

    /// Whether a form comes from this session.
    pub(crate) fn is_own(&self, csrf: &str) -> bool {
        self.csrf.as_bytes().ct_eq(csrf.as_bytes()).into()
    }
}

/// Begins a session; returns its secret, or `None` if the token is not configured any more.
pub(crate) async fn begin(store: &Store, keyring: &Keyring, token: &ApiToken) -> Result<Option<Secret>, StoreError> {
    let secret = Secret::random();
    let origin = match token.id {
        Some(id) => Some(SessionOrigin::Token(id)),
        None => keyring
            .configured_for(token.scope)
            .and_then(|(digest, _)| secret.mac(digest))
            .map(SessionOrigin::ServerToken),
    };
    let Some(origin) = origin else { return Ok(None) };
    let csrf_token = hex(&rand::random::<[u8; 32]>());
    let new = NewSession { digest: secret.digest(), csrf_token: &csrf_token, scope: token.scope.as_str(), origin };
    store.begin_session(&new).await?;
    Ok(Some(secret))
}

/// The session of a secret; `None` if it has ended or its configured token has changed.
pub(crate) async fn find(store: &Store, keyring: &Keyring, secret: Secret) -> Result<Option<Session>, StoreError> {
    let stored = store.session(secret.digest()).await?;
    Ok(stored.and_then(|stored| Session::of(stored, secret, keyring)))
}

pub(crate) async fn end(store: &Store, session: &Session) -> Result<(), StoreError> {
    store.end_session(session.secret.digest()).await
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// The `Set-Cookie` value of a session.
pub(crate) fn set(secret: &Secret) -> String {
    format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age={MAX_AGE_SECONDS}", secret.value())
}

/// The `Set-Cookie` value that deletes the cookie.
pub(crate) fn forget() -> String {
    format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0")
}

pub(crate) fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
impl Session {
    pub(crate) fn for_test(scope: Scope) -> Self {
        let csrf = hex(&rand::random::<[u8; 32]>()).into();
        Self { token: ApiToken::configured("test", scope), csrf, secret: Secret::random() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpSettings;

    fn stored(scope: Scope, mac: Option<[u8; 32]>) -> StoredSession {
        StoredSession {
            csrf_token: "form".into(),
            scope: scope.as_str().into(),
            token: None,
            server_token_mac: mac.map(Vec::from),
        }
    }

    fn keyring(admin: Option<&str>) -> Keyring {
        let settings = HttpSettings {
            admin_token: admin.map(Into::into),
            read_token: Some("reader".into()),
            ..HttpSettings::default()
        };
        Keyring::new(&settings, None)
    }

    #[test]
    fn session_of_a_configured_token_ends_when_the_token_changes() {
        let (secret, keys) = (Secret::random(), keyring(Some("admin")));
        let read = |scope, mac, keys: &Keyring| Session::of(stored(scope, mac), secret.clone(), keys);
        let mac = |secret: &Secret, scope| secret.mac(&keys.configured_for(scope).unwrap().0);
        let own = mac(&secret, Scope::Admin);
        assert!(read(Scope::Admin, own, &keys).is_some());
        assert!(read(Scope::Admin, own, &keyring(Some("another"))).is_none(), "another token");
        assert!(read(Scope::Admin, own, &keyring(None)).is_none(), "no token");
        assert!(read(Scope::Read, own, &keys).is_none(), "the other token's scope");
        assert!(read(Scope::Admin, mac(&secret, Scope::Read), &keys).is_none(), "a reader's session that claims more");
        assert!(read(Scope::Check, own, &keys).is_none(), "a scope that no configured token has");
        assert!(read(Scope::Admin, None, &keys).is_none(), "no origin");
        assert!(read(Scope::Admin, mac(&Secret::random(), Scope::Admin), &keys).is_none(), "another session's MAC");
    }

    #[test]
    fn secret_is_256_bits_and_never_shown() {
        let (one, other) = (Secret::random(), Secret::random());
        assert_ne!(one, other);
        assert_eq!(Secret::parse(one.value()), Some(one.clone()));
        assert_eq!(format!("{one:?}"), "Secret");
        let forged = format!("admin.own.1700000000.1700000000.0123456789abcdef.{}", "0".repeat(64));
        for value in ["", "0", &one.value().to_uppercase(), &forged, &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Secret::parse(value), None, "{value}");
        }
    }

    #[test]
    fn form_belongs_to_its_session() {
        let (session, other) = (Session::for_test(Scope::Admin), Session::for_test(Scope::Admin));
        assert!(session.is_own(&session.csrf));
        assert!(!session.is_own(&other.csrf) && !session.is_own(""));
    }

    #[test]
    fn cookie_is_found_among_others() {
        assert!(set(&Secret::random()).contains("HttpOnly; SameSite=Lax"));
        assert_eq!(cookie("a=b; corroborate_session=x.y; c", COOKIE), Some("x.y"));
        assert_eq!(cookie("a=b", COOKIE), None);
    }
}
