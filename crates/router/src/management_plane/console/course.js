// The course of all seconds: the chart and the events on its axis, and what shows both.

/** @param {string} name @param {Record<string, string | number>} attributes */
function drawn(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

function showChart() {
  const all = points.map(sums);
  // What is not forwarded is little beside what is: it has a scale of its own, below.
  const most = Math.max(1, ...all.map((one) => one.forwarded));
  const least = Math.max(1, ...all.map((one) => Math.max(one.kernel, one.dropped)));
  const step = 900 / Math.max(60, points.length - 1);
  const x = (/** @type {number} */ place) => Number((900 - (points.length - 1 - place) * step).toFixed(1));
  const y = (/** @type {number} */ value, /** @type {string} */ key) =>
    key === "forwarded" ? 140 - (value / most) * 125 : 216 - (value / least) * 66;
  const lines = /** @type {["forwarded" | "kernel" | "dropped", string][]} */ ([["forwarded", "s0"], ["kernel", "s1"], ["dropped", "s2"]]);
  const parts = lines.map(([key, kind]) => drawn("polyline", {
    class: kind,
    points: all.map((one, place) => `${x(place)},${y(one[key], key).toFixed(1)}`).join(" "),
  }));
  points.forEach((_, place) => {
    if (eventsOf(place).length > 0) parts.push(drawn("line", { class: "s7", x1: x(place), x2: x(place), y1: 0, y2: 12 }));
  });
  parts.push(drawn("line", { class: "base", x1: 0, x2: 900, y1: 145, y2: 145 }));
  const shown = x(points.length - 1 - back);
  parts.push(drawn("line", { class: "shown", x1: shown, x2: shown, y1: 0, y2: 220 }));
  at("chart").replaceChildren(...parts);
  at("most").textContent = rate(most);
  at("least").textContent = rate(least);
}

/** What happened in the second of the point at a place: the log's lines, and how many routes came or went. @param {number} place */
function eventsOf(place) {
  const point = points[place];
  const before = points[place - 1];
  if (!before) return point.events;
  const change = (/** @type {number} */ family, /** @type {string} */ name) => {
    const more = point.routes[family] - before.routes[family];
    return more === 0 ? "" : `${name} ${before.routes[family]} -> ${point.routes[family]}`;
  };
  const routes = [change(0, "IPv4"), change(1, "IPv6")].filter(Boolean).join(", ");
  return routes ? [...point.events, { time_ms: point.time_ms, level: "info", name: "routes", text: routes }] : point.events;
}

function showEvents() {
  const all = points.flatMap((_, place) => eventsOf(place)).slice(-200).reverse();
  const list = at("events");
  const key = all.map((event) => event.time_ms + event.name + event.text).join();
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  if (all.length === 0) {
    list.replaceChildren(element("li", "None in this time.", "quiet"));
    return;
  }
  list.replaceChildren(...all.map((event) => {
    const line = element("li", undefined, event.level);
    line.append(element("b", `${clock(event.time_ms)} ${event.level}`), ` ${event.name} ${event.text}`);
    return line;
  }));
}

function show() {
  const point = points[points.length - 1 - back];
  if (!point) return;
  const when = input("when");
  when.max = String(Math.max(0, points.length - 1));
  when.value = String(points.length - 1 - back);
  at("time").textContent = back === 0 && live ? `now, ${clock(point.time_ms)}` : clock(point.time_ms);
  when.setAttribute("aria-valuetext", clock(point.time_ms));
  showVerdict(point);
  showChart();
  showPorts(point);
  showCores(point);
  showReasons(point);
  showEvents();
  if (performance.getEntriesByName("picture").length === 0) performance.mark("picture");
}
