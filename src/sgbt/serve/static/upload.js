// A CSV file to the server and back, with a summary of what was proven.
import { ask } from "/static/api.js";
import { byId, make, percent } from "/static/dom.js";

const NAMES = { certified: "certified", "nothing-to-replace": "with nothing to replace", abstained: "not proven", misclassified: "misclassified" };

export function prepareUpload(cards) {
  const input = byId("csv");
  const drop = input.closest(".drop");
  const result = byId("csv-result");
  byId("csv-model").replaceChildren(...cards.map((card) => make("option", {}, card.name)));
  const named = () => { byId("csv-name").textContent = input.files.length ? input.files[0].name : "Choose a CSV file, or drop it here"; };
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
    result.replaceChildren("Certifying the rows ...");
    try {
      result.replaceChildren(...await certified(input.files[0]));
    } catch (problem) {
      result.replaceChildren(make("p", { class: "status wrong" }, problem.message));
    } finally {
      if (button) button.disabled = false;
    }
  });
}

let address = null;

async function certified(file) {
  const query = new URLSearchParams({ text: byId("column").value, model: byId("csv-model").value });
  if (byId("truth").value) query.set("label", byId("truth").value);
  const response = await ask(`/certify/csv?${query}`, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
  const { rows, ...verdicts } = JSON.parse(response.headers.get("X-Verdicts"));
  if (address) URL.revokeObjectURL(address);
  address = URL.createObjectURL(await response.blob());
  const stack = make("div", { class: "stack", "aria-hidden": "true" });
  const parts = [];
  for (const kind of Object.keys(NAMES)) {
    const share = (verdicts[kind] || 0) / rows;
    const part = make("div", { class: kind });
    part.style.width = `${100 * share}%`;
    stack.append(part);
    if (verdicts[kind]) parts.push(`${verdicts[kind]} ${NAMES[kind]} (${percent(share)})`);
  }
  const name = `${file.name.replace(/\.csv$/i, "")}-certified.csv`;
  const classes = JSON.parse(response.headers.get("X-Classes"));
  return [make("strong", {}, `${rows.toLocaleString("en")} rows: ${parts.join(", ")}`), stack, ...byClass(classes),
    make("a", { href: address, download: name }, `Download ${name}`)];
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
