"use strict";
// Shows what the agent tells: statuses come as server-sent events, which are read with fetch, because the token
// stands in a header. Texts of the agent are only ever put in as text; charts are SVG that the agent has drawn.
const at = (id) => document.getElementById(id);
const made = (name, text, kind) => {
  const one = document.createElement(name);
  if (text !== undefined) one.textContent = text;
  if (kind) one.className = kind;
  return one;
};
// Powers of a thousand, as disks and networks count.
const bytes = (count) => {
  const names = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (count >= 1000 && at < names.length - 1) [count, at] = [count / 1000, at + 1];
  return `${count < 10 && at ? count.toFixed(1) : Math.round(count)} ${names[at]}`;
};
// Powers of ten as charts and reports write them.
const raised = (digits) => [...digits].map((digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])).join("");
const small = (value) => {
  if (!value) return value === null ? "–" : "0";
  const [digits, power] = value.toExponential(1).split("e");
  return Math.abs(power) < 3 ? String(Number(value.toPrecision(2))) : `${digits.replace("-", "−")} × 10${raised(power.replace("+", ""))}`;
};
const time = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });
const age = (seconds) =>
  seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;

let token = decodeURIComponent(location.hash.slice(1));
const phase = (text, kind) => {
  // Said anew only if it has changed: it is read out.
  if (at("phase").textContent !== text) at("phase").textContent = text;
  at("phase").className = `label ${kind}`;
};
const trouble = (text) => {
  at("trouble").hidden = !text;
  at("trouble").textContent = text;
};

const figures = (status) => {
  const gone = status.neighbours.filter((seen) => !seen.there).length;
  const rows = [
    ["Round", String(status.round)],
    ["Last round", `${age(status.round_age_seconds)} ago`],
    ["Waits for", status.waiting_for.length > 3 ? `${status.waiting_for.length} sites` : status.waiting_for.join(", ") || "nobody", status.waiting_for.length > 0],
    ["Neighbours there", `${status.neighbours.length - gone} of ${status.neighbours.length}`, gone > 0],
    ["Residual", small(status.residual)],
    ["Gap", small(status.gap)],
    ["Validation error", status.validation === null ? "–" : String(Number(status.validation.toPrecision(4)))],
    ["Sent", bytes(status.sent_bytes)],
    ["Received", bytes(status.received_bytes)],
    ["Frames refused", String(status.refused), status.refused > 0],
    ["Checkpoint", status.checkpoints ? `${((1000 * status.checkpoint_seconds) / status.checkpoints).toFixed(1)} ms` : "–"],
    ["Starts", String(status.epoch)],
    ["Records of frames sent", status.audit_records === null ? "–" : String(status.audit_records)],
  ];
  at("figures").replaceChildren(...rows.map(([name, text, warns]) => {
    const one = made("div", undefined, warns ? "warning" : "");
    one.append(made("dt", name), made("dd", text));
    return one;
  }));
};

const neighbours = (status) => {
  // Who needs a look comes first.
  const rank = (seen) => (seen.awaited ? 0 : seen.there ? 2 : 1);
  const all = [...status.neighbours].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, undefined, { numeric: true }));
  at("neighbours").tBodies[0].replaceChildren(...all.map((seen) => {
    const row = made("tr");
    const name = made("th", seen.name);
    name.scope = "row";
    const words = [seen.there ? "there" : "gone", ...(seen.awaited ? ["awaited"] : [])];
    row.append(
      name,
      made("td", words.join(", "), [seen.there ? "" : "gone", seen.awaited ? "awaited" : ""].join(" ").trim()),
      made("td", String(seen.round), "num"),
      made("td", bytes(seen.sent.bytes), "num"),
      made("td", bytes(seen.received.bytes), "num"),
    );
    return row;
  }));
  const note = status.waiting_for.length ? `Round ${status.round + 1} waits for ${status.waiting_for.length} of them.` : "";
  if (at("neighbours-note").textContent !== note) at("neighbours-note").textContent = note;
};

let shown = -1;
const events = ({ status, missed_events: missed }) => {
  const last = status.events.length ? status.events[status.events.length - 1].number : 0;
  if (last === shown) return;
  shown = last;
  const lines = [...status.events].reverse().map((event) => {
    const warns = event.kind === "warning" || event.kind === "refused";
    const line = made("li", undefined, warns ? "warning" : "");
    const when = made("time", time(event.time));
    when.dateTime = new Date(event.time * 1000).toISOString();
    line.append(when, event.text);
    return line;
  });
  if (missed) lines.push(made("li", `${missed} events came too fast to be shown`, "warning"));
  at("events").replaceChildren(...lines);
};

const show = (told) => {
  const { status } = told;
  document.title = `${status.process} · round ${status.round} · fedgrid`;
  at("site").textContent = status.process;
  at("made").textContent = `run ${status.run.slice(0, 8)}, manifest ${status.manifest}, version ${status.version}`;
  const waits = status.waiting_for.length > 0 && status.round_age_seconds > 2;
  phase(waits ? "waiting" : status.phase, waits || status.phase === "stopped" ? "bad" : "good");
  const last = status.events[status.events.length - 1];
  trouble(status.phase === "stopped" && last ? last.text : "");
  figures(status);
  neighbours(status);
  events(told);
  at("residual").innerHTML = told.residual ?? "<p class=\"small\">after two rounds</p>";
  at("gap-figure").hidden = told.gap === null;
  at("gap").innerHTML = told.gap ?? "";
  at("all").hidden = false;
};

// One connection, to its end.
const follow = async () => {
  const answer = await fetch("/events", { headers: { authorization: `Bearer ${token}` }, cache: "no-store" });
  if (answer.status === 401) return "token";
  if (!answer.ok) return "refused";
  trouble("");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return "ended";
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").find((line) => line.startsWith("data: "));
      if (data) show(JSON.parse(data.slice(6)));
    }
  }
};

const ask = (text) => {
  phase("no token", "bad");
  trouble(text);
  at("ask").hidden = false;
  at("token").focus();
};

const run = async () => {
  for (;;) {
    let why = "gone";
    try {
      why = await follow();
    } catch {
      // The agent has gone, or the network of this machine.
    }
    if (why === "token") return ask("The agent does not accept this token.");
    phase("agent not there", "bad");
    trouble("The agent does not answer; the page goes on when it is back.");
    await new Promise((wake) => setTimeout(wake, 1000));
  }
};

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  // In the address, for the next time that it is loaded; it is sent to nobody.
  history.replaceState(null, "", `#${encodeURIComponent(token)}`);
  at("ask").hidden = true;
  trouble("");
  run();
});
if (token) run();
else ask("");
