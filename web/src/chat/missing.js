/** What `<agrun-chat>` says when its view cannot be loaded: why, and what to do. Part of agrun.js, so it is small. */

const FROM_A_FILE = {
  message: "This page was opened as a file, and a browser starts no Python from files.",
  hint: "Serve its folder and open the address instead, for example: python -m http.server 8000, then http://localhost:8000/",
};

/** @param {ShadowRoot} root @param {string} file the one that did not come @param {unknown} error */
export function showMissing(root, file, error) {
  const { message, hint } =
    location.protocol === "file:"
      ? FROM_A_FILE
      : {
          message: `${new URL(file).pathname} could not be loaded.`,
          hint: `Serve the whole folder of agrun.js from one place, allow it in the page's Content-Security-Policy (script-src), then reload. (${error instanceof Error ? error.message : error})`,
        };
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`:host { display: block; color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
    :host([theme="light"]) { color-scheme: light; } :host([theme="dark"]) { color-scheme: dark; }
    div { box-sizing: border-box; width: min(40rem, 100% - 2rem); margin: 2rem auto; padding: 1rem 1.25rem; overflow-wrap: anywhere; color: light-dark(#1b1d1f, #e6e7e5);
      background: light-dark(#fdf3f2, #2a1716); border: 1px solid light-dark(#e3aaa5, #6b3531); border-radius: 14px; }
    p { margin: 0; } strong { color: light-dark(#b3261e, #f2a19b); } p + p { margin-top: 0.4rem; }`);
  root.adoptedStyleSheets = [sheet];
  const box = document.createElement("div");
  box.setAttribute("role", "alert");
  const [what, then] = [document.createElement("p"), document.createElement("p")];
  what.append(Object.assign(document.createElement("strong"), { textContent: message }));
  then.textContent = hint;
  box.append(what, then);
  root.replaceChildren(box);
}
