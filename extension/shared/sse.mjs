// Server-sent events, as the HTML standard defines the stream, from pieces of text that may break anywhere.

// Twice what the largest answer seen takes. A stream that goes on without an end must not fill the memory.
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** Takes the pieces of a stream and gives the events that are whole. */
export class EventStream {
  #rest = "";
  #name = "";
  #data = [];
  #size = 0;
  #begun = false;

  /** The events that this piece completes: `{name, data}`. Throws a RangeError where one event is too large. */
  push(piece) {
    let text = this.#rest + piece;
    if (!this.#begun && text) {
      this.#begun = true;
      text = text.replace(/^\ufeff/, "");
    }
    const events = [];
    let from = 0;
    for (;;) {
      const line = nextLine(text, from);
      if (!line) break;
      from = line.next;
      const event = this.#take(line.text);
      if (event) events.push(event);
    }
    this.#rest = text.slice(from);
    if (this.#rest.length + this.#size > MOST_CHARACTERS) throw new RangeError("an event is too large");
    return events;
  }

  #take(line) {
    if (line === "") return this.#dispatch();
    // A comment is the server's sign that it is still there.
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    if (field === "data") {
      this.#data.push(value);
      this.#size += value.length;
    }
    return null;
  }

  #dispatch() {
    const event = this.#data.length ? { name: this.#name || "message", data: this.#data.join("\n") } : null;
    this.#name = "";
    this.#data = [];
    this.#size = 0;
    return event;
  }
}

/** The line that begins at `from`, ended by CR, LF or both; `null` while its end has not come. */
function nextLine(text, from) {
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === "\n") return { text: text.slice(from, at), next: at + 1 };
    if (character !== "\r") continue;
    // The LF that belongs to this CR may be in the next piece.
    if (at + 1 === text.length) return null;
    return { text: text.slice(from, at), next: text[at + 1] === "\n" ? at + 2 : at + 1 };
  }
  return null;
}
