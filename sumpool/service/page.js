"use strict";
const $ = (id) => document.getElementById(id);
// as in sumpool/io/html.py: these characters reorder or hide the text around them
const UNSAFE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]|\p{Surrogate}/gu;
let chosen = []; // files
let running = null; // AbortController of the requests that run
let count = 0; // of the summaries so far, which their elements are numbered by

class Refusal extends Error {} // a reason that is shown as it is

const safe = (text) => text.replace(UNSAFE, "\ufffd");
const sentence = (reason) => // begins with a capital, unless it begins with the name of a file
  reason.replace(/^[a-z](?=[a-z]*\s)/, (letter) => letter.toUpperCase()) + (/[.!?]$/.test(reason) ? "" : ".");
const element = (name, text, properties = {}) =>
  Object.assign(document.createElement(name), { textContent: safe(text) }, properties);

function say(status, error = "") {
  $("status").textContent = safe(status);
  $("error").textContent = error && sentence(safe(error));
}

// ---- documents and options

function addFiles(files) {
  chosen.push(...files);
  showFiles();
  say(files.length === 1 ? `${files[0].name} is chosen.` : `${files.length} files are chosen.`);
}

function showFiles() {
  const items = chosen.map((file, index) => {
    const remove = element("button", "\u00d7", { type: "button", ariaLabel: safe(`Remove ${file.name}`) });
    remove.addEventListener("click", () => {
      chosen.splice(index, 1);
      showFiles();
      ($("files").querySelector("button") ?? $("file")).focus();
    });
    const item = element("li", "");
    item.append(element("bdi", file.name), remove);
    return item;
  });
  $("files").replaceChildren(...items);
}

function readOptions() {
  const options = { evidence: true };
  const length = $("length").value === "exact" ? $("amount").value + $("unit").value : $("length").value;
  if (length) options.length = length;
  if ($("mode").value) options.mode = $("mode").value;
  if ($("points").checked) options.key_points = 5;
  if ($("sections").checked) options.sections = true;
  return options;
}

function listDocuments() {
  const text = $("text").value.replace(/\p{Surrogate}/gu, "\ufffd");
  const documents = chosen.map((file) => ({ name: file.name, file }));
  if (text.trim()) documents.push({ name: "the text", text });
  if (!documents.length) throw new Refusal("there is nothing to summarise yet; choose a file or paste a text");
  return documents;
}

async function buildRequest({ name, file, text }) {
  const options = readOptions();
  const content = file || new Blob([JSON.stringify({ text, ...options })]);
  const most = Number($("form").dataset.maxBytes);
  const size = `${(most / 2 ** 20).toLocaleString("en", { maximumSignificantDigits: 3 })} MiB`;
  if (content.size > most) throw new Refusal(`${name} is larger than the ${size} that the service accepts`);
  const body = await content.arrayBuffer().catch(() => { // it is a folder, or was changed since it was chosen
    throw new Refusal(`${name} cannot be read; choose it again`);
  });
  const headers = { "Content-Type": file ? "application/octet-stream" : "application/json" };
  if ($("token").value) headers.Authorization = `Bearer ${$("token").value}`;
  const query = new URLSearchParams(file ? { ...options, name: name.slice(-255) } : {});
  return [`v1/summaries/stream?${query}`, { method: "POST", headers, body }];
}

// ---- requests

async function summarise(event) {
  event.preventDefault();
  running?.abort();
  const controller = new AbortController();
  running = controller;
  $("result").setAttribute("aria-busy", "true");
  $("cancel").hidden = $("progress").hidden = false;
  const start = Date.now();
  const timer = setInterval(() => {
    $("seconds").textContent = `${Math.round((Date.now() - start) / 1000)} s`;
  }, 1000);
  try {
    say(await summariseAll(listDocuments(), controller.signal));
  } catch (error) {
    if (running === controller) fail(error);
  } finally {
    clearInterval(timer);
    if (running === controller) stop();
  }
}

/** Summarise documents one after the other; a document that has no summary among several does not stop the others. */
async function summariseAll(documents, signal) {
  const before = $("summaries").firstElementChild; // newer summaries stand above
  let ready = 0;
  for (const [index, item] of documents.entries()) {
    const position = documents.length > 1 ? ` (${index + 1} of ${documents.length})` : "";
    if (documents.length > 1) Object.assign($("progress"), { max: documents.length, value: index });
    else $("progress").removeAttribute("value");
    say(`Reading ${item.name}${position} ...`);
    try {
      const [address, options] = await buildRequest(item);
      const answer = await fetch(address, { ...options, signal });
      if (answer.status === 401) $("token-row").hidden = false;
      if (!answer.ok) throw Object.assign(new Refusal((await answer.json()).error), { isOfAll: answer.status === 401 });
      say(`Summarising ${item.name}${position} ...`);
      ready += await receive(answer, item, before);
    } catch (error) {
      if (!(error instanceof Refusal) || error.isOfAll || documents.length === 1) throw error;
      showSummary(addArticle(before), { id: item.name, reason: error.message }, item);
    }
  }
  if (!ready) throw new Refusal("no document has a summary; the reasons are below");
  return ready > 1 ? `${ready} summaries are ready.` : "The summary is ready.";
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

async function receive(answer, item, before) {
  const results = [];
  for await (const [name, content] of readEvents(answer.body)) {
    if (name === "error") throw new Refusal(content.error);
    results.push(content);
    showSummary(addArticle(before), content, item);
  }
  if (!results.length) {
    throw new Refusal("the answer has broken off before the summary was complete; try again");
  }
  if (results.length === 1 && results[0].reason) {
    removeSummary(count);
    throw new Refusal(results[0].reason);
  }
  return results.length;
}

function fail(error) {
  $("result").hidden = !$("summaries").children.length;
  if (error.name === "AbortError") return say("Cancelled.");
  const gone = "the service does not answer; check that sumpool serve is running and try again";
  say("", error instanceof Refusal ? error.message : gone);
}

function stop() {
  running = null;
  if (document.activeElement === $("cancel")) $("form").querySelector("button:not([type])").focus();
  $("cancel").hidden = $("progress").hidden = true;
  $("seconds").textContent = "";
  $("result").removeAttribute("aria-busy");
}

// ---- summaries

function addArticle(before) {
  // imported, as Chromium keeps the direction of elements that are cloned without text
  const article = document.importNode($("summary").content, true).firstElementChild;
  $("summaries").insertBefore(article, before);
  $("result").hidden = false;
  return article;
}

function removeSummary(number) {
  document.querySelector(`#contents [href="#a${number}"]`).parentNode.remove();
  $(`a${number}`).remove();
  $("result").hidden = !$("summaries").children.length;
}

function showSummary(article, summary, item) {
  const number = ++count;
  const [name, about, text, actions, details] = article.querySelectorAll(".name, .about, .text, .actions, details");
  const origin = item.file ? summary.id || item.name : "";
  const title = summary.title || origin || "Pasted text";
  const [some, all] = [summary.words, summary.document_words].map((words) => words?.toLocaleString("en"));
  Object.assign(article, { id: `a${number}`, className: summary.reason ? "failed" : "" });
  name.textContent = safe(title);
  text.textContent = safe(summary.text || sentence(summary.reason));
  const wording = summary.mode === "abstractive" ? "generated, check it against its sources" : "sentences of the document";
  const parts = summary.reason ? [] : [origin !== title && origin, `${some} of ${all} words`, wording];
  about.textContent = safe(parts.filter(Boolean).join(" \u00b7 "));
  actions.hidden = Boolean(summary.reason);
  details.hidden = !summary.evidence;
  const link = element("li", "");
  link.append(element("a", title, { href: `#a${number}`, dir: "auto" }), summary.reason ? " (no summary)" : "");
  const following = article.nextElementSibling;
  const next = following?.id && document.querySelector(`#contents [href="#${following.id}"]`);
  $("contents").insertBefore(link, next ? next.parentNode : null);
  if (summary.reason) return;
  showOverview(article.querySelector(".overview"), summary);
  const content = outline(title, about.textContent, summary);
  const stem = title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "summary";
  actions.querySelector(".copy").addEventListener("click", () => copy(text));
  actions.querySelector(".markdown").addEventListener("click", () => download(`${stem}.md`, [toMarkdown(content)]));
  actions.querySelector(".word").addEventListener("click", () => download(`${stem}.docx`, toWord(content)));
  if (!summary.evidence) return;
  details.addEventListener("toggle", () => showEvidence(details, summary.evidence, number), { once: true });
}

function placeName(source) {
  const places = [source.page && `page ${source.page}`, source.line && `line ${source.line}`].filter(Boolean);
  return places.join(", ") || `character ${source.start + 1}`;
}

function showOverview(place, { key_points: points, sections }) {
  place.hidden = !points.length && !sections.length;
  const withPlace = (name, text, source) => {
    const item = element(name, `${text} `, { dir: "auto" });
    item.append(element("span", placeName(source), { className: "muted place" }));
    return item;
  };
  if (points.length) {
    place.append(element("h4", "Key points"), element("ul", ""));
    place.lastChild.append(...points.map((point) => withPlace("li", point.text, point)));
  }
  if (sections.length) place.append(element("h4", "Sections"));
  for (const section of sections) {
    place.append(withPlace("h5", section.heading, section));
    place.append(element("p", section.sentences.map((part) => part.text).join(" "), { dir: "auto" }));
  }
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
      const link = element("a", placeName(source), { href: `#d${number}-${source.start}` });
      links.append(element("li", ""));
      links.lastChild.append(link, entry.sources.length > 1 ? ` ${Math.round(100 * source.weight)}%` : "");
      if (!sources.has(source.start)) sources.set(source.start, { ...source, numbers: [] });
      sources.get(source.start).numbers.push(index + 1);
    }
    item.append(links);
    details.querySelector(".sentences").append(item);
  });
  const source = details.querySelector(".source");
  source.ariaLabel = `Document of summary ${number} with its sources marked`;
  markSources(source, text, [...sources.values()].sort((a, b) => a.start - b.start), number);
  const first = source.querySelector("mark");
  if (first) source.scrollTop = first.offsetTop - 2 * parseFloat(getComputedStyle(source).fontSize);
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

// ---- copies

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text.textContent);
  } catch { // browsers offer the clipboard on the loopback interface and over HTTPS only
    getSelection().selectAllChildren(text);
    document.execCommand("copy");
  }
  say("The summary is copied.");
}

/** Paragraphs of a file with the summary: level of the heading, or 0, and text. */
function outline(title, about, summary) {
  const paragraphs = [[1, title], ...summary.text.split(/\n+/).map((text) => [0, text]), [0, about]];
  const placed = (part) => `${part.text} (${placeName(part)})`;
  if (summary.key_points.length) paragraphs.push([2, "Key points"], ...summary.key_points.map((point) => [0, placed(point)]));
  for (const section of summary.sections) paragraphs.push([2, section.heading], ...section.sentences.map((part) => [0, placed(part)]));
  const entries = summary.evidence?.sentences.filter((entry) => entry.sources.length) ?? [];
  if (entries.length) paragraphs.push([2, "Sources"]);
  for (const { sentence: text, sources } of entries) {
    paragraphs.push([0, `${text} (${sources.map(placeName).join("; ")})`]);
  }
  return paragraphs.map(([level, text]) => [level, safe(text)]);
}

function toMarkdown(paragraphs) {
  const escape = (text) => text.replace(/[\\`*_[\]<>&]/g, "\\$&").replace(/^([#+-]|\d+(?=[.)]))/, "\\$1");
  return paragraphs.map(([level, text]) => `${"#".repeat(level)}${level ? " " : ""}${escape(text)}\n`).join("\n");
}

function toWord(paragraphs) {
  const escape = (text) => text.replace(/[&<>]/g, (character) => `&#${character.codePointAt()};`);
  const format = (level) => (level ? `<w:rPr><w:b/><w:sz w:val="${40 - 8 * level}"/></w:rPr>` : "");
  const outlineLevel = (level) => (level ? `<w:outlineLvl w:val="${level - 1}"/>` : "");
  const body = paragraphs.map(([level, text]) =>
    `<w:p><w:pPr><w:spacing w:after="160"/>${outlineLevel(level)}</w:pPr>` +
    `<w:r>${format(level)}<w:t xml:space="preserve">${escape(text)}</w:t></w:r></w:p>`);
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
  const open = "http://schemas.openxmlformats.org/";
  const main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
  const relations = "application/vnd.openxmlformats-package.relationships+xml";
  return zip([
    ["[Content_Types].xml", `${head}<Types xmlns="${open}package/2006/content-types">` +
      `<Default Extension="rels" ContentType="${relations}"/>` +
      `<Override PartName="/word/document.xml" ContentType="${main}"/></Types>`],
    ["_rels/.rels", `${head}<Relationships xmlns="${open}package/2006/relationships"><Relationship Id="r1" ` +
      `Type="${open}officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`],
    ["word/document.xml", `${head}<w:document xmlns:w="${open}wordprocessingml/2006/main">` +
      `<w:body>${body.join("")}</w:body></w:document>`],
  ]);
}

/** Parts of a ZIP archive of texts, which are stored as they are. */
function zip(files) {
  const pack = (...fields) => // pairs of size in bytes and value
    Uint8Array.from(fields.flatMap(([size, value]) => Array.from({ length: size }, (_, byte) => (value >>> (8 * byte)) & 255)));
  const [parts, directory] = [[], []];
  const sizeOf = (list) => list.reduce((sum, part) => sum + part.length, 0);
  for (const file of files) {
    const [name, data] = file.map((text) => new TextEncoder().encode(text));
    const common = [[2, 20], [2, 0], [2, 0], [2, 0], [2, 33], [4, checksum(data)], [4, data.length], [4, data.length], [2, name.length], [2, 0]];
    directory.push(pack([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, sizeOf(parts)]), name);
    parts.push(pack([4, 0x04034b50], ...common), name, data);
  }
  const end = pack([4, 0x06054b50], [4, 0], [2, files.length], [2, files.length], [4, sizeOf(directory)], [4, sizeOf(parts)], [2, 0]);
  return [...parts, ...directory, end];
}

/** CRC-32. */
function checksum(data) {
  let rest = -1;
  for (const byte of data) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  }
  return ~rest;
}

function download(name, parts) {
  const link = element("a", "", { href: URL.createObjectURL(new Blob(parts)), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// ---- events

function showExact() {
  $("exact").hidden = $("length").value !== "exact";
}

$("form").addEventListener("submit", summarise);
$("cancel").addEventListener("click", () => running?.abort());
$("length").addEventListener("change", showExact);
$("file").addEventListener("change", () => {
  addFiles([...$("file").files]);
  $("file").value = ""; // so that the same file can be chosen again
});
$("sample").addEventListener("click", async () => {
  try {
    $("text").value = await (await fetch("sample.txt")).text();
    $("form").requestSubmit();
  } catch (error) {
    fail(error);
  }
});
$("clear").addEventListener("click", () => {
  for (const id of ["summaries", "contents"]) $(id).replaceChildren();
  $("result").hidden = true;
  say("");
  $("text").focus();
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return; // text goes where it is dropped
    event.preventDefault();
    document.body.classList.toggle("over", kind === "dragover");
    if (kind === "drop") addFiles([...event.dataTransfer.files]);
  });
}
showExact(); // a browser keeps the choice when the page is loaded again
