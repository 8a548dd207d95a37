//! Names under which keys stand in addresses, bodies and forms.

use url::Url;

/// Parameters and fields that carry keys, lower case and without `-` and `_`. Whole names: `pageToken` and `keywords` are
/// none.
const SECRET_NAMES: [&str; 20] = [
    "key",
    "apikey",
    "token",
    "accesstoken",
    "authtoken",
    "apitoken",
    "privatetoken",
    "feedtoken",
    "rsstoken",
    "auth",
    "authorization",
    "secret",
    "clientsecret",
    "password",
    "signature",
    "sig",
    "jwt",
    "subscriptiontoken",
    "subscriptionkey",
    "accesskey",
];

/// Whether a parameter or field of that name holds a key.
pub fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECRET_NAMES.contains(&plain.as_str())
}

/// Whether a parameter of that address holds a key.
pub fn holds_key(url: &Url) -> bool {
    url.query_pairs().any(|(name, _)| is_secret_name(&name))
}
