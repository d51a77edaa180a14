"use strict";
// The console's script: keeps the points that the router sends, one a second, and shows one of them with
// the course of all. A saved page is this page with its points in it.

/** @typedef {{time_ms: number, level: string, name: string, text: string}} Said */
/**
 * @typedef {{time_ms: number, seconds: number, engine: string, cores: number, healthy: boolean, ready: boolean,
 *   draining: boolean, why: string[], routes: number[], lag_seconds: number, equal: boolean | null,
 *   carried: [string, number, number[]][], left: [string, number, string, boolean, number][],
 *   events: Said[]}} Point
 */
/** @typedef {{received: number, bits: number, forwarded: number, forwardedBits: number}} PortSum */
/** @typedef {{received: number, forwarded: number, kernel: number, dropped: number}} CoreSum */
/** @typedef {{meaning: string, remedy: string | null, kernel: boolean}} Reason */
/**
 * @typedef {{time_ms: number, port: string, fate: string, reason: string | null, egress: string | null,
 *   prefix: string | null, core: number, vlan: number | null, from?: string, to?: string, protocol?: number,
 *   source_port?: number | null, destination_port?: number | null, ttl?: number, wire_length: number,
 *   bytes: string}} Frame
 */
/** @typedef {{what: string, samples: number, frames_per_second: number, low: number, high: number, bits_per_second: number}} Hitter */

const MOST = 900;
/** Balance is judged by so many seconds, and by so many frames at least. */
const JUDGED = 10;
const ENOUGH = 1000;
/** A router that has said nothing for so long has stopped, milliseconds. */
const SILENT = 3000;
/** Frames of a recording that are shown. */
const SHOWN = 50;
/** @type {Point[]} */
let points = [];
/** Points that came while the page was paused. @type {Point[]} */
let waiting = [];
let paused = false;
/** The shown point counted from the last; 0: the last. */
let back = 0;
let live = false;

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @param {string} id */
const input = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
/** @type {Record<string, Reason>} */
const REASONS = JSON.parse(at("known").textContent || "{}").reasons;
const hash = new URLSearchParams(location.hash.slice(1));
const token = hash.get("token") || "";
const wanted = hash.get("reason");

/** @param {string} name @param {string} [text] @param {string} [kind] */
function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

/** @param {number} number @param {string} unit */
function prefixed(number, unit) {
  for (const [size, letter] of /** @type {[number, string][]} */ ([[1e9, "G"], [1e6, "M"], [1e3, "k"]])) {
    if (number >= size) return `${(number / size).toPrecision(3)} ${letter}${unit}`;
  }
  return `${number >= 10 || Number.isInteger(number) ? number.toFixed(0) : number.toPrecision(2)} ${unit}`;
}
/** @param {number} number */
const rate = (number) => prefixed(number, "/s").replace(" /s", "/s");
/** @param {number} number */
const bits = (number) => prefixed(number, "bit/s");
/** @param {number} ms */
const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

/** What a point says of all ports together, a second. @param {Point} point */
function sums(point) {
  let received = 0, forwarded = 0, kernel = 0, dropped = 0;
  for (const [, , figures] of point.carried) {
    received += figures[0];
    forwarded += figures[2];
  }
  for (const [, , , punted, frames] of point.left) {
    if (punted) kernel += frames;
    else dropped += frames;
  }
  const of = (/** @type {number} */ frames) => frames / point.seconds;
  return { received: of(received), forwarded: of(forwarded), kernel: of(kernel), dropped: of(dropped) };
}

/** @param {string} id @param {(string | HTMLElement)[][]} rows @param {string[]} kinds */
function fill(id, rows, kinds) {
  const body = at(id).querySelector("tbody");
  if (!body) return;
  body.replaceChildren(...rows.map((row) => {
    const line = element("tr");
    row.forEach((cell, place) => {
      const made = element("td", undefined, kinds[place]);
      made.append(cell);
      line.append(made);
    });
    return line;
  }));
}

/** @param {Point} point */
function showPorts(point) {
  /** @type {Map<string, PortSum>} */
  const ports = new Map();
  // One that was seen before is there, without frames.
  for (const one of points) {
    for (const [name] of one.carried) ports.set(name, { received: 0, bits: 0, forwarded: 0, forwardedBits: 0 });
  }
  for (const [name, , [received, bytes, forwarded, forwardedBytes]] of point.carried) {
    const sum = ports.get(name) || { received: 0, bits: 0, forwarded: 0, forwardedBits: 0 };
    sum.received += received / point.seconds;
    sum.bits += (bytes * 8) / point.seconds;
    sum.forwarded += forwarded / point.seconds;
    sum.forwardedBits += (forwardedBytes * 8) / point.seconds;
    ports.set(name, sum);
  }
  const rows = [...ports].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, sum]) => [
    name, rate(sum.received), bits(sum.bits), rate(sum.forwarded), bits(sum.forwardedBits),
  ]);
  fill("ports", rows, ["", "n", "n", "n", "n"]);
}

/** @param {Point} point */
function showCores(point) {
  /** @type {Map<number, CoreSum>} */
  const cores = new Map();
  const of = (/** @type {number} */ core) => {
    const sum = cores.get(core) || { received: 0, forwarded: 0, kernel: 0, dropped: 0 };
    cores.set(core, sum);
    return sum;
  };
  for (const one of points) {
    for (const [, core] of one.carried) of(core);
  }
  for (const [, core, [received, , forwarded]] of point.carried) {
    of(core).received += received / point.seconds;
    of(core).forwarded += forwarded / point.seconds;
  }
  for (const [, core, , punted, frames] of point.left) {
    if (punted) of(core).kernel += frames / point.seconds;
    else of(core).dropped += frames / point.seconds;
  }
  const all = [...cores].sort(([one], [other]) => one - other);
  const most = Math.max(0, ...all.map(([, sum]) => sum.received));
  const rows = all.map(([core, sum]) => {
    const bar = element("i");
    bar.style.width = `${most > 0 ? (sum.received / most) * 100 : 0}%`;
    return [String(core), rate(sum.received), bar, rate(sum.forwarded), rate(sum.kernel), rate(sum.dropped)];
  });
  fill("cores", rows, ["", "n", "bar", "n", "n", "n"]);
  at("balance").replaceChildren(...balance(point).map((line) => element("p", line)));
}

/** What the seconds up to a point say of the share of the work that each core has. @param {Point} point */
function balance(point) {
  /** @type {Map<number, number>} */
  const cores = new Map();
  const last = points.indexOf(point) + 1;
  for (const one of points.slice(Math.max(0, last - JUDGED), last)) {
    for (const [, core, [received]] of one.carried) cores.set(core, (cores.get(core) || 0) + received);
  }
  const all = Math.max(point.cores, cores.size);
  const sum = [...cores.values()].reduce((sum, one) => sum + one, 0);
  if (all < 2) return [];
  if (sum < ENOUGH) return [`Fewer than ${ENOUGH} frames in ${JUDGED} seconds: too few to judge.`];
  const [hot, most] = [...cores].reduce((one, other) => (other[1] > one[1] ? other : one));
  const share = `${((most / sum) * 100).toFixed(0)} % of the frames`;
  if (most <= (1.25 * sum) / all) return [`Even: no core of ${all} receives more than ${share}.`];
  return [
    `Uneven: core ${hot} of ${all} receives ${share}.`,
    "The device gives frames to cores: one queue for each, and all frames of a flow to the same.",
    "What to do: corelane tune PORT says how many queues there are; below, take samples: is it one flow?",
  ];
}

/** @param {Point} point */
function showReasons(point) {
  /** @type {Map<string, {now: number, all: number, ports: Set<string>, kernel: boolean}>} */
  const reasons = new Map();
  for (const one of points) {
    for (const [port, , reason, punted, frames] of one.left) {
      const sum = reasons.get(reason) || { now: 0, all: 0, ports: new Set(), kernel: punted };
      sum.all += frames;
      sum.ports.add(port);
      if (one === point) sum.now += frames / one.seconds;
      reasons.set(reason, sum);
    }
  }
  const rows = [...reasons].sort(([, one], [, other]) => other.now - one.now || other.all - one.all);
  const home = at("reasons");
  const known = new Map([...home.children].map((child) => [child.id, /** @type {HTMLDetailsElement} */ (child)]));
  if (rows.length === 0) {
    home.replaceChildren(element("p", "Every frame of this time was forwarded.", "quiet"));
    return;
  }
  // A reason that is open stays open, and what is focused keeps the focus.
  const shown = rows.map(([name, sum]) => {
    const id = `reason-${name}`;
    let details = known.get(id);
    if (!details) {
      details = /** @type {HTMLDetailsElement} */ (element("details"));
      details.id = id;
      const summary = element("summary");
      summary.append(element("b", name), element("span"), element("span"));
      details.append(summary, element("p"), element("p"), element("p"), element("div"));
      details.addEventListener("toggle", () => { if (details?.open) look(name); });
      // A link from elsewhere may name a reason.
      if (name === wanted) details.setAttribute("open", "");
    }
    const [now, all] = details.querySelectorAll("summary span");
    now.textContent = rate(sum.now);
    all.textContent = `${sum.all.toLocaleString("en-GB")} in view`;
    const about = REASONS[name] || { meaning: "", remedy: null, kernel: sum.kernel };
    const said = [
      about.meaning,
      `${sum.kernel ? "Linux decides about these frames." : "Corelane drops them."} They came by ${[...sum.ports].join(", ")}.`,
      about.remedy ? `What to do: ${about.remedy}` : "Nothing is wrong with the router.",
    ];
    details.querySelectorAll("p").forEach((line, place) => { line.textContent = said[place]; });
    return details;
  });
  const order = [...home.children];
  if (order.length !== shown.length || order.some((child, place) => child !== shown[place])) {
    const focused = document.activeElement;
    home.replaceChildren(...shown);
    if (focused instanceof HTMLElement && home.contains(focused)) focused.focus();
  }
}

/** Frames of a recording. @type {Frame[]} */
let sampled = [];
/** Why it was made. @type {{trigger: string, said: string} | null} */
let why = null;
/** What is known of frames by the reason. @type {Record<string, {frames: Frame[], failed: string | null}>} */
let looked = {};

/** @param {string} hex */
function dump(hex) {
  const lines = [];
  for (let at = 0; at < hex.length; at += 32) lines.push((hex.slice(at, at + 32).match(/.{1,4}/g) || []).join(" "));
  return lines.join("\n");
}

/** @param {Frame} frame */
function shownFrame(frame) {
  const end = (/** @type {string} */ address, /** @type {number | null | undefined} */ port) =>
    port === null || port === undefined ? address : `${address.includes(":") ? `[${address}]` : address}:${port}`;
  const home = element("div", undefined, "frame");
  const packet = frame.from && frame.to
    ? `${end(frame.from, frame.source_port)} > ${end(frame.to, frame.destination_port)}, protocol ${frame.protocol}, ttl ${frame.ttl}`
    : `type ${frame.bytes.slice(24, 28)}`;
  const line = element("p", `${clock(frame.time_ms)} ${frame.port}${frame.vlan === null ? "" : ` VLAN ${frame.vlan}`} ${packet}, ${frame.wire_length} bytes, core ${frame.core}${frame.prefix ? `, prefix ${frame.prefix}` : ""}${frame.egress ? `, left by ${frame.egress}` : ""} `);
  if (frame.to && live) {
    const button = element("button", "Find its way");
    button.addEventListener("click", () => find(`to=${frame.to}&from=${frame.from}&port=${frame.port}`));
    line.append(button);
  }
  home.append(line, element("pre", dump(frame.bytes)));
  return home;
}

/** Shows the last frames of a reason that is open. @param {string} name */
function showFrames(name) {
  const home = at(`reason-${name}`)?.querySelector("div");
  const known = looked[name];
  if (!home || !known) return;
  const said = known.failed ? `No frames: ${known.failed}`
    : known.frames.length === 0 ? "The next frames of this reason are shown as they come." : "The last frames of this reason:";
  const key = said + known.frames.map((frame) => frame.time_ms + frame.bytes).join();
  if (home.dataset.key === key) return;
  home.dataset.key = key;
  home.replaceChildren(element("p", said, "quiet"), ...known.frames.map(shownFrame));
}

/** Reasons that are asked about. @type {Set<string>} */
const looking = new Set();

/** Asks for the last frames of a reason as long as it is open and somebody sees the page. @param {string} name */
async function look(name) {
  showFrames(name);
  if (!live || looking.has(name)) return;
  looking.add(name);
  while (live && /** @type {HTMLDetailsElement | null} */ (at(`reason-${name}`))?.open) {
    if (!document.hidden && !paused) {
      try {
        looked[name] = await asked(`/console/frames?reason=${encodeURIComponent(name)}`);
      } catch (error) {
        looked[name] = { frames: [], failed: String(error) };
      }
      showFrames(name);
    }
    await new Promise((done) => setTimeout(done, 1500));
  }
  looking.delete(name);
}

/** @param {Point} point */
function showVerdict(point) {
  const box = at("verdict");
  /** @type {string[]} */
  const lines = [];
  const first = !point.healthy ? "Nobody vouches for the routes: Linux forwards."
    : point.draining ? "Draining: traffic is led around this router."
      : !point.ready ? "Healthy, but not ready." : "Healthy and ready.";
  const now = sums(point);
  lines.push(`${first} ${rate(now.forwarded)} forwarded, ${rate(now.kernel)} to the kernel, ${rate(now.dropped)} dropped.`);
  lines.push(...point.why);
  const equal = point.equal === null ? "not compared with the kernel yet"
    : point.equal ? "equal to the kernel's" : "DIFFERENT from the kernel's: corelane verify";
  lines.push(`${point.routes[0].toLocaleString("en-GB")} routes of IPv4, ${point.routes[1].toLocaleString("en-GB")} of IPv6, ${equal}; latest change after ${(point.lag_seconds * 1e3).toFixed(2)} ms.`);
  const bad = !point.healthy || !point.ready || point.equal === false;
  box.className = bad ? "verdict bad" : "verdict";
  const texts = [...box.children].map((child) => child.textContent);
  // A screen reader says what changes: rates do all the time.
  if (texts.length !== lines.length || texts.some((text, place) => text !== lines[place])) {
    box.replaceChildren(...lines.map((line) => element("p", line)));
  }
  at("engine").textContent = `engine ${point.engine}`;
}

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

/** @param {Point[]} more */
function take(more) {
  if (paused) {
    waiting = [...waiting, ...more].slice(-MOST);
    return;
  }
  points = [...points, ...more].slice(-MOST);
  // Who looks back keeps looking at the same second.
  if (back > 0) back = Math.min(back + more.length, points.length - 1);
  show();
}

/** When the last points came, by the browser's clock. */
let came = 0;

/** Says when the router has fallen silent. */
function listen() {
  const silent = Date.now() - came;
  if (!live || silent < SILENT) return;
  say(`the router has said nothing for ${Math.round(silent / 1000)} s: it is stopped, hung or cut off. Frames go by the routes that it knew until stale-milliseconds have passed; then Linux forwards. What to do: look at its process and its log`);
}

/** @param {string} text */
function say(text) {
  at("state").textContent = text;
}

function follow() {
  const source = new EventSource(`/console/events?token=${encodeURIComponent(token)}`);
  /** Points of one moment are shown together. @type {Point[]} */
  let batch = [];
  source.onopen = () => {
    points = [];
    waiting = [];
    live = true;
    came = Date.now();
    say("live");
  };
  source.onmessage = (event) => {
    if (Date.now() - came >= SILENT) say("live");
    came = Date.now();
    if (batch.length === 0) setTimeout(() => { take(batch); batch = []; }, 0);
    batch.push(JSON.parse(event.data));
  };
  source.addEventListener("peers", (event) => {
    /** @type {string[]} */
    const peers = JSON.parse(event.data);
    at("peers").hidden = peers.length === 0;
    at("peers").replaceChildren("Other routers: ", ...peers.map((peer) => {
      const link = /** @type {HTMLAnchorElement} */ (element("a", peer.replace(/^https?:\/\//, "").replace(/\/$/, "")));
      link.href = peer;
      link.rel = "noreferrer";
      return link;
    }));
  });
  source.onerror = () => {
    live = false;
    say(source.readyState === EventSource.CLOSED
      ? "the router does not answer: is the token right (/#token=…), are there many viewers?"
      : "the router does not answer; trying again");
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}

/** @param {string} path */
async function asked(path) {
  const answer = await fetch(`${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(token)}`, { headers: { "X-Corelane": "1" } });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** @param {[string, unknown][]} pairs */
function list(pairs) {
  const made = element("dl");
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== "") {
      made.append(element("dt", name), element("dd", String(value)));
    }
  }
  return made;
}

/** The way of a packet, as `corelane explain` says it. @param {any} told */
function way(told) {
  if (told.error) return element("p", told.error, "bad");
  const hop = told.next_hop || {};
  const made = list([
    ["becomes", told.reason ? `${told.fate}: ${told.reason.name}` : told.fate],
    ["says", told.reason && told.reason.meaning],
    ["decided by", told.reason && told.reason.decided_by],
    ["what to do", told.reason && told.reason.remedy],
    ["comes by", `${told.frame.port}${told.frame.vlan ? ` VLAN ${told.frame.vlan}` : ""}, from ${told.frame.from}`],
    ["table", `${told.table}${told.vrf ? ` (${told.vrf})` : ""}`],
    ["longest prefix", told.prefix && `${told.prefix.prefix}, ${told.prefix.kind}`],
    ["member", hop.group && `${hop.group.member} of ${hop.group.members} in ${hop.group.buckets} buckets`],
    ["neighbour", hop.neighbour && `${hop.neighbour} ${hop.mac || ""} ${hop.state || ""}`],
    ["leaves by", told.fate === "forwarded" ? hop.egress : ""],
    ["MTU", hop.mtu || ""],
    ["the kernel then", told.then],
    ["the kernel alone", told.kernel && [told.kernel.answer, told.kernel.egress, told.kernel.gateway, told.kernel.error].filter(Boolean).join(" ")],
  ]);
  for (const difference of told.differences) made.append(element("dt", "DIFFERENT"), element("dd", difference, "bad"));
  return made;
}

/** @param {string} heading @param {Hitter[]} rows */
function hitterTable(heading, rows) {
  const table = element("table");
  const head = element("tr");
  head.append(element("th", heading), ...["about", "between", "and", ""].map((name) => element("th", name, "n")));
  const part = element("thead");
  part.append(head);
  const body = element("tbody");
  for (const row of rows.slice(0, 8)) {
    const line = element("tr");
    line.append(element("td", row.what, "wide"), element("td", rate(row.frames_per_second), "n"), element("td", rate(row.low), "n"), element("td", rate(row.high), "n"), element("td", bits(row.bits_per_second), "n"));
    body.append(line);
  }
  table.append(part, body);
  const home = element("div", undefined, "scroll");
  home.tabIndex = 0;
  home.setAttribute("role", "region");
  home.setAttribute("aria-label", heading);
  home.append(table);
  return home;
}

/** What was shown last, for a page that is saved. @type {any} */
let hitters = null;

function showHitters() {
  if (!hitters) return;
  at("sampled").textContent = hitters.failed
    ? `No samples: ${hitters.failed}`
    : `By ${hitters.samples} samples of ${Math.round(hitters.seconds)} s, one frame in ${hitters.every}. The true rate is in its interval in 95 of 100 cases.`;
  at("hitters").replaceChildren(...(hitters.samples > 0
    ? [hitterTable("most frames to", hitters.prefixes), hitterTable("from", hitters.sources), hitterTable("of the flow", hitters.flows)]
    : []));
}

async function watch() {
  while (at("watch").getAttribute("aria-pressed") === "true") {
    try {
      hitters = (await asked("/console/hitters")).hitters;
      showHitters();
    } catch (error) {
      at("sampled").textContent = String(error);
    }
    await new Promise((done) => setTimeout(done, 1500));
  }
}

/** This page with its points in it, which shows them without a router. */
function saved() {
  const copy = /** @type {HTMLElement} */ (document.documentElement.cloneNode(true));
  const frames = [...sampled, ...Object.values(looked).flatMap((one) => one.frames)];
  const data = JSON.stringify({ points, hitters, frames, why }).replaceAll("<", "\\u003c");
  const recorded = copy.querySelector("#recorded");
  if (recorded) recorded.textContent = data;
  for (const id of ["chart", "reasons", "events", "hitters", "way"]) copy.querySelector(`#${id}`)?.replaceChildren();
  copy.querySelector("#events")?.removeAttribute("data-key");
  return `<!doctype html>\n${copy.outerHTML}`;
}

/** @param {HTMLElement} button @param {boolean} is */
function press(button, is) {
  button.setAttribute("aria-pressed", String(is));
}

at("pause").addEventListener("click", () => {
  paused = !paused;
  press(at("pause"), paused);
  if (!paused) {
    const more = waiting;
    waiting = [];
    take(more);
  }
});
at("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([saved()], { type: "text/html" }));
  link.download = `corelane-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
at("when").addEventListener("input", () => {
  back = points.length - 1 - Number(input("when").value);
  show();
});
/** Shows the way of a packet. @param {string} packet */
async function find(packet) {
  try {
    at("way").replaceChildren(way(await asked(`/console/explain?${packet}`)));
  } catch (error) {
    at("way").replaceChildren(element("p", String(error), "bad"));
  }
  at("way").scrollIntoView({ block: "nearest" });
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const address = input("address").value.trim();
  if (address) find(`to=${encodeURIComponent(address)}`);
});
at("watch").addEventListener("click", () => {
  const is = at("watch").getAttribute("aria-pressed") !== "true";
  press(at("watch"), is);
  if (is) watch();
});

const recorded = at("recorded").textContent;
if (recorded && recorded.trim()) {
  ({ points, hitters, frames: sampled, why = null } = JSON.parse(recorded));
  for (const frame of sampled) {
    if (frame.reason === null) continue;
    const known = (looked[frame.reason]?.frames || []).concat(frame).slice(-3);
    looked[frame.reason] = { frames: known, failed: null };
  }
  at("sampled-frames").hidden = sampled.length === 0;
  at("frames").replaceChildren(...sampled.slice(-SHOWN).reverse().map((frame) => {
    const home = shownFrame(frame);
    home.prepend(element("b", frame.reason ? `${frame.fate}: ${frame.reason}` : frame.fate));
    return home;
  }));
  press(at("pause"), false);
  for (const id of ["pause", "watch", "address"]) /** @type {HTMLButtonElement} */ (at(id)).disabled = true;
  /** @type {HTMLButtonElement} */ (document.querySelector("#ask button")).disabled = true;
  const last = points[points.length - 1];
  say(`a recording${last ? ` until ${new Date(last.time_ms).toLocaleString("en-GB")}` : ""}${why ? `: ${why.said}` : ""}`);
  show();
  showHitters();
} else {
  follow();
  setInterval(listen, 1000);
}
