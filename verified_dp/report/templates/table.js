// Tables with the columns "verdict" and "excess": a search, a choice per verdict, kind and year, sorting by any column,
// and the first rows alone until more are asked for. Without this script they are whole.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("thead th")], names = heads.map(head => head.textContent.trim());
  if (!names.includes("verdict") || !names.includes("excess") || !table.tBodies[0]) continue;
  const FIRST = 8, body = table.tBodies[0], rows = [...body.rows], cell = (row, at) => row.cells[at].textContent.trim();
  let whole = rows.length <= FIRST;
  const make = (name, text, attributes = {}) => {
    const made = Object.assign(document.createElement(name), { textContent: text });
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const label = (text, field) => {
    const made = make("label", text);
    made.append(field);
    return made;
  };
  const search = make("input", "", { type: "search", autocomplete: "off" });
  const choices = ["verdict", "kind", "year"].filter(name => names.includes(name)).map(name => {
    const at = names.indexOf(name), field = make("select", "");
    const values = [...new Set(rows.map(row => cell(row, at)))].filter(Boolean).sort();
    field.append(make("option", "all", { value: "" }), ...values.map(value => make("option", value, { value })));
    return { name, at, field };
  });
  const shown = make("span", "", { role: "status" }), more = make("button", "", { type: "button" });
  const tools = make("form", "", { class: "tools" });
  tools.append(label("Search", search), ...choices.map(({ name, field }) => label(name, field)), shown);
  const outer = table.closest(".md-typeset__scrollwrap") || table;
  outer.before(tools);
  outer.after(more);
  const update = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = [...body.rows].filter(row => words.every(word => row.textContent.toLowerCase().includes(word))
      && choices.every(({ at, field }) => !field.value || cell(row, at) === field.value));
    const seen = whole ? kept : kept.slice(0, FIRST);
    rows.forEach(row => { row.hidden = true; });
    seen.forEach(row => { row.hidden = false; });
    shown.textContent = `${seen.length} of ${kept.length} shown`;
    more.textContent = `Show all ${kept.length}`;
    more.hidden = seen.length === kept.length;
  };
  const number = text => {
    if (text.includes("∞")) return text.startsWith("-") ? -Infinity : Infinity;
    const found = /-?\d+(\.\d+)?(e-?\d+)?/.exec(text);
    return found ? Number(found[0]) : NaN;
  };
  const sort = (at, down) => {
    const key = row => cell(row, at), numeric = rows.some(row => !isNaN(number(key(row)))) && !["claim", "kind", "reading"].includes(names[at]);
    const compare = numeric ? (a, b) => number(a) - number(b) : (a, b) => a.localeCompare(b);
    const empty = row => numeric ? isNaN(number(key(row))) : !key(row);
    body.append(...[...rows].sort((a, b) => empty(a) - empty(b) || (empty(a) ? 0 : compare(key(a), key(b)) * (down ? -1 : 1))));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== at ? "none" : down ? "descending" : "ascending"));
    update();
  };
  heads.forEach((head, at) => {
    const button = make("button", names[at], { type: "button", class: "sort" });
    button.addEventListener("click", () => sort(at, head.getAttribute("aria-sort") === "ascending"));
    head.replaceChildren(button);
  });
  rows.forEach(row => [...row.cells].forEach((one, at) => one.setAttribute("data-label", names[at])));
  table.classList.add("claims");
  search.addEventListener("input", update);
  choices.forEach(({ field }) => field.addEventListener("change", update));
  more.addEventListener("click", () => { whole = true; update(); });
  tools.addEventListener("submit", event => event.preventDefault());
  update();
}
