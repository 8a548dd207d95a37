// Where something stands, as people write it: a domain in its own letters, a place in a document of the operator's. The
// same rules as the daemon's own (crates/judging/src/labels/places.rs).

import { askedName } from "./labels.mjs";
import { plain } from "./plain.mjs";

const LABEL_CHARACTERS = 80;
const SEED_MARK = "#seed-fact";

/** An outlet's name. `corpus:gazette`, a collection of the operator's, is named by what it is. */
export function outletName(domain, words) {
  const name = plain(domain, LABEL_CHARACTERS);
  const own = /^(corpus|api|database):(.+)$/.exec(name);
  return own ? `${own[2]} (${askedName(own[1], words)})` : inItsLetters(name);
}

/** An address that is no link, as people read it: the document and its lines, or what it says where it is of no known kind. */
export function placeName(address, words) {
  const text = plain(address, 200).replace(SEED_MARK, "");
  const parts = /^([a-z]+):\/\/(.*)$/i.exec(text);
  if (!parts) return text;
  const [, scheme, rest] = parts;
  if (scheme === "corpus") return inDocument(rest, words);
  return scheme === "api" || scheme === "database" ? rest.replace("/", ": ") : text;
}

/** `gazette/bridge.md#L3-L5`: the document's name and its lines. */
function inDocument(rest, words) {
  const [path, fragment = ""] = rest.split("#", 2);
  const name = plain(decoded(path), 200).replace(/^[^/]*\//, "");
  const lines = /^L(\d+)(?:-L(\d+))?$/.exec(fragment);
  if (!lines) return name;
  const [, from, to = from] = lines;
  return from === to ? `${name}, ${words.say("line")} ${from}` : `${name}, ${words.say("lines")} ${from}–${to}`;
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * Why a host is believed so far: the rule of the server's lists that covers it, or that none does. An operator's own reason
 * is told with it.
 */
export function believedOf(host, rules, words) {
  const rule = ruleFor(host, rules);
  if (!rule) return words.say("believed_none");
  const parts = [words.say(rule.list === "allow" ? "believed_allow" : "believed_deny")];
  if (words.has(`site_${rule.source_type}`)) parts.push(words.say(`site_${rule.source_type}`));
  const why = plain(rule.why, 200);
  return why && why !== FROM_CONFIGURATION ? `${parts.join(", ")} (${why})` : parts.join(", ");
}

// What the server writes where nobody gave a reason.
const FROM_CONFIGURATION = "from the configuration";

/** The rule of the longest domain that covers the host; `*.gov` covers only what is below `gov`. */
function ruleFor(host, rules) {
  const name = host.toLowerCase().replace(/\.$/, "");
  for (let rest = name; rest !== ""; rest = rest.includes(".") ? rest.slice(rest.indexOf(".") + 1) : "") {
    const own = rules.find((rule) => rule?.domain === rest) ?? (rest === name ? null : rules.find((rule) => rule?.domain === `*.${rest}`));
    if (own) return own;
  }
  return null;
}

/** A host in its letters where these cannot pass for another name; as it is stored otherwise. */
export function inItsLetters(host) {
  if (!/(^|\.)xn--/i.test(host)) return host;
  const labels = host.toLowerCase().split(".").map((label) => (label.startsWith("xn--") ? fromPunycode(label.slice(4)) : label));
  if (labels.includes(null)) return host;
  const shown = labels.join(".");
  return cannotPassForAnother(labels) ? shown : host;
}

const SCRIPTS = [
  ["Latin", /\p{Script=Latin}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
];
// Cyrillic and Greek letters that look like Latin ones.
const LOOK_LATIN = "асԁеһіјӏорԛѕԝхуьүґѵαινοτυωκρν";

const letters = (label) => Array.from(label).filter((character) => /\p{Alphabetic}/u.test(character));
const script = (letter) => SCRIPTS.find(([, pattern]) => pattern.test(letter))?.[0] ?? "other";

/**
 * Each label is of one script, and one in letters that look Latin stands under an ending of its own script. Whatever is
 * neither letter, digit nor hyphen could stand for a dot or a slash.
 */
function cannotPassForAnother(labels) {
  const ending = letters(labels.at(-1)).map(script)[0];
  return labels.every((label) => {
    const scripts = new Set(letters(label).map(script));
    const readable = /^[\p{Alphabetic}\p{N}-]+$/u.test(label);
    const looksLatin =
      (scripts.has("Cyrillic") || scripts.has("Greek")) &&
      ending === "Latin" &&
      letters(label).every((letter) => LOOK_LATIN.includes(letter));
    return readable && scripts.size <= 1 && !looksLatin;
  });
}

// The parameters of Punycode (RFC 3492, section 5).
const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;

/** The letters behind a Punycode label (RFC 3492, section 6.2); `null` where it is none. */
function fromPunycode(label) {
  const split = label.lastIndexOf("-");
  const output = split > 0 ? Array.from(label.slice(0, split)) : [];
  let [code, index, bias] = [128, 0, 72];
  for (let at = split > 0 ? split + 1 : 0; at < label.length; ) {
    const before = index;
    for (let weight = 1, k = BASE; ; k += BASE) {
      const digit = digitOf(label[at++]);
      if (digit === null) return null;
      index += digit * weight;
      const threshold = Math.min(Math.max(k - bias, T_MIN), T_MAX);
      if (digit < threshold) break;
      weight *= BASE - threshold;
      if (weight > 0x7fffffff) return null;
    }
    const length = output.length + 1;
    bias = adapted(index - before, length, before === 0);
    code += Math.floor(index / length);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return null;
    index %= length;
    output.splice(index++, 0, String.fromCodePoint(code));
  }
  return output.join("");
}

function digitOf(character) {
  if (/^[a-z]$/.test(character ?? "")) return character.charCodeAt(0) - 97;
  return /^[0-9]$/.test(character ?? "") ? character.charCodeAt(0) - 22 : null;
}

function adapted(delta, length, first) {
  let rest = first ? Math.floor(delta / DAMP) : delta >> 1;
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) rest = Math.floor(rest / (BASE - T_MIN));
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW));
}
