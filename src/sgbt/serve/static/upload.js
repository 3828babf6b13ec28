// A CSV file to the server and back, with a summary of what was proven.
import { ask, lines } from "/static/api.js";
import { byId, make, percent } from "/static/dom.js";

const NAMES = { certified: "certified", "nothing-to-replace": "with nothing to replace", abstained: "not proven", misclassified: "misclassified" };

export function prepareUpload(cards) {
  const input = byId("csv");
  const drop = input.closest(".drop");
  const result = byId("csv-result");
  byId("csv-model").replaceChildren(...cards.map((card) => make("option", {}, card.name)));
  const named = async () => {
    byId("csv-name").textContent = input.files.length ? input.files[0].name : "Choose a CSV file, or drop it here";
    if (input.files.length) fillColumns(await columnsOf(input.files[0]));
  };
  input.addEventListener("change", named);
  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) {
        input.files = event.dataTransfer.files;
        named();
      }
    });
  }
  byId("upload").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter;
    if (!input.files.length) {
      result.replaceChildren("Choose a file first.");
      return;
    }
    if (button) button.disabled = true;
    const bar = make("progress", { "aria-label": "Rows certified" });
    const state = make("p", { class: "small" }, "Certifying the rows ...");
    result.replaceChildren(bar, state);
    const tell = ({ done, of }) => {
      bar.max = of;
      bar.value = done;
      state.textContent = `${done.toLocaleString("en")} of ${of.toLocaleString("en")} rows`;
    };
    try {
      result.replaceChildren(...await certified(input.files[0], tell));
    } catch (problem) {
      result.replaceChildren(make("p", { class: "status wrong" }, problem.message));
    } finally {
      if (button) button.disabled = false;
    }
  });
}

// The names of the columns: those of the first line, by the separator that divides it most.
async function columnsOf(file) {
  const [head] = (await file.slice(0, 1 << 16).text()).replace(/^\ufeff/, "").split(/\r?\n/);
  const found = [",", ";", "\t", "|"].map((mark) => head.split(mark)).sort((one, other) => other.length - one.length)[0];
  return found.map((name) => name.trim().replace(/^"(.*)"$/, "$1").replaceAll('""', '"')).filter(Boolean);
}

// Offer the columns, and take the one that is meant if that can be seen: the one named text, or the only one.
function fillColumns(names) {
  byId("columns").replaceChildren(...names.map((name) => make("option", { value: name })));
  const column = byId("column");
  if (names.includes(column.value)) return;
  const likely = ["text", "review", "sentence", "content", "body", "comment", "message", "tweet"];
  const found = names.length === 1 ? names[0] : names.find((name) => likely.includes(name.toLowerCase()));
  if (found) column.value = found;
}

let addresses = [];

// A link by which a person saves what was made here.
function saved(content, kind, name) {
  addresses.push(URL.createObjectURL(new Blob([content], { type: kind })));
  return make("a", { href: addresses.at(-1), download: name }, `Download ${name}`);
}

async function certified(file, tell) {
  const query = new URLSearchParams({ text: byId("column").value, model: byId("csv-model").value });
  if (byId("truth").value) query.set("label", byId("truth").value);
  const response = await ask(`/certify/csv/live?${query}`, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
  let last = null;
  for await (const line of lines(response)) {
    if (line.kind === "rows") tell(line);
    else last = line;
  }
  if (last === null || last.kind === "refused") throw new Error(last ? last.detail : "The server ended without an answer.");
  const { rows, verdicts, classes } = last;
  for (const old of addresses) URL.revokeObjectURL(old);
  addresses = [];
  const stack = make("div", { class: "stack", "aria-hidden": "true" });
  const parts = [];
  for (const kind of Object.keys(NAMES)) {
    const share = (verdicts[kind] || 0) / rows;
    const part = make("div", { class: kind });
    part.style.width = `${100 * share}%`;
    stack.append(part);
    if (verdicts[kind]) parts.push(`${verdicts[kind]} ${NAMES[kind]} (${percent(share)})`);
  }
  const base = file.name.replace(/\.csv$/i, "");
  const links = make("p", { class: "downloads" }, saved(last.csv, "text/csv", `${base}-certified.csv`),
    saved(last.certificates, "application/x-ndjson", `${base}-certificates.jsonl`),
    saved(last.texts, "application/x-ndjson", `${base}-texts.jsonl`));
  const again = `sgbt verify ${base}-certificates.jsonl --model RUN --texts ${base}-texts.jsonl`;
  return [make("strong", {}, `${rows.toLocaleString("en")} rows: ${parts.join(", ")}`), stack, ...byClass(classes), links,
    make("p", { class: "small" }, "Anyone with the model proves the certificates again: ", make("code", {}, again))];
}

// What the model does with each class, and a warning if it has one answer for everything.
function byClass({ labelled, warning, classes }) {
  const columns = labelled
    ? { Texts: (one) => one.texts, Right: (one) => one.right, Answers: (one) => one.answered, Certified: (one) => one.certified }
    : { Answers: (one) => one.answered, Certified: (one) => one.certified };
  const head = make("tr", {}, make("th", { scope: "col" }, "Class"), ...Object.keys(columns).map((name) => make("th", { scope: "col", class: "number" }, name)));
  const rows = classes.map((one) => make("tr", {}, make("td", {}, one.label),
    ...Object.values(columns).map((cell) => make("td", { class: "number" }, cell(one).toLocaleString("en")))));
  const table = make("table", {}, make("caption", { class: "unseen" }, "Rows by class"), make("thead", {}, head), make("tbody", {}, ...rows));
  const said = warning ? [make("p", { class: "warned" }, `Warning: ${warning}.`)] : [];
  return [...said, make("div", { class: "scroll", tabindex: "0" }, table)];
}
