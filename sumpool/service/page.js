"use strict";
const $ = (id) => document.getElementById(id);
// greatest value, step, suffix of the API, and the value when the unit is chosen
const UNITS = { words: [400, 10, "w", 150], sentences: [20, 1, "s", 5], percent: [50, 1, "%", 10] };
// as in sumpool/io/html.py: these characters reorder or hide the text around them
const UNSAFE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]|\p{Surrogate}/gu;
let running = null; // AbortController of the request that runs

class Refusal extends Error {} // a reason that is shown as it is

const safe = (text) => text.replace(UNSAFE, "\ufffd");
const sentence = (reason) => // begins with a capital, unless it begins with the name of a file
  reason.replace(/^[a-z](?=[a-z]*\s)/, (letter) => letter.toUpperCase()) + (/[.!?]$/.test(reason) ? "" : ".");
const element = (name, text, properties = {}) =>
  Object.assign(document.createElement(name), { textContent: safe(text) }, properties);

function say(status, error = "") {
  $("status").textContent = status;
  $("error").textContent = error && sentence(safe(error));
}

function showLength() {
  const [most, step] = UNITS[$("unit").value];
  const chosen = Number($("length").value);
  Object.assign($("length"), { max: most, step });
  const unit = chosen === 1 ? $("unit").value.replace(/s$/, "") : $("unit").value;
  $("chosen").value = chosen ? `${chosen} ${unit}` : "as usual";
  $("length").setAttribute("aria-valuetext", $("chosen").value);
}

function chooseFile(files) {
  if (files.length > 1) return say("", `one file is summarised at a time, got ${files.length}`);
  if (files !== $("file").files) $("file").files = files;
  $("text").disabled = files.length === 1; // so that nobody expects both to be summarised
  $("remove").hidden = !files.length;
  say(files.length ? `${safe(files[0].name)} is chosen in place of the text.` : "");
}

async function buildRequest() {
  const file = $("file").files[0];
  const options = { evidence: true };
  if (Number($("length").value)) options.length = $("length").value + UNITS[$("unit").value][2];
  if ($("mode").value) options.mode = $("mode").value;
  const headers = { "Content-Type": file ? "application/octet-stream" : "application/json" };
  if ($("token").value) headers.Authorization = `Bearer ${$("token").value}`;
  const text = $("text").value.replace(/\p{Surrogate}/gu, "\ufffd");
  if (!file && !text.trim()) throw new Refusal("there is nothing to summarise yet; paste a text or choose a file");
  const content = file || new Blob([JSON.stringify({ text, ...options })]);
  const most = Number($("form").dataset.maxBytes);
  const size = `${(most / 2 ** 20).toLocaleString("en", { maximumSignificantDigits: 3 })} MiB`;
  if (content.size > most) {
    throw new Refusal(`the ${file ? "file" : "text"} is larger than the ${size} that the service accepts`);
  }
  const body = await content.arrayBuffer().catch(() => { // it is a folder, or was changed since it was chosen
    throw new Refusal(`${file.name} cannot be read; choose it again`);
  });
  const query = new URLSearchParams({ drafts: true, ...(file && { ...options, name: file.name.slice(-255) }) });
  return [`v1/summaries/stream?${query}`, { method: "POST", headers, body }];
}

async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = "", part; !(part = await reader.read()).done; ) {
    rest += part.value;
    if (!part.value.includes("\n")) continue; // the middle of a long document
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/m.exec(block) || [];
      if (name) yield [name, JSON.parse(data)];
    }
  }
}

async function receive(answer) {
  let article = null; // of the summary that grows
  let only = null; // the only answer so far
  let count = 0;
  for await (const [name, content] of readEvents(answer.body)) {
    if (name === "error") throw new Refusal(content.error);
    article ??= addArticle();
    if (name === "draft") {
      article.querySelector(".text").textContent = safe(content.text);
      continue;
    }
    only = count++ ? null : content;
    if (count > 1) $("summaries").firstElementChild.querySelector(".name").hidden = false;
    showSummary(article, content, count);
    article = null;
  }
  if (article || !count) throw new Refusal("the answer has broken off before the summary was complete; try again");
  if (only?.reason) {
    $("summaries").replaceChildren();
    throw new Refusal(only.reason);
  }
  return count > 1 ? `${count} summaries are ready.` : "The summary is ready.";
}

function addArticle() {
  // imported, as Chromium keeps the direction of elements that are cloned without text
  const article = document.importNode($("summary").content, true).firstElementChild;
  article.classList.add("draft");
  article.querySelector(".about").textContent = "Draft; the summary may differ.";
  $("summaries").append(article);
  $("result").hidden = false;
  return article;
}

function showSummary(article, summary, number) {
  const [name, text, about, details] = article.querySelectorAll(".name, .text, .about, details");
  article.className = summary.reason ? "failed" : "";
  Object.assign(name, { textContent: safe(summary.id), hidden: number === 1 });
  text.textContent = safe(summary.text || sentence(summary.reason));
  const [read, total] = [summary.tokens_read, summary.tokens_total].map((tokens) => tokens.toLocaleString("en"));
  const share = summary.tokens_total ? `, ${read} of ${total} tokens read` : ""; // some languages need no model
  about.textContent = summary.reason ? "" : summary.mode + share;
  details.hidden = !summary.evidence;
  if (!summary.evidence) return;
  details.addEventListener("toggle", () => showEvidence(details, summary.evidence, number), { once: true });
}

function showEvidence(details, { document: text, sentences }, number) {
  const sources = new Map(); // by start, with the numbers of the sentences that come from each
  sentences.forEach((entry, index) => {
    const item = element("li", "", { id: `s${number}-${index + 1}`, tabIndex: -1 });
    item.append(element("p", entry.sentence, { dir: "auto" }));
    if (entry.unsupported.length) {
      item.append(element("p", `Not in the document: ${entry.unsupported.join(", ")}`, { className: "unsupported" }));
    }
    const links = element("ul", "", { ariaLabel: `Sources of sentence ${index + 1}` });
    for (const source of entry.sources) {
      const places = [source.page && `page ${source.page}`, source.line && `line ${source.line}`].filter(Boolean);
      const place = places.join(", ") || `character ${source.start + 1}`;
      const link = element("a", place, { href: `#d${number}-${source.start}` });
      links.append(element("li", ""));
      links.lastChild.append(link, ` ${Math.round(100 * source.weight)}%`);
      if (!sources.has(source.start)) sources.set(source.start, { ...source, numbers: [] });
      sources.get(source.start).numbers.push(index + 1);
    }
    item.append(links);
    details.querySelector(".sentences").append(item);
  });
  const source = details.querySelector(".source");
  source.ariaLabel = `Document of summary ${number} with its sources marked`;
  markSources(source, text, [...sources.values()].sort((a, b) => a.start - b.start), number);
  for (const kind of ["mouseover", "focusin"]) details.addEventListener(kind, (event) => point(details, event.target));
}

function markSources(place, text, sources, number) {
  // places count code points, JavaScript counts UTF-16 units
  const characters = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const slice = (start, end) => (characters ? characters.slice(start, end).join("") : text.slice(start, end));
  let last = 0;
  for (const { start, end, numbers } of sources) {
    const mark = element("mark", slice(start, end), { id: `d${number}-${start}`, dir: "auto", tabIndex: -1 });
    mark.dataset.sentences = numbers.join(" ");
    for (const index of numbers) {
      const properties = { href: `#s${number}-${index}`, ariaLabel: `Sentence ${index} of the summary` };
      mark.append(element("a", String(index), properties));
    }
    place.append(safe(slice(last, start)), mark);
    last = end;
  }
  place.append(safe(slice(last)));
}

function point(details, target) {
  const item = target.closest(".sentences > li");
  const numbers = item ? [item.id.split("-")[1]] : (target.closest("mark")?.dataset.sentences.split(" ") ?? []);
  for (const mark of details.querySelectorAll("mark")) {
    mark.classList.toggle("pointed", mark.dataset.sentences.split(" ").some((index) => numbers.includes(index)));
  }
  for (const other of details.querySelectorAll(".sentences > li")) {
    other.classList.toggle("pointed", numbers.includes(other.id.split("-")[1]));
  }
}

async function summarise(event) {
  event.preventDefault();
  running?.abort();
  const controller = new AbortController();
  running = controller;
  $("summaries").replaceChildren();
  $("result").hidden = true;
  $("cancel").hidden = false;
  $("result").setAttribute("aria-busy", "true");
  say("Reading and summarising ...");
  try {
    const [address, options] = await buildRequest();
    const answer = await fetch(address, { ...options, signal: controller.signal });
    if (answer.status === 401) $("token-row").hidden = false;
    if (!answer.ok) throw new Refusal((await answer.json()).error);
    say(await receive(answer));
  } catch (error) {
    if (running === controller) fail(error);
  } finally {
    if (running === controller) stop();
  }
}

function fail(error) {
  for (const draft of document.querySelectorAll("article.draft")) draft.remove();
  $("result").hidden = !$("summaries").children.length;
  if (error.name === "AbortError") return say("Cancelled.");
  const gone = "the service does not answer; check that sumpool serve is running and try again";
  say("", error instanceof Refusal ? error.message : gone);
}

function stop() {
  running = null;
  if (document.activeElement === $("cancel")) $("form").querySelector("button:not([type])").focus();
  $("cancel").hidden = true;
  $("result").removeAttribute("aria-busy");
}

$("form").addEventListener("submit", summarise);
$("cancel").addEventListener("click", () => running?.abort());
$("length").addEventListener("input", showLength);
$("unit").addEventListener("change", () => {
  const [most, step, , value] = UNITS[$("unit").value];
  const isUsual = $("length").value === "0";
  Object.assign($("length"), { max: most, step, value: isUsual ? 0 : value });
  showLength();
});
$("file").addEventListener("change", () => chooseFile($("file").files));
$("remove").addEventListener("click", () => {
  $("file").value = "";
  chooseFile($("file").files);
  $("text").focus();
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return; // text goes where it is dropped
    event.preventDefault();
    document.body.classList.toggle("over", kind === "dragover");
    if (kind === "drop") chooseFile(event.dataTransfer.files);
  });
}
showLength();
chooseFile($("file").files); // a browser keeps the file when the page is loaded again
