// The address of the server, as a person types it.

/**
 * Reads an address. Gives `{base, origin, encrypted}`, where `base` has no slash at its end and `encrypted` says whether
 * nobody on the way can listen (https, or this machine), or `{error}` with the name of a message.
 */
export function readAddress(typed) {
  const text = typed.trim();
  // Chromium takes a space for a part of the host.
  if (/\s/.test(text)) return { error: "address_unreadable" };
  let url;
  try {
    url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : withScheme(text));
  } catch {
    return { error: "address_unreadable" };
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return { error: "address_scheme" };
  if (url.username || url.password) return { error: "address_credentials" };
  if (url.search || url.hash || /[?#]/.test(text)) return { error: "address_extra" };
  return {
    base: url.origin + url.pathname.replace(/\/+$/, ""),
    origin: url.origin,
    encrypted: url.protocol === "https:" || isLoopback(url.hostname),
  };
}

/** Whether a host name means this machine, whatever a name server says. */
export function isLoopback(host) {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

const PRIVATE_IPV4 = /^(10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$/;
const PUBLIC_IPV6 = /^\[[23][\da-f]{3}:/;
const LOCAL_NAME = /^[^.]+$|\.(local|lan|home|internal|home\.arpa)$/;

/** The network of a host name: "loopback" for this machine, "local" for the local network, `null` for the internet. */
export function networkOf(host) {
  if (isLoopback(host)) return "loopback";
  const isLocal = host.startsWith("[") ? !PUBLIC_IPV6.test(host) : PRIVATE_IPV4.test(host) || LOCAL_NAME.test(host);
  return isLocal ? "local" : null;
}

// "localhost:8080" alone would be read as the scheme "localhost".
function withScheme(text) {
  const host = text.split(/[/?#]/, 1)[0].replace(/:\d*$/, "").toLowerCase();
  return `${isLoopback(host) ? "http" : "https"}://${text}`;
}

/**
 * The host permission for exactly this origin. Chromium knows ports in patterns, Firefox does not and would refuse the
 * pattern: there it is for the host, on all its ports.
 */
export function permissionFor(origin, knowsPorts) {
  const url = new URL(origin);
  return `${url.protocol}//${knowsPorts ? url.host : url.hostname}/*`;
}

/** A domain as the list of silent sites holds it: lower case, in ASCII letters, no port; `null` where it is none. */
export function readDomain(typed) {
  const text = typed.trim().replace(/^[a-z]+:\/\//i, "").replace(/^\*\./, "").split(/[/?#]/, 1)[0];
  if (!text || /[\s@*]/.test(text)) return null;
  try {
    const host = new URL(`http://${text}`).hostname.replace(/\.$/, "");
    return host === "" ? null : host;
  } catch {
    return null;
  }
}

/** Whether the host is one of these domains or below one. */
export function isAmong(host, domains) {
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}
