//! A broker of a test's own, for tests that stop, restart or kill it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Ended when dropped.
pub(crate) struct Node {
    dir: tempfile::TempDir,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/rabbitmq.sh")
}

impl Node {
    async fn run(&self, command: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let mut call = Command::new(script());
        call.arg(command).arg(self.dir.path()).args(arguments);
        let done = tokio::task::spawn_blocking(move || call.output()).await.unwrap().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// Runs a command of `tests/services/rabbitmq.sh` on it: start, stop, kill, ctl.
    pub(crate) async fn done(&self, command: &str, arguments: &[&str]) {
        let (code, said) = self.run(command, arguments).await;
        assert_eq!(code, Some(0), "{command}: {said}");
    }

    /// `None`, said aloud, where `RabbitMQ` is not installed on this machine.
    pub(crate) async fn start() -> Option<(Self, url::Url)> {
        let node = Self { dir: tempfile::tempdir().unwrap() };
        match node.run("start", &[]).await {
            (Some(0), url) => Some((node, url.parse().unwrap())),
            (Some(69), _) => {
                super::without_program("RabbitMQ is not installed here; tests/run installs it");
                None
            }
            other => panic!("the node did not start: {other:?}"),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Also when the test fails: a node left behind would hold memory until the machine ends.
        let stopped = Command::new(script()).arg("stop").arg(self.dir.path()).status();
        assert!(stopped.is_ok_and(|status| status.success()), "the node may still run");
    }
}
