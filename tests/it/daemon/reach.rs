//! Who can reach the HTTP port, and what one client can take from the others: sessions.

use hmac::{Hmac, Mac as _};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::embedded::Home;
use super::surface::{FORM, csrf, page, sign_in};
use crate::support::daemon::Daemon;

/// The cookie that could be computed from a guess of `ADMIN_TOKEN` when sessions were signed with a key made of it.
fn forged(admin_token: &str) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let hmac = |key: &[u8], text: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(text);
        mac.finalize().into_bytes()
    };
    let mut material = vec![1];
    material.extend(Sha256::digest(admin_token.as_bytes()));
    // The reader's token: none.
    material.extend([0; 33]);
    let key = hmac(b"corroborate session key 1", &material);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() - 5;
    let said = format!("admin.own.{now}.{now}.0123456789abcdef");
    format!("Cookie: corroborate_session={said}.{}", hex(&hmac(&key, said.as_bytes())))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cookie_opens_nothing_when_it_is_forged_or_signed_out_or_its_token_has_changed() {
    const TOKEN: &str = "corroborate2026admin";
    let mut home = Home::new().await;
    home.set("ADMIN_TOKEN", TOKEN);
    let daemon = home.start().await;
    let status = async |daemon: &Daemon, cookie: &str| daemon.send("GET", "/api/tokens", &[cookie], "").await.status;
    for cookie in [forged(TOKEN), format!("Cookie: corroborate_session={}", "0".repeat(64))] {
        assert_eq!(status(&daemon, &cookie).await, 401, "{cookie}");
    }

    let (first, second) = (sign_in(&daemon, TOKEN).await.unwrap(), sign_in(&daemon, TOKEN).await.unwrap());
    assert_ne!(first, second);
    assert_eq!((status(&daemon, &first).await, status(&daemon, &second).await), (200, 200));
    let shown = page(&daemon, "/items", &[&first]).await;
    let rule = json!({"domain": "x.example", "list": "deny"}).to_string();
    let without = daemon.send("POST", "/api/domains", &[&first], &rule).await;
    let token = format!("X-CSRF-Token: {}", csrf(&shown));
    let with = daemon.send("POST", "/api/domains", &[&first, &token], &rule).await;
    let others = daemon.send("POST", "/api/domains", &[&second, &token], &rule).await;
    assert_eq!((without.status, with.status, others.status), (403, 201, 403));

    let out = daemon.send("POST", "/sign-out", &[FORM, &first], &format!("csrf={}", csrf(&shown))).await;
    assert_eq!(out.status, 303);
    assert_eq!(status(&daemon, &first).await, 401, "a signed-out cookie is of no use");
    assert_eq!(status(&daemon, &second).await, 200, "another session goes on");
    daemon.stop().await;

    let daemon = home.start().await;
    assert_eq!(status(&daemon, &second).await, 200, "a session outlives a restart");
    daemon.stop().await;
    home.set("ADMIN_TOKEN", "another-token-of-the-same-server");
    let daemon = home.start().await;
    assert_eq!(status(&daemon, &second).await, 401, "its token has changed");
    daemon.stop().await;
}
