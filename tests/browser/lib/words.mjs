// The words of all languages, for tests.

import { readFile } from "node:fs/promises";

import { LOCALES, Words } from "../../../extension/shared/words.mjs";

/** The messages of one language, as the browser reads them. */
export const messagesOf = async (locale) => JSON.parse(await readFile(new URL(`../../../extension/_locales/${locale}/messages.json`, import.meta.url), "utf8"));

/** `Words` by locale. */
export const WORDS = Object.fromEntries(await Promise.all(LOCALES.map(async (locale) => [locale, new Words(locale, await messagesOf(locale))])));
