/** Elements, briefly. Text is always text: nothing here parses HTML. */

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [properties] `class`, `part`, `aria-*`, `data-*`, `role` and `type` are attributes, `on*` are listeners
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes("-") && name !== "part") Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Icons on a 20 by 20 grid, drawn with the text's colour. */
const PATHS = {
  send: "M10 16V4M4.5 9.5 10 4l5.5 5.5",
  stop: "M6 6h8v8H6z",
  check: "M4.5 10.5 8.5 14.5 15.5 6",
  cross: "M5.5 5.5l9 9M14.5 5.5l-9 9",
  warning: "M10 7v4M10 14h.01M10 3 2.5 16.5h15z",
  chevron: "M7.5 5 12.5 10 7.5 15",
  copy: "M7.5 7.5h8v8h-8zM4.5 12.5v-8h8",
  retry: "M15.5 6.5A6.5 6.5 0 1 0 16.5 10M16 3v4h-4",
  down: "M10 4v12M4.5 10.5 10 16l5.5-5.5",
  thought: "M5 7.5h10M5 12.5h6",
  shield: "M10 3l6 2v4.5c0 3.6-2.5 6.4-6 7.5-3.5-1.1-6-3.9-6-7.5V5z",
  trace: "M3.5 5.5h6M7.5 10h8M5.5 14.5h5",
  link: "M8.5 11.5l3-3M9 6.5l1.8-1.8a3.2 3.2 0 0 1 4.5 4.5L13.5 11M11 13.5l-1.8 1.8a3.2 3.2 0 0 1-4.5-4.5L6.5 9",
  key: "M12.5 3.5a4 4 0 1 1-3.2 6.4L4 15.2V17h2.5v-2H8v-1.5l1.8-1.8",
  info: "M10 9v5M10 6h.01M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15z",
};

/** @param {keyof typeof PATHS} name @returns {SVGSVGElement} */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/**
 * A button that copies a text and says so for a moment.
 * @param {() => string} text @param {string} label
 */
export function copyButton(text, label) {
  const button = el("button", { type: "button", class: "quiet", title: label, "aria-label": label }, icon("copy"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      return; // not allowed here; the text can still be selected
    }
    button.replaceChildren(icon("check"));
    setTimeout(() => button.replaceChildren(icon("copy")), 1500);
  });
  return button;
}

let panels = 0;

/**
 * A button that opens and closes a panel. What is in the panel is made when it is opened first.
 * @param {Parameters<typeof icon>[0]} name @param {string} label @param {HTMLElement} panel @param {(open: boolean) => void} onToggle
 */
export function disclosure(name, label, panel, onToggle) {
  panel.id = `panel-${++panels}`;
  panel.hidden = true;
  const text = el("span", {}, label);
  const button = el("button", { type: "button", class: "quiet labelled", "aria-expanded": "false", "aria-controls": panel.id }, icon(name), text);
  button.addEventListener("click", () => {
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
    onToggle(!panel.hidden);
  });
  return { button, text };
}

/** @param {number} ms */
export function duration(ms) {
  return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** As a download. @param {File} file */
export function saveFile(file) {
  const href = URL.createObjectURL(file);
  el("a", { href, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000); // the browser reads it a moment later
}
