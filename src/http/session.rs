//! Sessions of people at the pages: a random secret in a cookie, and a row in the store that says what its bearer may do.
//!
//! The store holds SHA-256 of the secret, so a copy of the store opens no session. A session ends at signing out, when the
//! token it began with is revoked, and twelve hours after signing in. One that began with a token of the server itself also
//! ends when that token changes: the store holds HMAC-SHA256 of the token, keyed with the secret. A copy of the store lacks the
//! key, and a cookie lacks the MAC, so neither alone can confirm a guess of the token.
//!
//! A used session gets a new secret every hour. The earlier one is accepted for another minute, for requests that a browser's
//! other tabs had already sent. Each session has a random token of its own against forged forms, which outlives rotation: a
//! form that was opened before may still be sent.

use std::fmt::Write as _;
use std::sync::Arc;

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::keyring::Named;
use super::scope::Scope;
use crate::store::{NewSession, SessionOrigin, Store, StoreError, StoredSession};

/// The cookie. `__Host-` would need TLS, which a loopback server has not.
pub(crate) const COOKIE: &str = "corroborate_session";
/// How long a browser keeps the cookie: the lifetime of a session.
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

    /// `None` of a text that cannot be one, such as a cookie of an earlier version: the store need not be asked.
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

    /// The MAC of a server's own token, keyed with this secret. `token` is the token's digest.
    fn mac(&self, token: &[u8; 32]) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(b"corroborate server token");
        mac.update(token);
        Some(mac.finalize().into_bytes().into())
    }
}

/// Digests of the server's own tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerTokens {
    pub(crate) admin: Option<[u8; 32]>,
    pub(crate) read: Option<[u8; 32]>,
}

impl ServerTokens {
    /// The token whose bearer has that scope.
    fn of(&self, scope: Scope) -> Option<[u8; 32]> {
        match scope {
            Scope::Admin => self.admin,
            Scope::Read => self.read,
            Scope::Check => None,
        }
    }
}

/// A session that is valid now.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) scope: Scope,
    /// What forms of its pages carry.
    pub(crate) csrf: Arc<str>,
    /// The stored token that it began with; `None`: one of the server's own.
    pub(crate) token: Option<Named>,
    pub(crate) is_due_for_rotation: bool,
    secret: Secret,
}

impl Session {
    fn of(stored: StoredSession, secret: Secret, tokens: &ServerTokens) -> Option<Self> {
        let scope = Scope::parse(&stored.scope)?;
        let token = match (stored.token, stored.server_token_mac) {
            (Some(token), None) => Some(Named::of_session(token, scope)),
            (None, Some(mac)) => {
                let expected = secret.mac(&tokens.of(scope)?)?;
                if !bool::from(expected.ct_eq(mac.as_slice())) {
                    return None;
                }
                None
            }
            _ => return None,
        };
        Some(Self {
            scope,
            csrf: stored.csrf_token.into(),
            token,
            is_due_for_rotation: stored.is_due_for_rotation,
            secret,
        })
    }

    /// Whether a form was made by a page of this session.
    pub(crate) fn is_own(&self, csrf: &str) -> bool {
        self.csrf.as_bytes().ct_eq(csrf.as_bytes()).into()
    }
}

/// Begins a session; returns its secret for the cookie.
pub(crate) async fn begin(
    store: &Store,
    scope: Scope,
    token: Option<i64>,
    tokens: &ServerTokens,
) -> Result<Option<Secret>, StoreError> {
    let secret = Secret::random();
    let origin = match token {
        Some(id) => Some(SessionOrigin::Token(id)),
        None => tokens.of(scope).and_then(|token| secret.mac(&token)).map(SessionOrigin::ServerToken),
    };
    let Some(origin) = origin else { return Ok(None) };
    let csrf_token = hex(&rand::random::<[u8; 32]>());
    let new = NewSession { digest: secret.digest(), csrf_token: &csrf_token, scope: scope.as_str(), origin };
    store.begin_session(&new).await?;
    Ok(Some(secret))
}

/// The session of a secret; `None` if there is none, it has ended, or the server's own token has changed.
pub(crate) async fn find(store: &Store, secret: Secret, tokens: &ServerTokens) -> Result<Option<Session>, StoreError> {
    let stored = store.session(secret.digest()).await?;
    Ok(stored.and_then(|stored| Session::of(stored, secret, tokens)))
}

/// Gives a session a new secret, if it is time and no other request did so first.
pub(crate) async fn rotate(
    store: &Store,
    session: &Session,
    tokens: &ServerTokens,
) -> Result<Option<Secret>, StoreError> {
    let secret = Secret::random();
    let mac = match session.token {
        Some(_) => None,
        None => tokens.of(session.scope).and_then(|token| secret.mac(&token)),
    };
    let is_rotated = store.rotate_session(session.secret.digest(), secret.digest(), mac).await?;
    Ok(is_rotated.then_some(secret))
}

/// Ends a session.
pub(crate) async fn end(store: &Store, session: &Session) -> Result<(), StoreError> {
    store.end_session(session.secret.digest()).await
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// `Set-Cookie` of a session.
pub(crate) fn set(secret: &Secret) -> String {
    format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age={MAX_AGE_SECONDS}", secret.value())
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
impl Session {
    /// A session that no store holds.
    pub(crate) fn for_test(scope: Scope) -> Self {
        let csrf = hex(&rand::random::<[u8; 32]>()).into();
        Self { scope, csrf, token: None, is_due_for_rotation: false, secret: Secret::random() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: ServerTokens = ServerTokens { admin: Some([1; 32]), read: Some([2; 32]) };

    fn stored(scope: Scope, mac: Option<[u8; 32]>) -> StoredSession {
        StoredSession {
            csrf_token: "form".into(),
            scope: scope.as_str().into(),
            token: None,
            server_token_mac: mac.map(Vec::from),
            is_due_for_rotation: false,
        }
    }

    #[test]
    fn session_of_a_server_token_ends_when_the_token_changes() {
        let secret = Secret::random();
        let read = |scope, mac, tokens: &ServerTokens| Session::of(stored(scope, mac), secret.clone(), tokens);
        let mac = secret.mac(&[1; 32]);
        assert!(read(Scope::Admin, mac, &TOKENS).is_some());
        assert!(read(Scope::Admin, mac, &ServerTokens { admin: Some([9; 32]), ..TOKENS }).is_none(), "another token");
        assert!(read(Scope::Admin, mac, &ServerTokens { admin: None, ..TOKENS }).is_none(), "no token");
        assert!(read(Scope::Read, mac, &TOKENS).is_none(), "the other token's scope");
        assert!(read(Scope::Admin, secret.mac(&[2; 32]), &TOKENS).is_none(), "a reader's session that claims more");
        assert!(read(Scope::Check, mac, &TOKENS).is_none(), "a scope that no server token has");
        assert!(read(Scope::Admin, None, &TOKENS).is_none(), "no origin");
        assert!(read(Scope::Admin, Secret::random().mac(&[1; 32]), &TOKENS).is_none(), "another session's MAC");
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
