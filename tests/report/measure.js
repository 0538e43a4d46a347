selector => {
  const root = document.querySelector(selector || "body");
  const found = { overlaps: [], wide: [], faint: [], unnamed: [], texts: 0 };
  const boxes = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const parse = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const paper = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.textContent.trim() || parent.closest("title, desc, script, style, option, .skip")) continue;
    if (parent.checkVisibility && !parent.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    found.texts += 1;
    for (const box of range.getClientRects()) if (box.width > 1 && box.height > 1) boxes.push([node, box]);
    const style = getComputedStyle(parent), ink = parse(parent.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(paper(parent))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.faint.push(node.textContent.trim().slice(0, 40));
  }
  const slack = 2.5; // lines of text: rectangles are taller than letters
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const [one, a] = boxes[i], [other, b] = boxes[j];
    if (one === other) continue;
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 0.5 && down > slack) found.overlaps.push([one.textContent.trim().slice(0, 40), other.textContent.trim().slice(0, 40)]);
  }
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.wide.push("the page");
  for (const [node, box] of boxes) if (box.right > width + 0.5 || box.left < -0.5) found.wide.push(node.textContent.trim().slice(0, 40));
  for (const one of root.querySelectorAll("svg, img, input, select")) {
    const named = one.getAttribute("aria-labelledby")?.split(" ").every(id => document.getElementById(id)?.textContent.trim())
      || one.getAttribute("alt") || one.getAttribute("aria-label") || [...(one.labels || [])].some(label => label.textContent.trim());
    if (!named) found.unnamed.push(one.outerHTML.slice(0, 60));
  }
  return found;
}
