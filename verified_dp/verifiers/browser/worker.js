"use strict";
// Runs behind pyodide.js, in a worker made from text: it sees the parts it was sent, and no network.
let python = null;

const stage = (done, words) => postMessage({ kind: "stage", done, words });

const boot = async ({ parts, sources }) => {
  self.fetch = async address => {
    const bytes = parts[String(address).split("/").pop()];
    if (!bytes) throw new Error(`${address} is not in this page`);
    return new Response(bytes, { headers: { "Content-Type": String(address).endsWith(".wasm") ? "application/wasm" : "application/octet-stream" } });
  };
  stage(1, "Starting Python");
  const module = URL.createObjectURL(new Blob([parts["pyodide.asm.mjs"]], { type: "text/javascript" }));
  python = await loadPyodide({
    indexURL: "https://offline.invalid/", createPyodideModule: (await import(module)).default,
    lockFileContents: JSON.parse(new TextDecoder().decode(parts["pyodide-lock.json"])),
    env: { HOME: "/home/pyodide", PYTHONHASHSEED: "0" },
  });
  URL.revokeObjectURL(module);
  stage(3, "Loading both checkers");
  for (const name of Object.keys(parts)) if (name.endsWith(".whl")) python.unpackArchive(parts[name], "wheel");
  for (const [path, text] of Object.entries(sources)) {
    const file = `/home/pyodide/${path}`;
    python.FS.mkdirTree(file.slice(0, file.lastIndexOf("/")));
    python.FS.writeFile(file, text);
  }
  stage(4, "Loading both checkers");
  python.runPython("import flint, mpmath, verified_dp.core.kernel.certificate.check, verified_dp.verifiers.independent, verified_dp.verifiers.browser.inside");
};

const check = ({ checker, data }) => {
  const inside = python.pyimport("verified_dp.verifiers.browser.inside");
  const bytes = python.toPy(data).tobytes();
  const started = performance.now();
  const progress = (done, of) => postMessage({ kind: "progress", checker, done, of });
  const answer = JSON.parse(inside.answer(checker, bytes, progress));
  const seconds = (performance.now() - started) / 1000;
  const content = answer.status === "valid" && checker === "trusted" ? JSON.parse(inside.describe(bytes)) : null;
  postMessage({ kind: "answer", checker, seconds, content, ...answer });
};

self.onmessage = async ({ data }) => {
  try {
    if (data.parts) {
      await boot(data);
      postMessage({ kind: "ready" });
    } else check(data);
  } catch (error) {
    postMessage({ kind: "failed", reason: String(error && error.message || error).trim().split("\n").pop() });
  }
};
