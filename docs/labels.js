// On narrow screens a row of a wide table is a block: each cell then says its column.
for (const table of document.querySelectorAll(".md-typeset table")) {
  const names = [...table.querySelectorAll("thead th")].map(head => head.textContent.trim());
  if (names.length > 3) table.classList.add("many");
  for (const row of table.tBodies[0]?.rows ?? []) {
    [...row.cells].forEach((cell, at) => cell.setAttribute("data-label", names[at] ?? ""));
  }
}
