// The overlay in a page: a closed shadow root that the page cannot look into, with the panel in it. Injected only where a
// person asked for a check.

globalThis.corroborateOverlay ??= (() => {
  const view = globalThis.corroborateView;
  const api = globalThis.browser?.runtime ? globalThis.browser : globalThis.chrome;
  let open = null;

  api.runtime.onMessage.addListener((message) => {
    if (message?.kind === "show") show(message.claim ?? String(globalThis.getSelection()), message.css);
  });

  function show(claim, css) {
    open?.close();
    open = overlay(css, () => {
      open = null;
    });
    open.start(claim);
  }

  function overlay(css, onClosed) {
    const before = document.activeElement;
    const host = document.createElement("div");
    // The page's own style must not reach the frame that everything stands in.
    for (const [name, value] of [
      ["all", "initial"],
      ["position", "fixed"],
      ["inset", "0"],
      ["width", "100%"],
      ["height", "100%"],
      ["pointer-events", "none"],
      ["z-index", "2147483647"],
    ]) {
      host.style.setProperty(name, value, "important");
    }
    const root = host.attachShadow({ mode: "closed" });
    const panel = view.panel({
      cancel: () => session.cancel(),
      again: () => session.start(asked),
      close: () => close(),
      options: () => void api.runtime.sendMessage({ kind: "options" }),
    });
    panel.element.setAttribute("role", "dialog");
    panel.element.classList.add("overlay");
    root.append(view.make("style", null, css), panel.element);

    let asked = "";
    let shown = false;
    const session = view.session(panel, () => {
      if (shown) return;
      shown = true;
      document.documentElement.append(host);
      panel.focus();
    });

    // Keys that are meant for the overlay are no shortcuts of the page's.
    for (const kind of ["keydown", "keypress", "keyup"]) {
      panel.element.addEventListener(kind, (event) => {
        if (event.key === "Escape" && kind === "keydown") close();
        event.stopPropagation();
      });
    }
    const escape = (event) => {
      if (event.key === "Escape" && event.isTrusted && !event.defaultPrevented) close();
    };
    globalThis.addEventListener("keydown", escape);

    function close() {
      session.end();
      globalThis.removeEventListener("keydown", escape);
      const within = root.activeElement !== null;
      host.remove();
      if (within && before?.isConnected && before !== document.body) before.focus({ preventScroll: true });
      onClosed();
    }

    return {
      close,
      start(claim) {
        asked = claim;
        session.start(claim);
      },
    };
  }

  return true;
})();
