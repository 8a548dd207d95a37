// The background: who may call it, and with what. Requests to the server go out from here alone.

import { api } from "../shared/api.mjs";
import { closeStore, settings } from "../shared/settings.mjs";
import { wordsIn } from "../shared/words.mjs";
import { applyButton, buttonFor, pressed, silence } from "./button.mjs";
import { PORT, serve } from "./check.mjs";
import { showIn } from "./page.mjs";

const MENU = "check";

void closeStore();

api.runtime.onInstalled.addListener(() => void begin());
api.runtime.onStartup.addListener(() => void begin());

async function begin() {
  await nameMenu();
  await applyButton();
}

/** The entry in the context menu, in the language that was set. Made anew: an entry cannot be looked for. */
async function nameMenu() {
  const words = await wordsIn((await settings()).language);
  await api.contextMenus.removeAll();
  api.contextMenus.create({ id: MENU, title: words.say("menu_check"), contexts: ["selection"] });
}

api.storage.local.onChanged.addListener((changes) => {
  if (changes.language) void nameMenu();
  if (changes.button || changes.silent) void applyButton();
});

// Access can be taken away in the browser's own pages.
api.permissions.onRemoved.addListener(() => void applyButton());

api.contextMenus.onClicked.addListener((info, tab) => {
  if (info.menuItemId === MENU && tab) void showIn(tab, info.selectionText ?? "");
});

api.commands.onCommand.addListener((command, tab) => {
  if (command === "check-selection" && tab) void showIn(tab, null);
});

api.runtime.onConnect.addListener((port) => {
  if (port.name === PORT && port.sender?.id === api.runtime.id) serve(port);
});

// What a content script may ask. None of it gives away a setting beyond the words of a button.
const ANSWERS = {
  button: (sender) => buttonFor(sender),
  pressed: (sender, message) => pressed(sender, message.claim),
  silence: (sender) => silence(sender),
  options: () => api.runtime.openOptionsPage(),
};

api.runtime.onMessage.addListener((message, sender, answer) => {
  if (sender.id !== api.runtime.id || !Object.hasOwn(ANSWERS, message?.kind)) return false;
  Promise.resolve(ANSWERS[message.kind](sender, message)).then(
    (value) => answer(value ?? null),
    (error) => {
      console.error(error);
      answer(null);
    },
  );
  return true;
});
