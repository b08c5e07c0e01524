// Numbers of the part of a chart that the reader points at, by pointer, touch or arrow keys.
(() => {
  const setUp = (svg, parts) => {
    const told = fedgrid.element("output", "told small");
    svg.after(told);
    let at = -1;
    const show = (next) => {
      parts[at]?.element?.classList.remove("at");
      at = next;
      const part = parts[at];
      told.textContent = part ? part.text() : "";
      part?.element?.classList.add("at");
    };
    const nearest = (event) => {
      const own = parts.findIndex((part) => part.element && part.element === event.target);
      if (own >= 0) return own;
      const distance = (part) => {
        const [x, y] = part.place();
        return Math.abs(event.clientX - x) + (part.element ? Math.abs(event.clientY - y) : 0);
      };
      const best = parts.reduce((a, b, k) => (distance(b) < distance(parts[a]) ? k : a), 0);
      return distance(parts[best]) < 40 ? best : -1;
    };
    svg.tabIndex = 0;
    svg.addEventListener("pointermove", (event) => show(nearest(event)));
    svg.addEventListener("pointerdown", (event) => show(nearest(event)));
    svg.addEventListener("pointerleave", () => show(-1));
    svg.addEventListener("blur", () => show(-1));
    svg.addEventListener("click", () => parts[at]?.open?.());
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter") parts[at]?.open?.();
      if (!step) return;
      event.preventDefault();
      show(Math.min(parts.length - 1, Math.max(0, at + step)));
    });
  };
  for (const svg of document.querySelectorAll("svg.chart")) {
    if (svg.dataset.nodes) {
      const [nodes, told] = [svg.dataset.nodes.split(" "), svg.dataset.told.split(";")];
      setUp(svg, nodes.map((node, k) => ({
        text: () => `${fedgrid.name(node)}: ${told[k]}`,
        place: () => {
          const drawn = svg.getBoundingClientRect();
          return [drawn.left + drawn.width * (k + 0.5) / nodes.length, drawn.top];
        },
        open: () => fedgrid.open(Number(node), svg),
      })));
      continue;
    }
    // Titles of shapes are for readers without a script: here their text stands under the chart.
    const parts = [...svg.querySelectorAll("title")].map((title) => {
      const [shape, text] = [title.parentNode, title.textContent];
      title.remove();
      const place = () => {
        const drawn = shape.getBoundingClientRect();
        return [drawn.left + drawn.width / 2, drawn.top + drawn.height / 2];
      };
      return { element: shape, text: () => text, place };
    });
    if (parts.length) setUp(svg, parts);
  }
})();
