// Sorting and searching of the table of nodes, whose rows open cards. Without scripts the table is complete, in order.
(() => {
  "use strict";
  const table = document.getElementById("nodes");
  const body = table.tBodies[0];
  const headers = [...table.tHead.rows[0].cells];
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const isNumber = headers.map((header) => header.classList.contains("num"));

  // An empty key is a missing value: it comes last in either direction.
  const key = (cell, column) => {
    if (!isNumber[column]) return cell.textContent.trim();
    const value = fedgrid.number(cell.textContent);
    return Number.isNaN(value) ? "" : value;
  };
  const rows = [...body.rows].map((row, place) => ({
    row,
    place,
    keys: [...row.cells].map(key),
    text: [...row.cells].filter((_, column) => !isNumber[column])
      .map((cell) => cell.textContent).join(" ").toLowerCase(),
  }));

  const sort = (column) => {
    const header = headers[column];
    const before = header.getAttribute("aria-sort");
    const first = isNumber[column] ? "descending" : "ascending";
    const other = isNumber[column] ? "ascending" : "descending";
    const order = before === first ? other : first;
    headers.forEach((each) => each.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    rows.sort((a, b) => {
      const [x, y] = [a.keys[column], b.keys[column]];
      if (x === "" || y === "") return (x === "") - (y === "");
      return sign * (isNumber[column] ? x - y : words.compare(x, y));
    });
    body.replaceChildren(...rows.map((each) => each.row));
  };

  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sort(column));
    // On paper, browsers repeat text on every page, but not buttons.
    const printed = document.createElement("span");
    printed.className = "printed";
    printed.textContent = header.textContent;
    header.replaceChildren(printed, button);
  });

  const query = document.getElementById("query");
  const shown = document.getElementById("shown");
  const search = () => {
    const wanted = query.value.trim().toLowerCase();
    let count = 0;
    for (const { row, text } of rows) {
      const found = text.includes(wanted);
      row.hidden = !found;
      count += found;
    }
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} nodes`;
  };
  query.addEventListener("input", search);
  // The rows that are shown, as they are printed.
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const plain = (cell) => cell.textContent.trim().replace(/\s+/g, " ");
  document.getElementById("save").addEventListener("click", () => {
    const heads = headers.map((header) => header.querySelector(".printed").textContent.trim());
    const shownRows = [...body.rows].filter((row) => !row.hidden);
    const lines = shownRows.map((row) => [...row.cells].map((cell, column) => {
      // Numbers as programs read them.
      const value = isNumber[column] ? fedgrid.number(cell.textContent) : Number.NaN;
      return Number.isNaN(value) ? quoted(plain(cell)) : String(value);
    }));
    const text = [heads.map(quoted), ...lines].map((line) => line.join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" }));
    link.download = "nodes.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  document.getElementById("search").hidden = false;
  search();

  // The row of a node opens its card: the name is a button, and arrows go from one to the next.
  fedgrid.rows = rows.map((each) => each.row);
  const places = new Map(rows.map((each) => [each.row, each.place]));
  for (const { row } of rows) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "open";
    button.tabIndex = -1;
    const name = row.cells[0];
    button.append(...name.childNodes);
    name.append(button);
  }
  const names = () => [...body.rows].filter((row) => !row.hidden).map((row) => row.cells[0].firstChild);
  let stop = null;
  const stopAt = (button) => {
    if (stop) stop.tabIndex = -1;
    stop = button;
    if (stop) stop.tabIndex = 0;
  };
  stopAt(names()[0]);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    stopAt(row.cells[0].firstChild);
    fedgrid.open(places.get(row), stop);
  });
  body.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.classList.contains("open")) return;
    event.preventDefault();
    const all = names();
    const next = all[all.indexOf(event.target) + step];
    if (!next) return;
    stopAt(next);
    next.focus();
  });
  query.addEventListener("input", () => stopAt(names()[0]));
  fedgrid.chosen.push((place) => {
    body.querySelector(".chosen")?.classList.remove("chosen");
    if (place === null) return;
    const row = fedgrid.rows[place];
    row.classList.add("chosen");
    // Within its box only: the page stays where the reader is.
    const box = table.closest(".tall");
    box.scrollTop = row.offsetTop - box.clientHeight / 2;
  });
})();
