//! Names of parameters and fields that contain keys, in URLs, bodies and forms.

use url::Url;

/// Lower case without `-` and `_`. Only whole names match, so that `pageToken` and `keywords` do not.
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

/// True if a parameter or field with this name contains a key.
pub fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECRET_NAMES.contains(&plain.as_str())
}

/// True if a query parameter of the URL contains a key.
pub fn holds_key(url: &Url) -> bool {
    url.query_pairs().any(|(name, _)| is_secret_name(&name))
}
