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
  let at = [0, 0];
  const show = (row, column) => {
    if (row < 0 || column < 0 || row >= names.length || column >= names.length) {
      said.textContent = usual;
      return;
    }
    at = [row, column];
    const cell = cells.get(row * names.length + column);
    const pair = `${names[row]} learns from ${names[column]}`;
    if (row === column) said.textContent = names[row];
    else if (!cell) said.textContent = `${pair}: not probed`;
    else said.textContent = `${pair}: reward ${cell[0].toPrecision(3)}, confidence ${cell[1].toFixed(2)}`;
  };
  const tell = (event) => {
    const box = matrix.viewBox.baseVal;
    const drawn = matrix.getBoundingClientRect();
    const column = Math.floor(box.x + box.width * (event.clientX - drawn.left) / drawn.width);
    const row = Math.floor(box.y + box.height * (event.clientY - drawn.top) / drawn.height);
    show(row, column);
  };
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  matrix.tabIndex = 0;
  said.setAttribute("aria-live", "polite");
  matrix.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const inside = (place) => Math.min(names.length - 1, Math.max(0, place));
    show(inside(at[0] + step[0]), inside(at[1] + step[1]));
  });
  matrix.addEventListener("pointerdown", tell);
  matrix.addEventListener("pointermove", tell);
  matrix.addEventListener("pointerleave", () => { said.textContent = usual; });
})();
