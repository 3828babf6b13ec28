// A panel: what one model says of the text, and an attack on it that can be watched.
import { askJson, lines, post } from "/static/api.js";
import { count, figure, make, percent } from "/static/dom.js";
import { marginPicture, sign, trace } from "/static/pictures.js";
import { tableOf, wordsOf } from "/static/words.js";

const quick = matchMedia("(prefers-reduced-motion: reduce)");
const SPOKEN = { certified: "certified", "nothing-to-replace": "nothing to replace" };
const MOST_LABELS = 10; // classes in a panel; the others are one line
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Panel {
  constructor(card) {
    this.card = card;
    const about = `${card.kind}, objective ${card.objective}, trained on ${card.dataset} for ${card.threat.replace("model", "substitutes") || "no threat"}; reads the first ${card.max_length.toLocaleString("en")} words`;
    const table = `Substitutes: ${card.table} (${card.table_words.toLocaleString("en")} words, ${card.table_hash})`;
    this.body = make("div", { class: "panel" }, make("p", { class: "small" }, "Nothing examined yet."));
    this.element = make("article", { class: "card panel", "aria-label": `Model ${card.name}` },
      make("header", { class: "panel-head" }, make("h2", {}, card.name), make("p", { class: "small" }, about), make("p", { class: "small" }, table)),
      this.body);
  }

  async examine(text, limit, threat, signal) {
    const proof = await askJson("/certify", { text, model: this.card.name, ...limit }, signal);
    this.proof = proof;
    this.limit = limit;
    this.words = wordsOf(proof);
    this.verdict = make("div", { class: "verdict" });
    this.labels = make("ul", { class: "labels", "aria-label": "Probabilities" });
    this.fight = make("section", { "aria-label": "Attack" });
    this.fight.hidden = true;
    this.showProbabilities(proof.probabilities, proof.label);
    this.showVerdict(proof);
    const cut = proof.read < proof.words ? ` Only the first ${proof.read} of ${proof.words} words are read.` : "";
    const text_ = make("div", {}, this.words.group, make("div", { class: "legend" }, "Share of the worst case", make("span", { class: "scale", "aria-hidden": "true" }),
      `by the bound ${proof.shares_by}.${cut}`));
    this.body.replaceChildren(this.verdict, this.labels, text_, this.fight, marginPicture(proof, this.body.clientWidth), this.facts(proof), tableOf(proof));
    const said = `${this.card.name}: ${proof.label}, ${SPOKEN[proof.verdict] || "not proven"}`;
    if (!threat) return said;
    const answer = make("p", { class: "threat" }, `Against ${threat}: proving ...`);
    this.verdict.after(answer);
    const found = await askJson("/certify/threat", { text, model: this.card.name, threat }, signal);
    const stays = found.verdict === "certified" ? "certified" : "not proven";
    answer.replaceChildren(make("strong", {}, `Also against ${threat}: ${stays}.`), ` ${found.edits.toLocaleString("en")} single edits are possible; whatever is done within the threat, the margin is at least ${figure(found.margin)}.`);
    return `${said}; against ${threat} ${stays}`;
  }

  facts(proof) {
    const radius = proof.radius === null ? "unknown" : proof.verdict === "certified" && proof.max_substitutions === null
      ? `all ${proof.replaceable} replaceable words` : `${proof.radius} of ${proof.replaceable} replaceable words`;
    const list = make("dl", { class: "facts" });
    for (const [name, value] of [["Radius", radius], ["Versions of this text", count(proof.log10_combinations)],
      ["Unknown words", `${proof.unknown} of ${proof.read}`],
      ["Best bound", proof.verdict === "nothing-to-replace" ? "none needed" : proof.tier], ["Rounding slack", proof.slack.toExponential(1)]]) list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
    return list;
  }

  showVerdict(proof) {
    if (proof.verdict === "certified") {
      const scope = this.scope(proof);
      this.setVerdict("certified", "Certified", `${scope[0].toUpperCase()}${scope.slice(1)} changes the label ${proof.label}.`);
    } else if (proof.verdict === "nothing-to-replace") {
      this.setVerdict("neutral", "Nothing to replace", this.whyNothing(proof));
    } else {
      const upTo = proof.radius ? ` It is proven for up to ${proof.radius} replaced word${proof.radius === 1 ? "" : "s"}.` : "";
      const why = proof.tier === "exact" && proof.max_substitutions === null
        ? `The bound is exact: some substitutes take the margin of the label ${proof.label} to ${figure(proof.margin)}.`
        : `Whether substitutes can change the label ${proof.label} was not decided.`;
      this.setVerdict("open", "Not proven", why + upTo);
    }
  }

  whyNothing(proof) {
    const why = !proof.read ? "The text has no words" : proof.replaceable ? "No word may be replaced" : "None of its words has a substitute";
    const known = !proof.unknown ? "" : proof.unknown < proof.read ? ` ${proof.unknown} of ${proof.read} words unknown.`
      : ` ${proof.unknown} of ${proof.read} words unknown: the model knows none of them.`;
    return `${why}, so nothing was to be proven about the label ${proof.label}.${known}`;
  }

  scope(proof) {
    const most = this.limit.max_substitutions;
    return most === undefined ? `none of the ${count(proof.log10_combinations)} versions that substitutes can make of this text`
      : `no replacement of up to ${most} word${most === 1 ? "" : "s"}`;
  }

  setVerdict(kind, title, sentence) {
    this.verdict.dataset.is = kind;
    this.verdict.replaceChildren(sign(kind), make("strong", {}, title), make("span", {}, sentence));
  }

  showProbabilities(probabilities, first) {
    const sorted = Object.entries(probabilities).sort((one, other) => other[1] - one[1]);
    const [rows, rest] = sorted.length > MOST_LABELS ? [sorted.slice(0, MOST_LABELS - 1), sorted.slice(MOST_LABELS - 1)] : [sorted, []];
    if (rest.length) rows.push([`${rest.length} others`, rest.reduce((sum, [, value]) => sum + value, 0)]);
    this.labels.replaceChildren(...rows.map(([name, value]) => {
      const fill = make("div", { class: "fill" });
      fill.style.width = `${100 * value}%`;
      return make("li", { "data-first": name === first }, make("span", {}, name), make("div", { class: "track", "aria-hidden": "true" }, fill), make("span", { class: "number" }, percent(value)));
    }));
  }

  async attack(text, signal) {
    const values = [this.proof.probability];
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
        swaps.append(make("li", {}, make("del", {}, line.old), " → ", make("ins", {}, line.new), ` ${percent(line.probability)} ${this.proof.label}`));
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

  conclude(attack, swaps, state) {
    const effort = `${attack.queries.toLocaleString("en")} texts asked about in ${figure(attack.seconds)} s (${attack.method}).`;
    if (attack.outcome === "flipped") {
      for (const [place] of this.proof.pieces.entries()) {
        const made = attack.swaps.find((swap) => swap.place === place);
        if (made) this.words.swap(place, made.new);
        else if (this.proof.pieces[place].substitutes.length) this.words.swap(place, this.proof.pieces[place].text.toLowerCase());
      }
      swaps.replaceChildren(...attack.swaps.map((swap) => make("li", {}, make("del", {}, swap.old), " → ", make("ins", {}, swap.new))));
      this.showProbabilities(attack.probabilities, attack.after);
      const many = attack.swaps.length;
      this.setVerdict("broken", "Broken", `Replacing ${many} of ${this.proof.words} words turns ${attack.label} into ${attack.after}.`);
      state.textContent = `The label flipped. ${effort}`;
      return `${this.card.name}: broken by ${many} swap${many === 1 ? "" : "s"}, ${attack.label} became ${attack.after}`;
    }
    if (attack.outcome === "proven") {
      this.setVerdict("certified", "The proof holds", `The attack gave up, as it must: ${this.scope(attack)} changes the label ${attack.label}.`);
      state.textContent = `No swap helps any more. ${effort}`;
      return `${this.card.name}: the proof holds, the label stays ${attack.label}`;
    }
    if (attack.outcome === "nothing-to-replace") {
      state.textContent = "There is no swap to try.";
      return `${this.card.name}: nothing to replace, the label stays ${attack.label}`;
    }
    state.textContent = `No attack found a way. ${effort}`;
    this.setVerdict("open", "Neither broken nor proven", "All attacks failed, which is no proof: another substitution may still change the label.");
    return `${this.card.name}: no attack succeeded, and nothing is proven`;
  }
}
