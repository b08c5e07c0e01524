// Maps: zoom, pan, and the node that the reader points at, by pointer, touch or keys.
(() => {
  const { xy, nodes } = fedgrid.data;
  const count = xy.length / 2;
  const shape = (name, about) => {
    const element = document.createElementNS(document.querySelector("svg").namespaceURI, name);
    element.setAttribute("class", about);
    return element;
  };
  const box = (text) => text.split(" ").map(Number);

  const setUp = (svg) => {
    const home = box(svg.getAttribute("viewBox"));
    const whole = box(svg.dataset.whole);
    const figure = svg.parentNode;
    const frame = fedgrid.element("div", "frame");
    svg.before(frame);
    const bar = fedgrid.element("div", "zoom");
    const told = fedgrid.element("output", "told small");
    frame.append(bar, svg);
    frame.after(told);
    const usual = "Point at a node, tap it, or use the arrow keys; Enter or a click opens its card.";
    told.textContent = usual;
    svg.tabIndex = 0;
    svg.setAttribute("role", "application");
    svg.setAttribute("aria-roledescription", "map");
    const ties = shape("path", "ties");
    const ring = shape("circle", "ring");
    const spot = shape("circle", "ring spot");
    svg.querySelector(".rims").before(ties);
    svg.append(ring, spot);

    let view = home;
    let at = null;
    const shrink = () => Math.min(1.5, (view[2] / home[2]) ** 0.7);
    const show = (next) => {
      // No nearer than a fiftieth of the map, and no farther than twice the whole.
      const widest = 2 * Math.max(whole[2], whole[3], home[2], home[3]);
      const width = Math.min(widest, Math.max(home[2] / 50, next[2]));
      const scale = width / next[2];
      view = [next[0] + next[2] * (1 - scale) / 2, next[1] + next[3] * (1 - scale) / 2, width, next[3] * scale];
      svg.setAttribute("viewBox", view.map((part) => part.toFixed(2)).join(" "));
      svg.style.setProperty("--shrink", shrink().toFixed(3));
      svg.classList.toggle("zoomed", view[2] < 0.99 * home[2]);
      mark();
    };
    const radius = Number.parseFloat(svg.style.getPropertyValue("--dot")) / 2;
    const put = (circle, place) => {
      circle.style.display = place === null ? "none" : "";
      if (place === null) return;
      circle.setAttribute("cx", xy[2 * place]);
      circle.setAttribute("cy", xy[2 * place + 1]);
      circle.setAttribute("r", ((radius + 4) * shrink()).toFixed(2));
    };
    let chosen = null;
    const mark = () => {
      put(ring, chosen);
      put(spot, at);
      const others = chosen === null ? [] : fedgrid.pulls(chosen).map(([other]) => other);
      const from = `M${xy[2 * chosen]} ${xy[2 * chosen + 1]}L`;
      ties.setAttribute("d", others.map((other) => `${from}${xy[2 * other]} ${xy[2 * other + 1]}`).join(""));
    };
    const tell = (place) => {
      at = place;
      mark();
      if (place === null) { told.textContent = usual; return; }
      const own = nodes[place] ?? {};
      const k = svg.dataset.coefficient;
      const facts = k === undefined
        ? fedgrid.facts(place).slice(0, 4).map(([name, value]) => `${name.toLowerCase()} ${value}`).join(", ")
        : own.v ? fedgrid.split(own.v)[k] + (own.s ? ` ± ${fedgrid.split(own.s)[k]}` : "") : "no coefficient";
      told.textContent = `${fedgrid.name(place)}: ${facts}`;
    };
    // The part of the drawing that a point of the window shows.
    const point = (event) => {
      const drawn = svg.getBoundingClientRect();
      const scale = Math.min(drawn.width / view[2], drawn.height / view[3]);
      const left = (drawn.width - scale * view[2]) / 2, top = (drawn.height - scale * view[3]) / 2;
      const x = view[0] + (event.clientX - drawn.left - left) / scale;
      const y = view[1] + (event.clientY - drawn.top - top) / scale;
      return { x, y, scale };
    };
    const nearest = (event, pixels) => {
      const { x, y, scale } = point(event);
      let [best, distance] = [null, (pixels / scale) ** 2];
      for (let place = 0; place < count; place += 1) {
        const square = (xy[2 * place] - x) ** 2 + (xy[2 * place + 1] - y) ** 2;
        if (square < distance) [best, distance] = [place, square];
      }
      return best;
    };
    const zoom = (factor, x = view[0] + view[2] / 2, y = view[1] + view[3] / 2) => {
      show([x - (x - view[0]) * factor, y - (y - view[1]) * factor, view[2] * factor, view[3] * factor]);
    };
    // A box in the shape of the drawing, around another.
    const around = ([x, y, width, height]) => {
      const scale = Math.max(width / home[2], height / home[3]);
      const size = [home[2] * scale, home[3] * scale];
      return [x + (width - size[0]) / 2, y + (height - size[1]) / 2, ...size];
    };

    const button = (text, label, act) => {
      const element = fedgrid.element("button", "", text);
      element.type = "button";
      element.setAttribute("aria-label", label);
      element.title = label;
      element.addEventListener("click", act);
      bar.append(element);
    };
    button("+", "Zoom in", () => zoom(0.6));
    button("−", "Zoom out", () => zoom(1 / 0.6));
    button("⌂", "As at first", () => show(home));
    const hasFar = whole[0] < home[0] || whole[1] < home[1] || whole[0] + whole[2] > home[0] + home[2]
      || whole[1] + whole[3] > home[1] + home[3];
    if (hasFar) button("all", "Show all nodes", () => show(around(whole)));

    const pointers = new Map();
    let moved = 0;
    svg.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event);
      if (pointers.size === 1) moved = 0;
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) { tell(nearest(event, 24)); return; }
      const { scale } = point(event);
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      moved += Math.abs(dx) + Math.abs(dy);
      if (pointers.size === 2) {
        const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
        const gap = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        const { x, y } = point(other);
        zoom(gap(before) / Math.max(1, gap(event)), x, y);
      } else if (moved > 6) {
        show([view[0] - dx / scale, view[1] - dy / scale, view[2], view[3]]);
      }
      pointers.set(event.pointerId, event);
    });
    const lift = (event) => {
      const was = pointers.delete(event.pointerId);
      if (!was || event.type !== "pointerup" || moved > 6) return;
      const place = nearest(event, 24);
      tell(place);
      if (place !== null) fedgrid.open(place, svg);
    };
    svg.addEventListener("pointerup", lift);
    svg.addEventListener("pointercancel", lift);
    svg.addEventListener("pointerleave", () => { if (!pointers.size) tell(null); });
    svg.addEventListener("wheel", (event) => {
      // Without a key, the wheel scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { x, y } = point(event);
      zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, x, y);
    }, { passive: false });

    // The nearest node in a direction, those straight ahead before those aside.
    const ahead = (dx, dy) => {
      const start = at ?? chosen;
      if (start === null) {
        const middle = (place) => Math.hypot(xy[2 * place] - view[0] - view[2] / 2, xy[2 * place + 1] - view[1] - view[3] / 2);
        return [...Array(count).keys()].reduce((a, b) => (middle(b) < middle(a) ? b : a), 0);
      }
      let [best, least] = [start, Infinity];
      for (let place = 0; place < count; place += 1) {
        const [x, y] = [xy[2 * place] - xy[2 * start], xy[2 * place + 1] - xy[2 * start + 1]];
        const along = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
        if (along > 0 && along + 2 * aside < least) [best, least] = [place, along + 2 * aside];
      }
      return best;
    };
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    svg.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      if (step && count) {
        tell(ahead(...step));
        const [x, y] = [xy[2 * at], xy[2 * at + 1]];
        const inside = x > view[0] && x < view[0] + view[2] && y > view[1] && y < view[1] + view[3];
        if (!inside) show([x - view[2] / 2, y - view[3] / 2, view[2], view[3]]);
      } else if ((event.key === "Enter" || event.key === " ") && at !== null) fedgrid.open(at, svg);
      else if (event.key === "+" || event.key === "=") zoom(0.6);
      else if (event.key === "-") zoom(1 / 0.6);
      else if (event.key === "0") show(home);
      else return;
      event.preventDefault();
    });
    svg.addEventListener("blur", () => tell(null));

    fedgrid.chosen.push((place) => {
      chosen = place;
      mark();
      if (place === null) return;
      const [x, y] = [xy[2 * place], xy[2 * place + 1]];
      const inside = x > view[0] && x < view[0] + view[2] && y > view[1] && y < view[1] + view[3];
      if (!inside) show([x - view[2] / 2, y - view[3] / 2, view[2], view[3]]);
    });
    put(ring, null);
    put(spot, null);
    figure.classList.add("live");
  };
  document.querySelectorAll("svg.map").forEach(setUp);
})();
