// The card of a node, beside the page: what `fedgrid show --node` prints.
(() => {
  const { data, element, split } = fedgrid;
  const card = document.getElementById("card");
  let opener = null;

  const table = (headings, rows) => {
    const cell = (name, text, at) => element(name, at > 0 ? "num" : "", text);
    const head = element("tr", "", ...headings.map((text, at) => {
      const heading = cell("th", text, at);
      heading.scope = "col";
      return heading;
    }));
    const line = (row) => element("tr", "", ...row.map((text, at) => {
      const one = cell(at === 0 ? "th" : "td", text, at);
      if (at === 0) one.scope = "row";
      return one;
    }));
    return element("div", "box", element("table", "", element("thead", "", head), element("tbody", "", ...rows.map(line))));
  };
  const part = (title, ...content) => [element("h3", "", title), ...content];
  const small = (text) => element("p", "small", text);

  const facts = (place) => {
    const pairs = fedgrid.facts(place).map(([name, value]) =>
      element("div", "", element("dt", "", name), element("dd", "", value)));
    return element("dl", "pairs one", ...pairs);
  };
  const errors = (own) => (own.e
    ? part("Errors", small(`${data.metric} of the node, by each method`),
      table(["Method", "Error"], split(own.e).map((error, k) => [data.methods[k], error])))
    : []);
  const coefficients = (own) => {
    if (!own.v) return [];
    const pooled = own.p ?? data.pooled;
    const columns = [["Value", own.v], ["Std. error", own.s], ["Pooled", pooled], ["Neighbours", own.n]]
      .filter(([, values]) => values).map(([name, values]) => [name, split(values)]);
    const rows = columns[0][1].map((_, k) => [data.coefficients[k], ...columns.map(([, values]) => values[k])]);
    return part("Coefficients", small("In the units of the table."),
      table(["Coefficient", ...columns.map(([name]) => name)], rows));
  };
  const rules = (own) => {
    if (!own.r) return [];
    const more = own.r.more ? `\n… and ${own.r.more} more lines` : "";
    const lines = element("pre", "", own.r.lines.join("\n") + more);
    lines.tabIndex = 0;
    return part("Rules", small(own.r.head), lines);
  };
  const importance = (own) => {
    if (!own.i) return [];
    const [rows, error, more, ...columns] = split(own.i);
    const line = (one) => {
      const [place, ...numbers] = one.split(";");
      return [data.columns[place], ...numbers];
    };
    return part("Importance of columns",
      small(`By how much the ${data.metric} of ${error} rises when a column is shuffled among the node's ${rows}.`),
      table(["Column", "Rise", "Deviation"], columns.map(line)),
      ...(more === "0" ? [] : [small(`… and ${more} less important ones`)]));
  };
  const intervals = (own) => (own.b ? part("Intervals", small(`${own.b}.`)) : []);
  const pulled = (own, place) => {
    if (!own.w) return [];
    const line = (other, share) => {
      const button = element("button", "link", fedgrid.name(other));
      button.type = "button";
      button.addEventListener("click", () => fedgrid.open(other, opener));
      return element("li", "", button, element("span", "small", share));
    };
    const lines = fedgrid.pulls(place).map(([other, share]) => line(other, share));
    const more = own.more ? [small(`… and ${own.more} weaker ones`)] : [];
    return part("Pulled by", small("Each neighbour’s share of the weights of all edges of the node."),
      element("ul", "pulled", ...lines), ...more);
  };

  const goTo = (text, find) => {
    const button = element("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => {
      const target = find();
      target.scrollIntoView({ block: "center" });
      target.focus({ preventScroll: true });
    });
    return button;
  };
  const visibleMap = () => [...document.querySelectorAll("svg.map")].find((map) => map.getClientRects().length);

  const close = () => {
    card.hidden = true;
    document.body.classList.remove("beside-card");
    fedgrid.chosen.forEach((tell) => tell(null));
    history.replaceState(null, "", location.pathname + location.search);
    opener?.focus({ preventScroll: true });
  };
  fedgrid.open = (place, from) => {
    opener = from ?? opener;
    const own = data.nodes[place] ?? {};
    const name = element("h2", "", fedgrid.name(place));
    name.id = "card-name";
    const shut = element("button", "shut", "×");
    shut.type = "button";
    shut.setAttribute("aria-label", "Close the card");
    shut.addEventListener("click", close);
    const label = data.labels?.[place] ? [small(`node ${data.names[place]}`)] : [];
    const ways = element("p", "ways",
      goTo("On the map", visibleMap), goTo("In the table", () => fedgrid.rows[place].cells[0].firstChild));
    card.replaceChildren(
      element("div", "head", name, shut), ...label, ways, facts(place), ...errors(own), ...coefficients(own), ...rules(own),
      ...importance(own), ...intervals(own), ...pulled(own, place),
      ...data.elsewhere.map((part) => small(`${part}: see fedgrid show RUN --node '${data.names[place]}'.`)),
      ...(own.notes ?? []).map((note) => small(`Note: ${note}`)));
    card.hidden = false;
    card.scrollTop = 0;
    fedgrid.reach();
    document.body.classList.add("beside-card");
    fedgrid.chosen.forEach((tell) => tell(place));
    history.replaceState(null, "", `#node=${encodeURIComponent(data.names[place])}`);
    card.focus({ preventScroll: true });
  };
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !card.hidden) close(); });

  // An address with the name of a node opens its card.
  const asked = () => {
    if (!location.hash.startsWith("#node=")) return;
    const place = data.names.indexOf(decodeURIComponent(location.hash.slice(6)));
    if (place >= 0) fedgrid.open(place, null);
  };
  addEventListener("hashchange", asked);
  asked();
})();
