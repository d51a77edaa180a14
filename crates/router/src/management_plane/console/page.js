// The page: its buttons, how it is saved, and how it begins.

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
