/* The demo page's own script: light or dark, the address of the page to read, and words where agrun.js is missing. */

const root = document.documentElement;
const chat = document.querySelector("agrun-chat");

document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  chat.setAttribute("theme", root.dataset.theme);
});

const reading = document.querySelector("[data-page]"); // a page of this very site, wherever it is served
reading.dataset.prompt = `What does the page ${new URL(reading.dataset.page, document.baseURI)} say?`;

if (!window.Agrun) {
  const missing = document.getElementById("missing");
  missing.textContent = "agrun.js could not be loaded. Build the page (python build.py web) and serve the whole folder web/dist from one place, then reload.";
  missing.hidden = false;
}
