// The options. Access is asked for here and nowhere else: for the server when it is saved, for all sites when the button
// beside selected text is switched on.

import { permissionFor, readAddress, readDomain } from "../shared/address.mjs";
import { api, knowsPorts, origin } from "../shared/api.mjs";
import { putWords } from "../shared/pages.mjs";
import { originLine, problemOf } from "../shared/problems.mjs";
import { keep, settings } from "../shared/settings.mjs";
import { LOCALES, wordsIn } from "../shared/words.mjs";
import { ALL_SITES } from "../background/button.mjs";
import { probe } from "../background/server.mjs";

// Those that readers of the four languages meet most. Any other is found out from the text.
const CLAIM_LANGUAGES = ["en", "ru", "uk", "pt", "ar", "cs", "de", "es", "fr", "it", "pl", "tr", "zh"];

const part = (id) => document.getElementById(id);
const outcome = part("outcome");
let words;

async function fill() {
  const set = await settings();
  words = await wordsIn(set.language);
  putWords(document, words);
  document.title = words.say("options_title");
  const ownName = (tag) => new Intl.DisplayNames([tag], { type: "language" }).of(tag);
  const named = new Intl.DisplayNames([words.tag], { type: "language" });
  choices(part("language"), words.say("options_language_browser"), LOCALES.map((locale) => [locale, ownName(locale.replace("_", "-"))]), set.language);
  choices(part("claim-language"), words.say("options_claim_language_auto"), CLAIM_LANGUAGES.map((code) => [code, named.of(code)]), set.claimLanguage);
  part("server").value = set.server;
  part("token").value = set.token;
  part("plain").checked = set.plainAllowed;
  part("button").checked = set.button && (await api.permissions.contains(ALL_SITES));
  part("silent").value = set.silent.join("\n");
  part("origin-line").textContent = originLine(origin());
  showPlainChoice();
}

function choices(select, first, rows, chosen) {
  const option = ([value, label]) => Object.assign(document.createElement("option"), { value, textContent: label });
  select.replaceChildren(option(["", first]), ...rows.map(option));
  select.value = chosen;
}

/** The box for an unencrypted connection is there only where the address needs it. */
function showPlainChoice() {
  const address = readAddress(part("server").value);
  part("plain-choice").hidden = address.encrypted !== false;
}

/** What is typed, or the message that says why it cannot be kept. */
function typed() {
  const text = part("server").value.trim();
  const address = text ? readAddress(text) : null;
  if (address?.error) return { wrong: words.say(address.error), field: "server" };
  if (address && !address.encrypted && !part("plain").checked) return { wrong: words.say("address_plain"), field: "plain" };
  const silent = [];
  for (const line of part("silent").value.split("\n").filter((line) => line.trim() !== "")) {
    const domain = readDomain(line);
    if (!domain) return { wrong: words.say("silent_unreadable", line.trim()), field: "silent" };
    if (!silent.includes(domain)) silent.push(domain);
  }
  const values = {
    server: address?.base ?? "",
    token: part("token").value.trim(),
    plainAllowed: Boolean(address) && !address.encrypted,
    language: part("language").value,
    claimLanguage: part("claim-language").value,
    silent,
  };
  return { address, values };
}

async function save() {
  const { wrong, field, address, values } = typed();
  for (const id of ["server", "plain", "silent"]) part(id).removeAttribute("aria-invalid");
  if (wrong) {
    part(field).setAttribute("aria-invalid", "true");
    part(field).focus();
    return say("wrong", words.say("options_not_saved"), wrong);
  }
  const wanted = address ? [permissionFor(address.origin, knowsPorts())] : [];
  // The browser asks only in answer to a press, so nothing may be waited for before this.
  if (wanted.length && !(await api.permissions.request({ origins: wanted }))) {
    return say("wrong", words.say("options_not_saved"), words.say("options_denied", address.origin));
  }
  const before = await settings();
  await keep(values);
  await giveBack(before.server, wanted);
  words = await wordsIn(values.language);
  await fill();
  if (!address) return say("good", words.say("options_saved_no_server"));
  say("", words.say("options_asking"));
  try {
    await probe({ base: values.server, token: values.token });
    say("good", words.say("options_saved"));
  } catch (fault) {
    const problem = problemOf(fault, { words, server: values.server, origin: origin() });
    part("origin-box").open = problem.line !== null;
    say("wrong", words.say("options_saved_but"), problem.title + ".", problem.advice, problem.line, problem.said);
  }
}

/** The access that a stored server needs. */
function accessTo(server) {
  const address = server ? readAddress(server) : null;
  return address?.origin ? [permissionFor(address.origin, knowsPorts())] : [];
}

/** Access to a server that was left is given back. */
async function giveBack(server, stillWanted) {
  const origins = accessTo(server).filter((pattern) => !stillWanted.includes(pattern));
  if (origins.length) await api.permissions.remove({ origins }).catch(() => false);
}

/** Access to all sites is given back. */
async function giveBackAllSites() {
  await api.permissions.remove(ALL_SITES).catch(() => false);
  // Chromium takes the access to the server with it, and gives that back without asking, since it was given before.
  const origins = accessTo((await settings()).server);
  if (origins.length && !(await api.permissions.contains({ origins }))) await api.permissions.request({ origins }).catch(() => false);
}

function say(tone, ...lines) {
  const paragraph = (text) => Object.assign(document.createElement("p"), { textContent: text });
  outcome.className = tone;
  outcome.replaceChildren(...lines.filter(Boolean).map(paragraph));
}

/** The button's switch acts at once: it is its own question to the browser. */
async function switchButton() {
  const box = part("button");
  part("button-refused").textContent = "";
  if (box.checked && !(await api.permissions.request(ALL_SITES))) {
    box.checked = false;
    part("button-refused").textContent = words.say("options_button_refused");
    return;
  }
  await keep({ button: box.checked });
  if (!box.checked) await giveBackAllSites();
}

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  void save();
});
part("server").addEventListener("input", showPlainChoice);
part("button").addEventListener("change", () => void switchButton());
part("show-token").addEventListener("change", (event) => {
  part("token").type = event.target.checked ? "text" : "password";
});
part("copy-origin").addEventListener("click", async (event) => {
  await navigator.clipboard.writeText(part("origin-line").textContent);
  event.target.textContent = words.say("ui_copied");
});

await fill();
