// What is asked of the router: its points as they come, the way of a packet, heavy hitters.

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

/** Shows the way of a packet. @param {string} packet */
async function find(packet) {
  try {
    at("way").replaceChildren(way(await asked(`/console/explain?${packet}`)));
  } catch (error) {
    at("way").replaceChildren(element("p", String(error), "bad"));
  }
  at("way").scrollIntoView({ block: "nearest" });
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
