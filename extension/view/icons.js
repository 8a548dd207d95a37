// The signs beside verdicts: each verdict is told by its word, its sign and its colour, so that none of them is needed alone.

globalThis.corroborateView ??= {};

(() => {
  const view = globalThis.corroborateView;
  if (view.icon) return;

  const SVG = "http://www.w3.org/2000/svg";
  // On a grid of 24, drawn with a line.
  const PATHS = {
    supported: ["M5 12.5l4.5 4.5L19 7.5"],
    refuted: ["M6.5 6.5l11 11", "M17.5 6.5l-11 11"],
    contested: ["M4 9h15", "M15.5 5.5L19 9l-3.5 3.5", "M20 15H5", "M8.5 11.5L5 15l3.5 3.5"],
    misleading: ["M12 4.5L21 19.5H3z", "M12 10v4.5", "M12 17v.2"],
    outdated: ["M12 3.5a8.5 8.5 0 1 0 8.5 8.5", "M12 7.5V12l3.5 2.5", "M20.5 4v4h-4"],
    not_enough_evidence: ["M9 9a3 3 0 1 1 4.3 2.7c-.9.5-1.3 1.1-1.3 2.3", "M12 17.5v.2"],
    not_verifiable: ["M6 12h12"],
    gap: ["M12 3.5v9.5", "M12 17.5v.3"],
    close: ["M6 6l12 12", "M18 6L6 18"],
    mark: ["M4 6.5h16", "M4 12h9", "M4 17.5h6", "M14 16.5l2.5 2.5L21 13"],
  };

  /** One of the signs, for the eye alone: what it means stands beside it in words. */
  view.icon = (name) => {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("focusable", "false");
    for (const data of PATHS[name] ?? []) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", data);
      svg.append(path);
    }
    return svg;
  };
})();
