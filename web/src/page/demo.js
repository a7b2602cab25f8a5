/* The demo page's own script: light or dark, the address of the page to read, and words where agrun.js is missing. */

const root = document.documentElement;
const chat = document.querySelector("agrun-chat");

document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  chat.setAttribute("theme", root.dataset.theme);
});

// The runtime reads public pages only: this site's own where it has a public name, else one that allows every origin.
const isPublic = location.hostname.includes(".") && !/^[\d.]+$/.test(location.hostname);
const [address, words] = isPublic
  ? [new URL("about.html", document.baseURI).href, "What does the page “How it works” say? You approve first."]
  : ["https://en.wikipedia.org/api/rest_v1/page/html/Mile", "What does Wikipedia say of the mile? Needs the network, and you approve first."];
const reading = document.querySelector("[data-reads]");
reading.dataset.prompt = `What does the page ${address} say?`;
reading.querySelector("span").textContent = words;

if (!window.Agrun) {
  const missing = document.getElementById("missing");
  missing.textContent = "agrun.js could not be loaded. Build the page (python build.py web) and serve the whole folder web/dist from one place, then reload.";
  missing.hidden = false;
}
