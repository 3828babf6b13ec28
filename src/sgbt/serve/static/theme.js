// Colours: as the system has them, light, or dark; the choice is remembered.
import { byId } from "/static/dom.js";

const STATES = [["", "◐", "as the system has them"], ["light", "☀", "light"], ["dark", "☾", "dark"]];
const button = byId("theme");
let place = Math.max(STATES.findIndex(([name]) => name === (localStorage.getItem("theme") || "")), 0);

function show() {
  const [name, mark, label] = STATES[place];
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  button.textContent = mark;
  button.setAttribute("aria-label", `Colours: ${label}`);
  localStorage.setItem("theme", name);
}

button.addEventListener("click", () => {
  place = (place + 1) % STATES.length;
  show();
});
show();
