/* The demo page's own script: light or dark. */

const root = document.documentElement;
const chat = document.querySelector("agrun-chat");

document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  chat.setAttribute("theme", root.dataset.theme);
});
