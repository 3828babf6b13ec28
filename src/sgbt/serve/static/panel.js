// A panel: what one model says of the text, and an attack on it that can be watched.
import { askJson, lines, post } from "/static/api.js";
import { count, figure, make, percent } from "/static/dom.js";
import { marginPicture, sign, trace } from "/static/pictures.js";
import { tableOf, wordsOf } from "/static/words.js";

const quick = matchMedia("(prefers-reduced-motion: reduce)");
const SPOKEN = { certified: "certified", "nothing-to-replace": "nothing to replace" };
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Panel {
  constructor(card) {
    this.card = card;
    const about = `${card.kind}, objective ${card.objective}, trained on ${card.dataset}; reads the first ${card.max_length.toLocaleString("en")} words`;
    const table = `Substitutes: ${card.table} (${card.table_words.toLocaleString("en")} words, ${card.table_hash})`;
    this.body = make("div", { class: "panel" }, make("p", { class: "small" }, "Nothing examined yet."));
    this.element = make("article", { class: "card panel", "aria-label": `Model ${card.name}` },
      make("header", { class: "panel-head" }, make("h2", {}, card.name), make("p", { class: "small" }, about), make("p", { class: "small" }, table)),
      this.body);
  }

  async examine(text, limit, signal) {
    const told = await askJson("/certify", { text, model: this.card.name, ...limit }, signal);
    this.told = told;
    this.limit = limit;
    this.words = wordsOf(told);
    this.verdict = make("div", { class: "verdict" });
    this.labels = make("ul", { class: "labels", "aria-label": "Probabilities" });
    this.fight = make("section", { "aria-label": "Attack" });
    this.fight.hidden = true;
    this.showProbabilities(told.probabilities, told.label);
    this.showVerdict(told);
    const cut = told.read < told.words ? ` Only the first ${told.read} of ${told.words} words are read.` : "";
    const text_ = make("div", {}, this.words.group, make("div", { class: "legend" }, "Share of the worst case", make("span", { class: "scale", "aria-hidden": "true" }),
      `by the bound ${told.shares_by}.${cut}`));
    this.body.replaceChildren(this.verdict, this.labels, text_, this.fight, marginPicture(told, this.body.clientWidth), this.facts(told), tableOf(told));
    return `${this.card.name}: ${told.label}, ${SPOKEN[told.verdict] || "not proven"}`;
  }

  facts(told) {
    const radius = told.radius === null ? "unknown" : told.verdict === "certified" && told.max_substitutions === null
      ? `all ${told.replaceable} replaceable words` : `${told.radius} of ${told.replaceable} replaceable words`;
    const list = make("dl", { class: "facts" });
    for (const [name, value] of [["Radius", radius], ["Versions of this text", count(told.log10_combinations)],
      ["Unknown words", `${told.unknown} of ${told.read}`],
      ["Best bound", told.verdict === "nothing-to-replace" ? "none needed" : told.tier], ["Rounding slack", told.slack.toExponential(1)]]) list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
    return list;
  }

  showVerdict(told) {
    if (told.verdict === "certified") {
      const scope = this.scope(told);
      this.setVerdict("certified", "Certified", `${scope[0].toUpperCase()}${scope.slice(1)} changes the label ${told.label}.`);
    } else if (told.verdict === "nothing-to-replace") {
      this.setVerdict("neutral", "Nothing to replace", this.whyNothing(told));
    } else {
      const upTo = told.radius ? ` It is proven for up to ${told.radius} replaced word${told.radius === 1 ? "" : "s"}.` : "";
      this.setVerdict("open", "Not proven", `Whether substitutes can change the label ${told.label} was not decided.${upTo}`);
    }
  }

  whyNothing(told) {
    const why = !told.read ? "The text has no words" : told.replaceable ? "No word may be replaced" : "None of its words has a substitute";
    const known = !told.unknown ? "" : told.unknown < told.read ? ` ${told.unknown} of ${told.read} words unknown.`
      : ` ${told.unknown} of ${told.read} words unknown: the model knows none of them.`;
    return `${why}, so nothing was to be proven about the label ${told.label}.${known}`;
  }

  scope(told) {
    const most = this.limit.max_substitutions;
    return most === undefined ? `none of the ${count(told.log10_combinations)} versions that substitutes can make of this text`
      : `no replacement of up to ${most} word${most === 1 ? "" : "s"}`;
  }

  setVerdict(kind, title, sentence) {
    this.verdict.dataset.is = kind;
    this.verdict.replaceChildren(sign(kind), make("strong", {}, title), make("span", {}, sentence));
  }

  showProbabilities(probabilities, first) {
    const rows = Object.entries(probabilities).sort((one, other) => other[1] - one[1]).slice(0, 6);
    this.labels.replaceChildren(...rows.map(([name, value]) => {
      const fill = make("div", { class: "fill" });
      fill.style.width = `${100 * value}%`;
      return make("li", { "data-first": name === first }, make("span", {}, name), make("div", { class: "track", "aria-hidden": "true" }, fill), make("span", { class: "number" }, percent(value)));
    }));
  }

  async attack(text, signal) {
    const values = [this.told.probability];
    const picture = make("div", {});
    const swaps = make("ol", { class: "swaps" });
    const state = make("p", { class: "small" }, "Looking for the swap that hurts most ...");
    this.fight.hidden = false;
    this.fight.replaceChildren(make("h3", {}, "Attack"), picture, state, swaps);
    let last = null;
    for await (const line of lines(await post("/attack/live", { text, model: this.card.name, ...this.limit }, signal))) {
      if (line.kind === "swap") {
        values.push(line.probability);
        picture.replaceChildren(trace(values, this.body.clientWidth));
        this.words.swap(line.place, line.new);
        swaps.append(make("li", {}, make("del", {}, line.old), " → ", make("ins", {}, line.new), ` ${percent(line.probability)} ${this.told.label}`));
        swaps.scrollTop = swaps.scrollHeight;
        state.textContent = `${line.number} swap${line.number === 1 ? "" : "s"}, ${line.queries.toLocaleString("en")} texts asked about.`;
        if (!quick.matches) await pause(values.length > 12 ? 60 : 260);
      } else if (line.kind === "harder") {
        state.textContent = "Swap by swap does not break it; trying all attacks ...";
      } else last = line;
    }
    if (last === null || last.kind === "refused") throw new Error(last ? last.detail : "The attack ended without an answer.");
    return this.conclude(last, swaps, state);
  }

  conclude(told, swaps, state) {
    const effort = `${told.queries.toLocaleString("en")} texts asked about in ${figure(told.seconds)} s (${told.method}).`;
    if (told.outcome === "flipped") {
      for (const [place] of this.told.pieces.entries()) {
        const made = told.swaps.find((swap) => swap.place === place);
        if (made) this.words.swap(place, made.new);
        else if (this.told.pieces[place].substitutes.length) this.words.swap(place, this.told.pieces[place].text.toLowerCase());
      }
      swaps.replaceChildren(...told.swaps.map((swap) => make("li", {}, make("del", {}, swap.old), " → ", make("ins", {}, swap.new))));
      this.showProbabilities(told.probabilities, told.after);
      const many = told.swaps.length;
      this.setVerdict("broken", "Broken", `Replacing ${many} of ${this.told.words} words turns ${told.label} into ${told.after}.`);
      state.textContent = `The label flipped. ${effort}`;
      return `${this.card.name}: broken by ${many} swap${many === 1 ? "" : "s"}, ${told.label} became ${told.after}`;
    }
    if (told.outcome === "proven") {
      this.setVerdict("certified", "The proof holds", `The attack gave up, as it must: ${this.scope(told)} changes the label ${told.label}.`);
      state.textContent = `No swap helps any more. ${effort}`;
      return `${this.card.name}: the proof holds, the label stays ${told.label}`;
    }
    if (told.outcome === "nothing-to-replace") {
      state.textContent = "There is no swap to try.";
      return `${this.card.name}: nothing to replace, the label stays ${told.label}`;
    }
    state.textContent = `No attack found a way. ${effort}`;
    this.setVerdict("open", "Neither broken nor proven", "All attacks failed, which is no proof: another substitution may still change the label.");
    return `${this.card.name}: no attack succeeded, and nothing is proven`;
  }
}
