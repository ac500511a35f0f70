// Everything that is asked of the server. A server that does not answer is waited for, and asked again.

const banner = () => document.getElementById("gone");
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem("token");
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    let answer;
    try {
      answer = await fetch(path, { ...options, headers, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      await untilBack(options.signal);
      continue;
    }
    if (answer.status === 429 || answer.status === 503) {
      await pause(1000);
      continue;
    }
    const type = answer.headers.get("content-type") || "";
    const body = type.includes("json") ? await answer.json() : await answer.text();
    if (answer.status === 401) {
      await askToken();
      continue;
    }
    if (!answer.ok) throw new Refused(typeof body === "string" ? {} : body, answer.status);
    return body;
  }
}

let waiting = null;
function untilBack(signal) {
  waiting ??= (async () => {
    banner().textContent = "The server does not answer. Trying again …";
    banner().hidden = false;
    for (let wait = 300; ; wait = Math.min(2 * wait, 3000)) {
      await pause(wait);
      try {
        if ((await fetch("/health", { cache: "no-store" })).ok) break;
      } catch {
        continue;
      }
    }
    banner().hidden = true;
    waiting = null;
  })();
  return waiting.then(() => signal?.throwIfAborted());
}

let asking = null;
function askToken() {
  asking ??= new Promise((done) => {
    const dialog = document.getElementById("ask-token");
    const input = document.getElementById("token");
    input.value = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", input.value);
      asking = null;
      done();
    }, { once: true });
  });
  return asking;
}

const post = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
const get = (path, given = {}, signal = undefined) => ask(`${path}?${new URLSearchParams(given)}`, { signal });

export const models = () => get("/models");
export const card = (model) => get(`/models/${encodeURIComponent(model)}`);
export const tree = (model, node) => get(`/models/${encodeURIComponent(model)}/tree`, { node });
export const labels = (model, given, signal) => get("/labels", { model, ...given }, signal);
export const tag = (body, signal) => post("/tag", body, signal);
export const pdfText = (file, signal) => ask("/text", { method: "POST", headers: { "Content-Type": "application/pdf" }, body: file, signal });
export const explain = (body, signal) => post("/explain", body, signal);
export const feedback = (body) => post("/feedback", body);
