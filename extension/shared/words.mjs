// The words of the extension in the language that was chosen. The browser's own getMessage knows its own language only, so
// the files in _locales are read here.

import { api } from "./api.mjs";

/** The languages that there are words in, by the names of their folders. */
export const LOCALES = ["en", "ru", "uk", "pt_BR"];

const read = new Map();

/** The words of one language. */
export class Words {
  #messages;
  #plurals;

  /** `messages` is the content of a messages.json. */
  constructor(locale, messages) {
    this.locale = locale;
    /** As the `lang` attribute and Intl write it. */
    this.tag = locale.replace("_", "-");
    this.#messages = messages;
    this.#plurals = new Intl.PluralRules(this.tag);
  }

  /** Whether there is a message of that name. */
  has(key) {
    return Object.hasOwn(this.#messages, key);
  }

  /** The message, with $1, $2 … replaced. A name that is unknown is a fault of ours and shows as itself. */
  say(key, ...values) {
    if (!this.has(key)) return key;
    return this.#messages[key].message.replace(/\$(\d)/g, (_, number) => String(values[number - 1] ?? ""));
  }

  /** The message in the form that goes with a number: `key_one`, `key_few` … */
  count(key, number) {
    return this.say(`${key}_${this.#plurals.select(number)}`, number);
  }

  /** A figure between 0 and 1 with two digits. */
  figure(value) {
    const figure = Number(value).toFixed(2);
    return this.locale === "en" ? figure : figure.replace(".", ",");
  }

  /** The day of a moment; the words for "no date" where it cannot be read. */
  day(moment) {
    const date = new Date(moment ?? Number.NaN);
    if (Number.isNaN(date.getTime())) return this.say("no_date");
    return new Intl.DateTimeFormat(this.tag, { dateStyle: "medium", timeZone: "UTC" }).format(date);
  }

  /** The messages that the view shows as they are, by name. */
  forView() {
    const own = Object.keys(this.#messages).filter((key) => key.startsWith("ui_"));
    return Object.fromEntries([["lang", this.tag], ...own.map((key) => [key.slice(3), this.say(key)])]);
  }
}

/** Which language is spoken: the one that was set, else the first of the browser's that there are words in. */
export function pickLocale(chosen, browserLanguages) {
  if (LOCALES.includes(chosen)) return chosen;
  for (const language of browserLanguages) {
    const code = language.toLowerCase().split(/[-_]/, 1)[0];
    const found = LOCALES.find((locale) => locale.split("_", 1)[0] === code);
    if (found) return found;
  }
  return "en";
}

/** The words in the language that was set. */
export async function wordsIn(chosen) {
  const locale = pickLocale(chosen, [api.i18n.getUILanguage(), ...(await api.i18n.getAcceptLanguages())]);
  if (!read.has(locale)) {
    const file = await fetch(api.runtime.getURL(`_locales/${locale}/messages.json`));
    read.set(locale, new Words(locale, await file.json()));
  }
  return read.get(locale);
}
