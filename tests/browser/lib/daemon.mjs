// The program itself, on the demo's recorded items and answers; in a folder of its own, on a free port.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROGRAM = process.env.CORROBORATE ?? join(import.meta.dirname, "../../../target/debug/corroborate");
const PATIENCE_MS = 240_000;

/** Whether the program is there. */
export const isBuilt = () => existsSync(PROGRAM);

export const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts it and waits until its page answers. Gives `{base, stop}`. */
export async function demo(environment = {}) {
  const folder = mkdtempSync(join(tmpdir(), "corroborate-browser-"));
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const child = spawn(PROGRAM, ["ui", "--demo", "--no-open"], {
    env: { ...process.env, CORROBORATE_DATA_DIR: folder, HTTP_BIND: `127.0.0.1:${port}`, RUST_LOG: "warn", ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (piece) => (said += piece));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const ready = await fetch(`${base}/healthz`).then((answer) => answer.ok, () => false);
    if (ready) break;
    if (child.exitCode !== null || Date.now() > until) {
      child.kill();
      throw new Error(`the program did not come up:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const stop = async () => {
    child.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { base, stop, port };
}
