// What a page can do beyond its forms: show a check while it runs, and copy an answer. Without it every form works.
"use strict";

/** Reads a stream of server-sent events; calls `on(event, data)` for each. Resolves when the stream ends. */
async function events(response, on) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += (value || "").replace(/\r\n?/g, "\n");
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      let event = "message";
      const data = [];
      for (const line of rest.slice(0, end).split("\n")) {
        if (line.startsWith("event:")) event = line.slice(6).trim();
        if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
      rest = rest.slice(end + 2);
      if (data.length) on(event, data.join("\n"));
    }
    if (done) return;
  }
}

/** The lines of a running check. */
class Progress {
  constructor(box) {
    this.box = box;
    this.words = {};
    for (const stage of box.querySelector("template").content.querySelectorAll("[data-stage]")) {
      this.words[stage.dataset.stage] = stage.textContent;
    }
  }

  start(cancel) {
    const stop = document.createElement("button");
    stop.type = "button";
    stop.className = "small";
    stop.textContent = this.box.dataset.cancel;
    stop.addEventListener("click", cancel);
    this.list = document.createElement("ol");
    this.clear();
    this.box.append(this.list, stop);
    this.box.hidden = false;
  }

  clear() {
    for (const node of [...this.box.children]) if (node.localName !== "template") node.remove();
  }

  line(text, name) {
    for (const now of this.list.querySelectorAll(".now")) now.classList.remove("now");
    const item = document.createElement("li");
    item.className = name;
    item.textContent = text;
    this.list.append(item);
  }

  stage(name) {
    if (this.words[name]) this.line(this.words[name], "now");
  }

  missing(text) {
    this.line(`${this.box.dataset.missing}: ${text}`, "missing");
  }

  say(text) {
    this.clear();
    const line = document.createElement("p");
    line.className = "problem";
    line.setAttribute("role", "alert");
    line.textContent = text;
    this.box.append(line);
    this.box.hidden = false;
  }
}

const SLOW_AFTER = 20_000;

/** Runs a check and shows it; the form itself would do the same without showing how. */
async function check(form, progress, answer) {
  const abort = new AbortController();
  progress.start(() => abort.abort());
  answer.replaceChildren();
  const slow = setTimeout(() => progress.line(progress.box.dataset.slow, "missing"), SLOW_AFTER);
  let ended = false;
  try {
    const response = await fetch("/check/stream", { method: "POST", body: new URLSearchParams(new FormData(form)), signal: abort.signal });
    if (!(response.headers.get("content-type") || "").startsWith("text/event-stream")) {
      const problem = await response.json().catch(() => ({}));
      if (response.status === 401) return location.assign("/sign-in");
      ended = true;
      return progress.say(problem.detail || progress.box.dataset.away);
    }
    await events(response, (event, data) => {
      if (event === "stage") progress.stage(JSON.parse(data).stage);
      if (event === "degraded") progress.missing(JSON.parse(data).words);
      if (event === "problem") {
        ended = true;
        progress.say(JSON.parse(data).detail);
      }
      if (event === "card") {
        ended = true;
        progress.box.hidden = true;
        const page = new DOMParser().parseFromString(JSON.parse(data).html, "text/html");
        answer.replaceChildren(...page.body.childNodes);
        copying(answer);
        const heading = answer.querySelector("h2");
        if (heading) {
          heading.tabIndex = -1;
          heading.focus();
        }
      }
    });
    if (!ended) progress.say(progress.box.dataset.broke);
  } catch (error) {
    if (error.name === "AbortError") progress.say(progress.box.dataset.cancelled);
    else progress.say(progress.list.children.length ? progress.box.dataset.broke : progress.box.dataset.away);
  } finally {
    clearTimeout(slow);
  }
}

/** Shows the copy buttons, which need a script. */
function copying(root) {
  for (const button of root.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = root.querySelector(`[data-text="${button.dataset.copy}"]`);
      const said = root.querySelector("[data-copied]");
      await navigator.clipboard.writeText(text.value);
      said.textContent = said.dataset.copied;
    });
  }
}

const form = document.getElementById("check");
if (form) {
  const progress = new Progress(document.getElementById("progress"));
  const answer = document.getElementById("answer");
  let running = false;
  const go = async (of) => {
    if (running) return;
    running = true;
    await check(of, progress, answer).finally(() => (running = false));
  };
  for (const one of [form, ...document.querySelectorAll("form.example")]) {
    one.addEventListener("submit", (event) => {
      event.preventDefault();
      if (one !== form) form.claim.value = one.claim.value;
      go(one);
    });
  }
  form.claim.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}
for (const select of document.querySelectorAll(".speak select")) {
  select.addEventListener("change", () => select.form.submit());
  const button = select.form.querySelector("button");
  if (button) button.hidden = true;
}
copying(document);
