// Sorting and searching of the table of nodes. Without scripts the table is complete, in order.
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
    const text = cell.dataset.key ?? cell.textContent;
    const value = Number.parseFloat(text);
    return Number.isNaN(value) ? "" : value;
  };
  const rows = [...body.rows].map((row) => ({
    row,
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
  document.getElementById("search").hidden = false;
  search();
})();

// Numbers of the cell of the matrix that the reader points at.
(() => {
  "use strict";
  const matrix = document.getElementById("helps-matrix");
  if (!matrix) return;
  const said = document.getElementById("helps-data");
  const names = JSON.parse(said.dataset.names);
  const usual = said.textContent;
  const cells = new Map(said.dataset.cells.split(";").map((cell) => {
    const [row, column, reward, confidence] = cell.split(",").map(Number);
    return [row * names.length + column, [reward, confidence]];
  }));
  const tell = (event) => {
    const box = matrix.viewBox.baseVal;
    const drawn = matrix.getBoundingClientRect();
    const column = Math.floor(box.x + box.width * (event.clientX - drawn.left) / drawn.width);
    const row = Math.floor(box.y + box.height * (event.clientY - drawn.top) / drawn.height);
    if (row < 0 || column < 0 || row >= names.length || column >= names.length) {
      said.textContent = usual;
      return;
    }
    const cell = cells.get(row * names.length + column);
    const pair = `${names[row]} learns from ${names[column]}`;
    if (row === column) said.textContent = names[row];
    else if (!cell) said.textContent = `${pair}: not probed`;
    else said.textContent = `${pair}: reward ${cell[0].toPrecision(3)}, confidence ${cell[1].toFixed(2)}`;
  };
  matrix.addEventListener("pointermove", tell);
  matrix.addEventListener("pointerleave", () => { said.textContent = usual; });
})();
