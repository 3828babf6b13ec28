// Asking the server. A token, where the server wants one, comes from the address (#token=...) or from a dialog, and is
// kept for this tab only.
import { byId, make } from "/static/dom.js";

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}

function tokenDialog() {
  const dialog = make("dialog", { id: "ask-token", "aria-labelledby": "token-title" },
    make("form", { method: "dialog" },
      make("h2", { id: "token-title" }, "This server asks for a token"),
      make("p", {}, "Whoever started it with ", make("code", {}, "--token"), " can tell you."),
      make("label", { for: "token" }, "Token ",
        make("input", { id: "token", type: "password", autocomplete: "off", required: true })),
      make("button", { type: "submit", class: "primary" }, "Continue")));
  document.body.append(dialog);
  return dialog;
}

function askForToken() {
  const dialog = byId("ask-token") ?? tokenDialog();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", byId("token").value);
      byId("token").value = "";
      resolve();
    }, { once: true });
    dialog.showModal();
  });
}

// The response to a request, or an Error whose message is the server's sentence.
export async function ask(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The server does not answer. Is sgbt serve still running?");
  }
  if (response.status === 401) {
    await askForToken();
    return ask(path, options);
  }
  if (!response.ok) {
    const refusal = await response.json().catch(() => ({}));
    throw new Error(refusal.detail || `The server answered ${response.status}.`);
  }
  return response;
}

export const askJson = async (path, body, signal) => (await post(path, body, signal)).json();

export const post = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

// The JSON objects of a response that comes line by line, each as soon as it is here.
export async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let open = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (open + value).split("\n");
    open = parts.pop();
    for (const part of parts) if (part) yield JSON.parse(part);
  }
}
