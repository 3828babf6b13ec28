// The page: one text, one panel for each model, and what happens when a button is pressed.
import "/static/theme.js";
import { ask } from "/static/api.js";
import { byId, make } from "/static/dom.js";
import { Panel } from "/static/panel.js";
import { prepareUpload } from "/static/upload.js";
import { hideTip } from "/static/words.js";

const text = byId("text");
const status = byId("status");
let panels = [];
let running = null;
let examined = null; // the question whose answers can be attacked
let shown = null; // the question whose answers are on the page

function say(words, wrong = false) {
  status.textContent = words;
  status.classList.toggle("wrong", wrong);
}

function budget() {
  const given = byId("budget").value.trim();
  return given === "" ? {} : { max_substitutions: Number.parseInt(given, 10) };
}

// What else is asked to be proven: substitutions and the edits whose switches are on; nothing where none is.
function threat() {
  const edits = [...document.querySelectorAll("#threats input:checked")].map((one) => one.value);
  return edits.length ? ["model", ...edits].join(" + ") : "";
}

// Run something on all panels at once; a second press of a button ends the first.
async function together(title, action) {
  if (!text.value.trim()) {
    say("Write or paste a text first.", true);
    text.focus();
    return false;
  }
  if (running) running.abort();
  const own = new AbortController();
  running = own;
  hideTip();
  say(`${title} ...`);
  try {
    const sentences = await Promise.all(panels.map((panel) => action(panel, own.signal)));
    if (running !== own) return false;
    say(`${sentences.join(". ")}.`);
    return true;
  } catch (problem) {
    if (problem.name === "AbortError" || running !== own) return false;
    own.abort();
    say(problem.message, true);
    return false;
  } finally {
    if (running === own) running = null;
  }
}

const question = () => JSON.stringify([text.value, budget(), threat()]);

async function examine() {
  const asked = question();
  const done = await together("Examining", (panel, signal) => panel.examine(text.value, budget(), threat(), signal));
  if (done) {
    examined = shown = asked;
    compare();
    if (status.getBoundingClientRect().bottom > innerHeight * 0.7) status.scrollIntoView({ block: "start" });
  }
  return done;
}

// The button that starts an attack ends it while it runs.
async function attack() {
  const button = byId("attack");
  if (button.textContent === "Stop") {
    if (running) running.abort();
    say("The attack was stopped.");
    return;
  }
  if (examined !== question() && !(await examine())) return;
  const asked = examined;
  button.textContent = "Stop";
  await together("Attacking", (panel, signal) => panel.attack(text.value, signal));
  button.textContent = "Attack";
  examined = null; // what is shown now is the attacked text; the next attack starts from a fresh examination
  shown = asked;
}

// Answers about another text than the one that stands there are marked as such.
function compare() {
  byId("length").textContent = `${text.value.length.toLocaleString("en")} characters.`;
  const stale = shown !== null && shown !== question();
  byId("panels").classList.toggle("stale", stale);
  if (stale) say("The text has changed since; examine it again.");
}

byId("compose").addEventListener("submit", (event) => {
  event.preventDefault();
  examine();
});
byId("attack").addEventListener("click", attack);
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) examine();
});
for (const field of [text, byId("budget"), byId("threats")]) field.addEventListener("input", compare);
for (const chip of document.querySelectorAll(".chip")) {
  chip.addEventListener("click", () => {
    text.value = chip.dataset.text;
    examine();
  });
}

// A switch for every threat beyond substitutes that a model here was trained for.
function offerTrained(cards) {
  for (const threat of new Set(cards.map((card) => card.threat.split(" + ").filter((edit) => edit !== "model").join(" + ")))) {
    if (!threat) continue;
    const box = make("input", { type: "checkbox", role: "switch", value: threat });
    byId("threats").append(make("label", { class: "switch" }, box, ` ${threat}, which training was for`));
  }
}

async function start() {
  try {
    const cards = await (await ask("/models")).json();
    panels = cards.map((card) => new Panel(card));
    byId("panels").replaceChildren(...panels.map((panel) => panel.element));
    byId("examples").hidden = !cards.every((card) => card.labels.includes("positive") && card.labels.includes("negative"));
    prepareUpload(cards);
    offerTrained(cards);
    if (new Set(cards.map((card) => card.table_hash)).size > 1) {
      byId("panels").before(make("p", { class: "small" }, "The models were trained for different tables of substitutes: each is judged by its own."));
    }
    text.focus({ preventScroll: true });
  } catch (problem) {
    say(problem.message, true);
  }
}

start();
