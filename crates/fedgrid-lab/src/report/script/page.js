"use strict";
// What the parts of the script share.
const fedgrid = {
  data: JSON.parse(document.getElementById("data").textContent),
  // Called with the place of the node whose card is open, or null.
  chosen: [],
  rows: [],
  open: () => {},
};
// A table that is wider than the page can be scrolled by keys, too.
fedgrid.reach = () => {
  for (const box of document.querySelectorAll(".box:not(.tall)")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("resize", fedgrid.reach);
fedgrid.reach();
// Links to the sections, in their order.
(() => {
  const list = document.createElement("ul");
  for (const heading of document.querySelectorAll("main h2[id]")) {
    const link = document.createElement("a");
    link.href = `#${heading.id}`;
    link.textContent = heading.textContent;
    const line = document.createElement("li");
    line.append(link);
    list.append(line);
  }
  document.getElementById("sections").append(list);
})();
// What people call a node.
fedgrid.name = (place) => fedgrid.data.labels?.[place] || fedgrid.data.names[place];
// A number as it is printed: with a minus sign, commas, perhaps a power of ten.
fedgrid.number = (text) => {
  const plain = text.replaceAll(",", "").replace("−", "-").trim();
  const [mantissa, power] = plain.split(" × 10");
  const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const raised = [...(power ?? "")].map((c) => (c === "⁻" ? "-" : digits.indexOf(c))).join("");
  return Number.parseFloat(raised ? `${mantissa}e${raised}` : mantissa.replace("∞", "Infinity"));
};
// What the table says of a node: heading and cell, without the name.
fedgrid.facts = (place) => {
  const headers = [...document.getElementById("nodes").tHead.rows[0].cells];
  const text = (cell) => (cell.querySelector(".printed") ?? cell).textContent.trim();
  const cells = [...fedgrid.rows[place].cells];
  return headers.map((header, at) => [text(header), cells[at].textContent.trim()])
    .slice(1).filter(([, value]) => value);
};
// The numbers of a line, as they are printed; none without a line.
fedgrid.split = (line) => line?.replaceAll("-", "−").split("|");
// The neighbours of a node with their shares, the strongest first.
fedgrid.pulls = (place) => (fedgrid.data.nodes[place]?.w ?? "").split("|").filter(Boolean)
  .map((pair) => pair.split(" ")).map(([other, share]) => [Number(other), `${share} %`]);
// An element with a class and children.
fedgrid.element = (name, about, ...children) => {
  const element = document.createElement(name);
  if (about) element.className = about;
  element.append(...children);
  return element;
};
