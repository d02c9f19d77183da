"use strict";
const $ = (id) => document.getElementById(id);

function show(summaries, text) {
  $("result").replaceChildren();
  for (const summary of summaries) {
    if (summaries.length > 1) $("result").append(Object.assign(document.createElement("h2"), { textContent: summary.id }));
    const parts = summary.reason ? [summary.reason] : summary.sentences.map((sentence) => sentence.text);
    for (const part of parts) $("result").append(Object.assign(document.createElement("p"), { textContent: part }));
  }
  const spans = text === null ? [] : summaries[0].sentences.map((sentence) => sentence.span).filter(Boolean);
  mark(text, spans.sort((left, right) => left[0] - right[0]));
}

function mark(text, spans) {
  const source = $("source");
  source.replaceChildren();
  source.hidden = !spans.length;
  if (source.hidden) return;
  const characters = Array.from(text); // spans count code points, JavaScript counts UTF-16 units
  const piece = (start, end) => characters.slice(start, end).join("");
  let last = 0;
  for (const [start, end] of spans) {
    source.append(piece(last, start), Object.assign(document.createElement("mark"), { textContent: piece(start, end) }));
    last = end;
  }
  source.append(piece(last));
}

async function summarise(event) {
  event.preventDefault();
  const file = $("file").files[0];
  const text = file ? null : $("text").value;
  const options = Object.fromEntries(["length", "mode"].filter((name) => $(name).value).map((name) => [name, $(name).value]));
  const headers = { "Content-Type": file ? "application/octet-stream" : "application/json" };
  if ($("token").value) headers.Authorization = `Bearer ${$("token").value}`;
  const address = `v1/summaries${file ? `?${new URLSearchParams(options)}` : ""}`;
  $("go").disabled = true;
  $("status").className = "";
  $("status").textContent = "Reading and summarising ...";
  try {
    const body = file || JSON.stringify({ text, ...options });
    const answer = await fetch(address, { method: "POST", headers, body });
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.error);
    show(content.summaries, text);
    const [{ tokens_read: read, tokens_total: total, mode }] = content.summaries;
    $("status").textContent = `${mode}, ${read.toLocaleString("en")} of ${total.toLocaleString("en")} tokens read`;
    $("result").focus();
  } catch (error) {
    $("status").className = "bad";
    $("status").textContent = error.message;
  } finally {
    $("go").disabled = false;
  }
}

$("form").addEventListener("submit", summarise);
$("text").addEventListener("input", () => { $("file").value = ""; });
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $("form").className = kind === "dragover" ? "over" : "";
    if (kind === "drop" && event.dataTransfer.files.length) $("file").files = event.dataTransfer.files;
  });
}
