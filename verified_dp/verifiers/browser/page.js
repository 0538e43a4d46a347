"use strict";
const $ = id => document.getElementById(id);
const manifest = JSON.parse($("manifest").textContent);
const LARGEST = 2 ** 24;
const NAMES = { trusted: "trusted checker (python-flint, ball arithmetic)", independent: "independent checker (mpmath, code of its own)",
  formal: "formal checker (a program extracted from Coq), of the formal part" };
let worker = null, parts = null, job = null, ready = false, waiting = null;

// What does not print is escaped as on a terminal: no title, key or file name steers the reader's eye.
const shown = text => String(text).replace(/(?! )[\p{C}\p{Z}]/gu, character => {
  const short = { "\t": "\\t", "\n": "\\n", "\r": "\\r" }[character], code = character.codePointAt(0);
  const [letter, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
  return short ?? `\\${letter}${code.toString(16).padStart(digits, "0")}`;
});
const write = (node, text) => { node.textContent = shown(text); };
const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  write(made, text);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const fill = (id, ...children) => $(id).replaceChildren(...children);
const pairsOf = rows => rows.flatMap(([name, text]) => [element("dt", name), element("dd", text)]);
const say = text => write($("told"), text);

// ---------- the parts of this page ----------

const bytesOf = text => {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
};

const untar = bytes => {
  const files = {}, text = (from, size) => new TextDecoder().decode(bytes.subarray(from, from + size)).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= bytes.length && bytes[at];) {
    const size = parseInt(text(at + 124, 12), 8);
    files[text(at, 100).split("/").pop()] = bytes.slice(at + 512, at + 512 + size);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
};

const unpack = async () => {
  const found = {};
  for (const { file } of manifest.parts) {
    const bytes = bytesOf($(file).textContent);
    if (!file.endsWith(".tgz")) found[file] = bytes;
    else Object.assign(found, untar(new Uint8Array(await new Response(
      new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer())));
    $(file).remove();
  }
  return found;
};

// ---------- the worker ----------

const start = async () => {
  ready = false;
  $("file").disabled = true;
  $("starting").hidden = false;
  HEARD.stage({ done: 0, words: "Unpacking" });
  parts ??= await unpack();
  const script = new Blob([parts["pyodide.js"], "\n", $("formal-checker.js").textContent, "\n", $("worker").textContent], { type: "text/javascript" });
  const address = URL.createObjectURL(script);
  worker = new Worker(address);
  worker.onmessage = ({ data }) => HEARD[data.kind](data);
  worker.onerror = event => { event.preventDefault(); HEARD.failed({ reason: event.message || "the worker stopped" }); };
  const needed = Object.entries(parts).filter(([name]) => /\.(asm\.mjs|asm\.wasm|whl|zip)$|lock\.json$/.test(name));
  worker.postMessage({ parts: Object.fromEntries(needed), sources: JSON.parse($("sources").textContent) });
};

const stop = () => {
  worker.terminate();
  worker = null;
};

const HEARD = {
  stage: ({ done, words }) => {
    $("start").value = done;
    $("stage").textContent = words;
  },
  ready: () => {
    ready = true;
    $("starting").hidden = true;
    $("file").disabled = false;
    document.body.dataset.ready = "yes";
    if (job?.data) next();
    else if (waiting) take(waiting);
    else if ($("result").hidden) say("Ready.");
  },
  progress: ({ checker, done, of }) => {
    $("bar").max = Math.max(of, 1);
    $("bar").value = done;
    $("doing").textContent = `${NAMES[checker]}: evaluation ${Math.min(done + 1, of)} of ${of}`;
  },
  answer: found => {
    job.answers[found.checker] = found;
    if (found.content?.formal && $("formal-checker.js").textContent) job.queue.push("formal");
    next();
  },
  failed: ({ reason }) => {
    stop();
    if (!job) {
      waiting = null;
      $("starting").hidden = true;
      say(`Python could not be started in this browser: ${reason}`);
      return;
    }
    job.answers[job.queue.shift()] = { status: "unchecked", verdict: null, field: null, reason: `the check stopped: ${reason}`, seconds: null };
    if (!job.queue.length) show();
    start().catch(given);
  },
};
const given = error => {
  waiting = null;
  $("starting").hidden = true;
  say(`Python could not be started in this browser: ${error.message}`);
};

// ---------- one certificate ----------

const take = async file => {
  if (!file || job) return;
  $("result").hidden = true;
  if (file.size > LARGEST) {
    say(`${file.name} has ${file.size} bytes; a certificate has at most ${LARGEST}.`);
    return;
  }
  if (!ready) {
    waiting = file;
    say(`${file.name} waits: it is checked when Python has started.`);
    return;
  }
  waiting = null;
  const mine = job = { name: file.name, size: file.size, data: null, answers: {}, queue: ["trusted", "independent"], since: Date.now() };
  job.clock = setInterval(() => { $("elapsed").textContent = `${Math.round((Date.now() - job.since) / 1000)} s`; }, 500);
  $("file").disabled = true;
  $("elapsed").textContent = "";
  $("working").hidden = false;
  say(`Checking ${file.name}.`);
  try {
    mine.data = new Uint8Array(await file.arrayBuffer());
  } catch (error) {  // a folder, or a file that is gone
    if (job !== mine) return;
    done();
    say(`${file.name} cannot be read: ${error.message}`);
    return;
  }
  if (job === mine && ready) next();
};

const next = () => {
  if (job.answers[job.queue[0]]) job.queue.shift();
  if (!job.queue.length) return show();
  const checker = job.queue[0];
  $("bar").removeAttribute("value");
  $("doing").textContent = NAMES[checker];
  worker.postMessage({ checker, data: job.data });
};

const done = () => {
  clearInterval(job.clock);
  $("working").hidden = true;
  $("file").disabled = !ready;
  $("file").value = "";
  job = null;
};

const cancel = () => {
  if (waiting) say(`Cancelled: ${waiting.name} is not checked.`);
  waiting = null;
  if (!job) return;
  stop();
  const name = job.name;
  done();
  start().catch(given);
  say(`Cancelled: nothing is known of ${name}. Python is starting anew.`);
  $("told").focus();
};

// ---------- what is shown ----------

// [class, word, sentence, what it means]
const judge = ({ trusted, independent, formal }) => {
  const pair = [trusted.status, independent.status], both = trusted.versions ?? independent.versions;
  const other = both ? `The certificate says that version ${both[0]} wrote it, and this page is of version ${both[1]}.` : "";
  if (pair.includes("valid") && pair.includes("invalid")) {
    const one = `The ${trusted.status === "valid" ? "trusted" : "independent"} checker accepts this certificate, the other one does not.`;
    return other ? ["unchecked", "Written with another version.", `${other} ${one}`, `Check it with version ${both[0]}.`]
      : ["unchecked", "The checkers disagree.", one, "Do not rely on it, and please report it: one of the checkers is wrong."];
  }
  if (formal?.status === "invalid") return ["invalid", "The formal part is not valid.", fault(formal),
    "The certificate without it checks out."];
  if (trusted.status === "valid") return [trusted.verdict, `Claim ${trusted.verdict}.`,
    `The certificate checks out. ${capital(trusted.content.statement[0])}`,
    `${independent.status === "valid" ? "Both checkers confirm it" : "The independent checker does not cover it, which is not a failure"}`
      + `${formal?.status === "valid" ? ", and the formal checker its formal part" : trusted.content.formal ? "; its formal part was not checked here" : ""}`
      + ". It holds under the assumptions below, which no software can check."];
  if (trusted.status === "invalid") return ["invalid", "Not valid.", fault(trusted),
    `This file proves nothing here. Its claim may still be true: ${other
      ? `${other} Check it with version ${both[0]}.` : "ask for the certificate as it was written."}`];
  return ["unchecked", "Could not be checked here.", {
    valid: "The trusted checker came to the limits of this browser. The independent one confirms the certificate.",
    invalid: `The trusted checker came to the limits of this browser. The independent one refuses the certificate: ${fault(independent)}`,
    unchecked: "This browser came to its limits: nothing is known of this certificate.",
  }[independent.status], "The command line, verified-dp verify, has more memory and is some six times as fast."];
};
const capital = text => text.slice(0, 1).toUpperCase() + text.slice(1);
const fault = ({ field, reason }) => `${field || "document"}: ${reason}`;

const resultOf = ({ status, verdict, field, reason }) => status === "valid" ? `valid, ${verdict}: ${reason}`
  : status === "invalid" ? `not valid, ${fault({ field, reason })}` : `not covered, or could not be checked here: ${reason}`;

const show = () => {
  const { answers, name, size } = job;
  const [kind, word, sentence, meaning] = judge(answers), content = answers.trusted.content;
  $("verdict").className = `verdict ${kind}`;
  write($("word"), word);
  write($("sentence"), sentence);
  write($("meaning"), meaning);
  fill("answers", ...Object.keys(NAMES).filter(checker => answers[checker]).map(checker => {
    const row = document.createElement("tr"), found = answers[checker];
    row.dataset.status = found.status;
    row.append(element("th", NAMES[checker], { scope: "row" }), element("td", resultOf(found)),
      element("td", found.seconds === null ? "" : `${found.seconds.toFixed(2)} s`, { class: "n" }));
    return row;
  }));
  fill("file-facts", ...pairsOf([["file", `${name}, ${size} bytes`], ...content ? [["sha256", content.sha256],
    ["written with", Object.entries(content.versions).map(pair => pair.join(" ")).join(", ")]] : []]));
  $("content").hidden = !content || kind === "unchecked";
  if (content) showContent(content, answers.trusted.files);
  $("result").hidden = false;
  say(`${name}: ${word}`);
  done();
  $("verdict").focus();
};

const showContent = (content, files) => {
  write($("statement"), capital(content.statement.join(" ")));
  fill("assumptions", ...content.assumptions.map((words, index) => {
    const item = document.createElement("li");
    item.append(element("input", "", { type: "checkbox", id: `a${index}` }), element("label", words, { for: `a${index}` }));
    return item;
  }));
  fill("evaluations", ...content.evaluations.map(row => {
    const item = document.createElement("li"), list = document.createElement("dl");
    list.append(...pairsOf([["what", `${row.shows}, order ${row.order}`], ["delta at epsilon", row.at],
      ["lies between", `${row.lower} and ${row.upper}`], ["by", `${row.method}, witness ${row.witness}`]]));
    item.append(list);
    return item;
  }));
  fill("pairs", ...pairsOf(content.pairs.map(pair => [pair.order, `P = ${pair.P}; Q = ${pair.Q} (${pair.theorem})`])));
  const lines = files.reduce((sum, [, count]) => sum + count, 0);
  write($("trusted"), `${lines} lines of code in ${files.length} files, which the trusted checker has loaded since this page `
    + `was opened, ${content.theorems.length} theorems, and what is not proved here.`);
  fill("trust", ...pairsOf([...files.map(([path, count]) => [`${count} lines`, path]),
    ...content.theorems.map(([name, statement, read]) => [name, `${statement} (last read: ${read})`]),
    ...content.not_proved_here.map(words => ["not proved here", words])]));
};

// ---------- the user ----------

addEventListener("dragover", event => { event.preventDefault(); $("drop").classList.add("over"); });
addEventListener("dragleave", event => { if (!event.relatedTarget) $("drop").classList.remove("over"); });
addEventListener("drop", event => {
  event.preventDefault();
  $("drop").classList.remove("over");
  const files = event.dataTransfer.files;
  if (files.length > 1) say("One certificate at a time, please.");
  else take(files[0]);
});
$("file").addEventListener("change", () => take($("file").files[0]));
$("cancel").addEventListener("click", cancel);
addEventListener("keydown", event => { if (event.key === "Escape") cancel(); });

fill("parts", ...pairsOf([...manifest.parts, ...manifest.shown].map(part => [part.name, `${part.licence}; source: ${part.source}; sha256 ${part.sha256}`])));
$("licences").append(...Object.entries(manifest.licences).flatMap(([name, text]) => {
  const box = document.createElement("details"), whole = element("pre", "", { tabindex: "0" });
  whole.textContent = text;
  box.append(element("summary", name), whole);
  return [box];
}));
start().catch(given);
