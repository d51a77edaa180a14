// What one second shows: ports, cores, reasons with their frames, and the verdict.

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
    details.querySelectorAll(":scope > p").forEach((line, place) => { line.textContent = said[place]; });
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
