// A CSV file to the server and back, with a summary of what was proven.
import { ask } from "/static/api.js";
import { byId, make, percent } from "/static/dom.js";

const NAMES = { certified: "certified", abstained: "not proven", misclassified: "misclassified" };

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
  const told = [];
  for (const kind of Object.keys(NAMES)) {
    const share = (verdicts[kind] || 0) / rows;
    const part = make("div", { class: kind });
    part.style.width = `${100 * share}%`;
    stack.append(part);
    if (verdicts[kind]) told.push(`${verdicts[kind]} ${NAMES[kind]} (${percent(share)})`);
  }
  const name = `${file.name.replace(/\.csv$/i, "")}-certified.csv`;
  return [make("strong", {}, `${rows.toLocaleString("en")} rows: ${told.join(", ")}`), stack, make("a", { href: address, download: name }, `Download ${name}`)];
}
