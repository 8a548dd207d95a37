// A check as the view sees it: a port to the background, and a panel that shows what comes over it.

globalThis.corroborateView ??= {};

(() => {
  const view = globalThis.corroborateView;
  if (view.session) return;
  const api = globalThis.browser?.runtime ? globalThis.browser : globalThis.chrome;

  /** Checks go on in `panel`, one at a time. Gives `{start, cancel, end}`; `onWords` is called when there is something to see. */
  view.session = (panel, onWords) => {
    let port = null;
    let lost = null;

    const start = (claim) => {
      end();
      let mine;
      try {
        mine = api.runtime.connect({ name: "check" });
      } catch {
        // The extension was updated, and this page still has the old one.
        if (lost) panel.problem(lost);
        return;
      }
      port = mine;
      const take = (message) => {
        if (port !== mine) return;
        if (message.kind === "words") {
          lost = message.lost;
          panel.speak(message.words);
          panel.begin(claim);
          onWords();
        } else show(panel, message);
        if (message.kind === "answer" || message.kind === "problem") end();
      };
      mine.onMessage.addListener(take);
      mine.onDisconnect.addListener(() => {
        if (port !== mine) return;
        port = null;
        if (lost) panel.problem(lost);
      });
      mine.postMessage({ kind: "check", claim });
    };

    const end = () => {
      const open = port;
      port = null;
      open?.disconnect();
    };

    const cancel = () => {
      end();
      panel.cancelled();
    };
    return { start, cancel, end };
  };

  function show(panel, message) {
    if (message.kind === "stage") panel.at(message.text);
    if (message.kind === "tick") panel.tick(message.seconds, message.slow);
    if (message.kind === "line") panel.line(message.text);
    if (message.kind === "gap") panel.gap(message.text);
    if (message.kind === "answer") panel.answer(message.card, message.text);
    if (message.kind === "problem") panel.problem(message.problem);
  }
})();
