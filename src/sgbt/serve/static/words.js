// The text, word by word: coloured by each word's share of the worst case, its substitutes on hover and on focus.
import { byId, figure, make, percent } from "/static/dom.js";

const tip = byId("tip");

function describe(piece) {
  const many = piece.substitutes.length;
  const choices = `${many} substitute${many === 1 ? "" : "s"}`;
  return piece.worst
    ? `${percent(piece.share)} of the worst case; ${choices}, worst ${piece.worst}`
    : `nothing of the worst case; ${choices}`;
}

function showTip(word, piece, tier) {
  const cost = piece.worst
    ? `${percent(piece.share)} of the worst case: ${piece.worst} would lower the proven margin by ${figure(-piece.drop)} (${tier}).`
    : `No substitute lowers the proven margin (${tier}).`;
  const list = make("ul");
  for (const other of piece.substitutes) {
    list.append(make("li", { class: other === piece.worst ? "worst" : null }, other));
  }
  tip.replaceChildren(make("strong", {}, piece.text), make("div", {}, cost), list);
  tip.hidden = false;
  shownFor = word;
  place();
}

function place() {
  const box = shownFor.getBoundingClientRect();
  const left = Math.min(Math.max(box.left, 16), document.documentElement.clientWidth - tip.offsetWidth - 16);
  const above = box.top > tip.offsetHeight + 16;
  tip.style.left = `${Math.max(left, 8) + scrollX}px`;
  tip.style.top = `${scrollY + (above ? box.top - tip.offsetHeight - 8 : box.bottom + 8)}px`;
}

let shownFor = null;

export function hideTip() {
  tip.hidden = true;
  shownFor = null;
}

addEventListener("scroll", () => { if (shownFor) place(); }, { passive: true, capture: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

// Tab stops once at the text; arrows, Home and End move between the words that can be replaced.
function withArrows(group, words) {
  let current = 0;
  const go = (place) => {
    words[current].tabIndex = -1;
    current = Math.min(Math.max(place, 0), words.length - 1);
    words[current].tabIndex = 0;
    words[current].focus();
  };
  const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  group.addEventListener("keydown", (event) => {
    if (event.key in moves) go(current + moves[event.key]);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(words.length - 1);
    else return;
    event.preventDefault();
  });
  words.forEach((word, place) => {
    word.tabIndex = place ? -1 : 0;
    word.addEventListener("focus", () => {
      words[current].tabIndex = -1;
      current = place;
      word.tabIndex = 0;
    });
  });
}

// The element that shows a text, and a function that marks a swap in it.
export function wordsOf(proof) {
  const group = make("div", { class: "read", role: "group", "aria-label": "The text. Arrow keys move between the words that can be replaced." });
  const most = Math.max(...proof.pieces.map((piece) => piece.share), 0);
  const all = [];
  const replaceable = [];
  for (const piece of proof.pieces) {
    group.append(piece.before);
    if (!piece.substitutes.length) {
      group.append(piece.text);
      all.push(null);
      continue;
    }
    const word = make("button", { type: "button", class: "word", "aria-label": `${piece.text}: ${describe(piece)}`, "aria-describedby": "tip" }, piece.text);
    word.style.setProperty("--heat", most ? Math.sqrt(Math.max(piece.share, 0) / most).toFixed(3) : "0");
    for (const enter of ["mouseenter", "focus"]) word.addEventListener(enter, () => showTip(word, piece, proof.shares_by));
    for (const leave of ["mouseleave", "blur"]) word.addEventListener(leave, hideTip);
    group.append(word);
    all.push(word);
    replaceable.push(word);
  }
  if (proof.rest) group.append(make("span", { class: proof.read < proof.words ? "unread" : null, title: proof.read < proof.words ? "not read by this model" : null }, proof.rest));
  if (replaceable.length) withArrows(group, replaceable);
  const swap = (place, fresh) => {
    const word = all[place];
    const piece = proof.pieces[place];
    if (!word) return;
    word.classList.remove("swapped");
    if (fresh === piece.text.toLowerCase()) {
      word.replaceChildren(piece.text);
      word.setAttribute("aria-label", `${piece.text}: ${describe(piece)}`);
      return;
    }
    word.replaceChildren(make("del", {}, piece.text), make("ins", {}, fresh));
    void word.offsetWidth; // so that the flash starts anew
    word.classList.add("swapped");
    word.setAttribute("aria-label", `${piece.text} replaced by ${fresh}`);
  };
  return { group, swap };
}

// The same as a table, for whoever prefers one.
export function tableOf(proof) {
  const body = make("tbody");
  const costly = proof.pieces.map((piece, place) => ({ ...piece, place })).filter((piece) => piece.substitutes.length);
  for (const piece of costly.sort((one, other) => one.drop - other.drop || one.place - other.place)) {
    body.append(make("tr", {}, make("td", {}, piece.text), make("td", { class: "number" }, percent(piece.share)),
      make("td", { class: "number" }, figure(piece.drop)), make("td", {}, piece.worst || "none"), make("td", {}, piece.substitutes.join(", "))));
  }
  const head = make("tr", {}, make("th", { scope: "col" }, "Word"), make("th", { scope: "col", class: "number" }, "Share"),
    make("th", { scope: "col", class: "number" }, "Margin"), make("th", { scope: "col" }, "Worst"), make("th", { scope: "col" }, "Substitutes"));
  const table = make("table", {}, make("caption", { class: "unseen" }, "Words that can be replaced, weakest first"), make("thead", {}, head), body);
  return make("details", {}, make("summary", {}, `The ${costly.length} replaceable words as a table`), make("div", { class: "scroll", tabindex: "0" }, table));
}
