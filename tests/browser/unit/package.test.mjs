// The script that packs: whole archives, the same bytes each time, and nothing packed that is not whole.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const SOURCE = join(import.meta.dirname, "../../../extension");
let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "corroborate-package-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const pack = (of, ...words) => spawnSync(process.execPath, [join(of, "package"), ...words], { encoding: "utf8" });

/** The entries of a stored archive, by name. */
function entries(data) {
  const found = new Map();
  for (let at = 0; data.readUInt32LE(at) === 0x04034b50; ) {
    const [size, name] = [data.readUInt32LE(at + 18), data.readUInt16LE(at + 26)];
    const body = at + 30 + name;
    found.set(data.toString("utf8", at + 30, body), data.subarray(body, body + size));
    at = body + size;
  }
  return found;
}

test("each browser gets its own manifest and the same files, byte for byte each time", () => {
  for (const out of ["one", "two"]) assert.equal(pack(SOURCE, "--out", join(folder, out)).status, 0);
  const { version } = JSON.parse(readFileSync(join(SOURCE, "manifest.json"), "utf8"));
  const of = (out, browser) => readFileSync(join(folder, out, `corroborate-${version}-${browser}.zip`));
  const files = {};
  for (const browser of ["chromium", "firefox"]) {
    assert.ok(of("one", browser).equals(of("two", browser)), browser);
    files[browser] = entries(of("one", browser));
    for (const [name, data] of files[browser]) if (name !== "manifest.json") assert.ok(data.equals(readFileSync(join(SOURCE, name))), name);
    assert.ok(!files[browser].has("package") && !files[browser].has("README.md"));
  }
  assert.deepEqual([...files.chromium.keys()], [...files.firefox.keys()]);
  const [chromium, firefox] = ["chromium", "firefox"].map((browser) => JSON.parse(files[browser].get("manifest.json")));
  assert.deepEqual([Object.keys(chromium.background), chromium.browser_specific_settings], [["service_worker", "type"], undefined]);
  assert.deepEqual([Object.keys(firefox.background), firefox.minimum_chrome_version], [["scripts", "type"], undefined]);
  assert.ok(firefox.browser_specific_settings.gecko.id);
});

test("what is not whole is not packed, and said", () => {
  const faults = {
    "names view/card.js, which is not there": (copy) => unlinkSync(join(copy, "view/card.js")),
    "names popup/popup.css, which is not there": (copy) => unlinkSync(join(copy, "popup/popup.css")),
    "names background/main.mjs, which is not there": (copy) => unlinkSync(join(copy, "background/main.mjs")),
    "names shared/sse.mjs, which is not there": (copy) => unlinkSync(join(copy, "shared/sse.mjs")),
    "ui_check is not in both en and uk": (copy) => change(copy, "_locales/uk/messages.json", '"ui_check"', '"ui_another"'),
    "seconds has other places for values in ru": (copy) => change(copy, "_locales/ru/messages.json", '"seconds": { "message": "$1', '"seconds": { "message": "'),
    "the message menu_of_none, which is not there": (copy) => change(copy, "manifest.json", "__MSG_command_check__", "__MSG_menu_of_none__"),
    "view/dom.js makes code or markup of text": (copy) => change(copy, "view/dom.js", "element.append(", "element.innerHTML = ''; element.append("),
  };
  for (const [said, spoil] of Object.entries(faults)) {
    const copy = mkdtempSync(join(folder, "spoilt-"));
    cpSync(SOURCE, copy, { recursive: true });
    assert.equal(pack(copy, "--check").status, 0);
    spoil(copy);
    const { status, stderr } = pack(copy, "--check");
    assert.equal(status, 1, said);
    assert.ok(stderr.includes(said), `${said}\n${stderr}`);
  }
  assert.equal(pack(SOURCE, "--checked").status, 2);
});

function change(copy, name, from, to) {
  const text = readFileSync(join(copy, name), "utf8");
  assert.ok(text.includes(from), `${from} in ${name}`);
  writeFileSync(join(copy, name), text.replace(from, to));
}
