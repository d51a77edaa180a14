// @ts-check
"use strict";
/**
 * Draws what each core and thread did. One call a picture; the data are columns of variable-length numbers (see `Columns` in
 * page.rs), deflated, in base64. A million slices stay quick because a row that is denser than the screen is drawn from bins
 * made once: for every bin the thread that had most of it and how much of it was busy.
 *
 * @typedef {{ name: string, tid: number, role: number }} Thread
 * @typedef {{ label: string, kind: "core"|"thread"|"lock", thread: number, start: Float64Array, end: Float64Array,
 *   what: Uint32Array, waker: Uint32Array|null, bins: { width: number, what: Uint32Array, busy: Float32Array }|null }} Row
 * @param {string} id
 * @param {string} data
 * @param {number} length of the data inflated
 */
function corelaneTimeline(id, data, length) {
  const started = performance.now();
  const figure = /** @type {HTMLElement} */ (document.getElementById(id));
  const canvas = /** @type {HTMLCanvasElement} */ (figure.querySelector("canvas"));
  const tip = /** @type {HTMLElement} */ (figure.querySelector(".timeline-tip"));
  const where = /** @type {HTMLElement} */ (figure.querySelector(".timeline-where"));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

  const bytes = corelaneInflate(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), length);
  let at = 0;
  const number = () => {
    let value = 0, scale = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  };
  const decoder = new TextDecoder();
  const text = () => {
    const length = number();
    at += length;
    return decoder.decode(bytes.subarray(at - length, at));
  };

  const wall = Math.max(number(), 1);
  /** @type {Thread[]} */
  const threads = [];
  for (let count = number(); count > 0; count--) threads.push({ tid: number(), role: number(), name: text() });
  /** @type {Row[]} */
  const rows = [];
  /** @param {string} label @param {Row["kind"]} kind @param {number} thread @param {number}
   * count @param {boolean} gaps @returns {Row} */
  const columns = (label, kind, thread, count, gaps) => {
    const start = new Float64Array(count), end = new Float64Array(count), what = new Uint32Array(count);
    for (let i = 0; i < count; i++) start[i] = number();
    let now = 0;
    for (let i = 0; i < count; i++) {
      const length = number();
      now += start[i];
      start[i] = now;
      end[i] = now + length;
      if (gaps) now += length;
    }
    for (let i = 0; i < count; i++) what[i] = number();
    return { label, kind, thread, start, end, what, waker: null, bins: null };
  };
  for (let count = number(); count > 0; count--) {
    const cpu = number();
    rows.push(columns(`core ${cpu}`, "core", 0, number(), true));
  }
  for (let count = number(); count > 0; count--) {
    const thread = number();
    const row = columns(threads[thread].name, "thread", thread, number(), true);
    row.waker = new Uint32Array(row.start.length);
    for (let i = 0; i < row.waker.length; i++) row.waker[i] = number();
    rows.push(row);
  }
  for (let count = number(); count > 0; count--) {
    const label = text();
    rows.push(columns(label, "lock", 0, number(), false));
  }
  const slices = rows.reduce((sum, row) => sum + row.start.length, 0);

  // Okabe and Ito's colours, told apart by everybody; the program's threads first.
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#b8a800", "#7a5195"];
  /** @type {string[]} */
  const colours = [];
  let next = 0;
  const order = rows.filter((row) => row.kind === "thread").map((row) => row.thread);
  for (const thread of order) colours[thread] = palette[next++ % palette.length];
  threads.forEach((thread, index) => {
    colours[index] ??= thread.role === 0 ? palette[next++ % palette.length] : ["", "#8c7f99", "#6f8f8d", "#3c4650", "", "#b0b0b0"][thread.role];
  });
  const states = ["#f2b134", "#c9432f", "#8e1b0e", "#8a6d3b", "#c8ced4", "#7fa8c9", "#b9aed0", "#e3e6e9"];
  // A thread that sleeps stays in the background, which may be dark.
  const darkStates = states.map((state, what) => (what === 4 ? "#4a545d" : what === 7 ? "#39424a" : state));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stateNames = ["ready, no core", "waits for a lock", "waits for a kernel lock", "waits for a disk or page", "sleeps", "waits for a device or the network", "waits for a message", "waits"];
  /** @param {Row} row @param {number} what */
  const colour = (row, what) => (row.kind === "thread" ? (what < 8 ? (dark.matches ? darkStates : states)[what] : colours[row.thread]) : colours[what]);

  /** Bins for rows that are denser than a screen. @param {Row} row */
  const bin = (row) => {
    const count = 1 << 14;
    if (row.start.length < count) return;
    const width = wall / count, what = new Uint32Array(count), busy = new Float32Array(count), longest = new Float32Array(count);
    for (let i = 0; i < row.start.length; i++) {
      let from = row.start[i];
      const to = row.end[i];
      while (from < to) {
        const place = Math.min(count - 1, Math.floor(from / width));
        const until = place === count - 1 ? to : Math.min(to, (place + 1) * width);
        const part = until - from;
        busy[place] += part;
        if (part > longest[place]) {
          longest[place] = part;
          what[place] = row.what[i];
        }
        if (until <= from) break;
        from = until;
      }
    }
    row.bins = { width, what, busy };
  };
  rows.forEach(bin);

  const heights = { core: 26, thread: 18, lock: 18 };
  const gap = 4, axis = 22, section = 10;
  let left = 0, right = wall, width = 0, label = 120;
  /** @type {number[]} */
  let tops = [];

  /** The first slice that ends after `time`. @param {Row} row @param {number} time */
  const first = (row, time) => {
    let low = 0, high = row.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.end[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  /** @param {number} ns */
  const duration = (ns) => (ns < 1e3 ? `${Math.round(ns)} ns` : ns < 1e6 ? `${(ns / 1e3).toPrecision(3)} µs` : ns < 1e9 ? `${(ns / 1e6).toPrecision(3)} ms` : `${(ns / 1e9).toPrecision(3)} s`);

  const layout = () => {
    width = figure.clientWidth;
    label = width < 600 ? 84 : 150;
    let y = axis;
    tops = [];
    rows.forEach((row, index) => {
      if (index > 0 && rows[index - 1].kind !== row.kind) y += section;
      tops.push(y);
      y += heights[row.kind] + gap;
    });
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((y + 4) * ratio);
    canvas.style.height = `${y + 4}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  };

  /** @param {Row} row @param {number} top */
  const drawRow = (row, top) => {
    const plot = width - label, scale = plot / (right - left), height = heights[row.kind];
    const pixel = 1 / scale;
    context.fillStyle = dark.matches ? "#ffffff12" : "#00000009";
    context.fillRect(label, top, plot, height);
    if (row.bins && row.bins.width <= pixel * 1.5) {
      for (let x = 0; x < plot; x++) {
        const from = Math.floor((left + x * pixel) / row.bins.width), to = Math.max(from + 1, Math.floor((left + (x + 1) * pixel) / row.bins.width));
        let busy = 0, most = 0, what = 0;
        for (let i = Math.max(from, 0); i < Math.min(to, row.bins.busy.length); i++) {
          busy += row.bins.busy[i];
          if (row.bins.busy[i] > most) {
            most = row.bins.busy[i];
            what = row.bins.what[i];
          }
        }
        const share = Math.min(1, busy / ((to - from) * row.bins.width));
        if (share <= 0) continue;
        context.fillStyle = colour(row, what);
        const part = row.kind === "thread" ? height : Math.max(1, height * share);
        context.fillRect(label + x, top + height - part, 1, part);
      }
      return;
    }
    let last = -1;
    for (let i = first(row, left); i < row.start.length && row.start[i] < right; i++) {
      const x0 = Math.max(0, (row.start[i] - left) * scale), x1 = Math.min(plot, (row.end[i] - left) * scale);
      const from = Math.floor(x0 * 2) / 2;
      if (x1 - from < 0.5 && from === last) continue;
      last = from;
      const what = row.what[i];
      context.fillStyle = colour(row, what);
      const thin = row.kind === "thread" && what < 8;
      const inset = thin ? height * (what < 3 ? 0.2 : 0.38) : 0;
      context.fillRect(label + from, top + inset, Math.max(0.75, x1 - from), height - 2 * inset);
      if (x1 - x0 > 60 && !thin) {
        const name = row.kind === "thread" ? `core ${what - 8}` : threads[what].name;
        context.fillStyle = "#fff";
        context.fillText(name, label + x0 + 4, top + height / 2 + 4, x1 - x0 - 8);
      }
    }
  };

  /** Arrows from waker to woken, when there are few enough to follow. */
  const drawArrows = () => {
    const scale = (width - label) / (right - left), most = 160;
    /** @type {number[][]} */
    const arrows = [];
    /** @type {Map<number, number>} */
    const places = new Map();
    rows.forEach((row, index) => row.kind === "thread" && places.set(row.thread, index));
    rows.forEach((row, index) => {
      if (!row.waker || arrows.length > most) return;
      for (let i = first(row, left); i < row.start.length && row.end[i] < right; i++) {
        const from = row.waker[i] ? places.get(row.waker[i] - 1) : undefined;
        if (from === undefined || from === index) continue;
        arrows.push([(row.end[i] - left) * scale, from, index]);
        if (arrows.length > most) return;
      }
    });
    if (arrows.length > most) return;
    context.strokeStyle = context.fillStyle = dark.matches ? "#e8e8e8" : "#222";
    context.lineWidth = 1;
    for (const [x, from, to] of arrows) {
      const y0 = tops[from] + heights[rows[from].kind] / 2, y1 = to > from ? tops[to] : tops[to] + heights[rows[to].kind];
      const step = to > from ? -4 : 4;
      context.beginPath();
      context.moveTo(label + x, y0);
      context.lineTo(label + x, y1);
      context.stroke();
      context.beginPath();
      context.moveTo(label + x, y1);
      context.lineTo(label + x - 2.5, y1 + step);
      context.lineTo(label + x + 2.5, y1 + step);
      context.fill();
    }
  };

  const draw = () => {
    const ink = dark.matches ? "#e6e8ea" : "#22262a";
    context.clearRect(0, 0, width, canvas.height);
    context.font = "12px system-ui, sans-serif";
    const plot = width - label, span = right - left;
    const wanted = span / Math.max(2, plot / 110), power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= wanted) ?? wanted;
    context.fillStyle = ink;
    for (let time = Math.ceil(left / step) * step; time < right; time += step) {
      const x = label + ((time - left) / span) * plot;
      context.globalAlpha = 0.15;
      context.fillRect(x, axis - 4, 1, canvas.height);
      context.globalAlpha = 0.8;
      const words = duration(time);
      if (x + context.measureText(words).width < width) context.fillText(words, x + 3, 13);
    }
    context.globalAlpha = 1;
    rows.forEach((row, index) => {
      context.fillStyle = row.kind === "thread" ? colours[row.thread] : ink;
      if (row.kind === "thread") context.fillRect(0, tops[index] + 4, 4, heights[row.kind] - 8);
      context.fillStyle = ink;
      const words = row.label;
      let cut = words;
      while (cut.length > 3 && context.measureText(cut).width > label - 16) cut = cut.slice(0, -2);
      context.fillText(cut === words ? words : `${cut}…`, 8, tops[index] + heights[row.kind] / 2 + 4);
      drawRow(row, tops[index]);
    });
    drawArrows();
    where.textContent = `${duration(left)} to ${duration(right)} of ${duration(wall)}`;
  };

  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
  /** @param {number} from @param {number} to */
  const show = (from, to) => {
    const span = Math.min(wall, Math.max(200, to - from));
    left = Math.min(Math.max(0, from), wall - span);
    right = left + span;
    redraw();
  };
  /** @param {number} factor @param {number} [x] */
  const zoom = (factor, x = label + (width - label) / 2) => {
    const share = Math.min(1, Math.max(0, (x - label) / (width - label))), time = left + share * (right - left), span = (right - left) * factor;
    show(time - share * span, time + (1 - share) * span);
  };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const move = (event.deltaX / (width - label)) * (right - left);
      show(left + move, right + move);
    } else zoom(Math.exp(event.deltaY * 0.0016), event.offsetX);
  }, { passive: false });
  /** @type {Map<number, PointerEvent>} */
  const pointers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hint(event);
    tip.hidden = true;
    const others = [...pointers.values()].filter((other) => other.pointerId !== event.pointerId);
    if (others.length === 1) {
      const fixed = others[0].offsetX, old = Math.abs(before.offsetX - fixed), now = Math.abs(event.offsetX - fixed);
      if (old > 8 && now > 8) zoom(old / now, fixed);
    } else {
      const move = ((before.offsetX - event.offsetX) / (width - label)) * (right - left);
      show(left + move, right + move);
    }
    pointers.set(event.pointerId, event);
  });
  for (const kind of /** @type {const} */ (["pointerup", "pointercancel"])) canvas.addEventListener(kind, (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("keydown", (event) => {
    const move = (right - left) * 0.2;
    if (event.key === "ArrowLeft") show(left - move, right - move);
    else if (event.key === "ArrowRight") show(left + move, right + move);
    else if (event.key === "+" || event.key === "=") zoom(0.6);
    else if (event.key === "-") zoom(1.7);
    else if (event.key === "0") show(0, wall);
    else return;
    event.preventDefault();
  });
  figure.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
    const what = button.dataset["do"];
    if (what === "all") show(0, wall);
    else zoom(what === "in" ? 0.5 : 2);
  }));

  /** @param {PointerEvent} event */
  const hint = (event) => {
    const index = tops.findIndex((top, row) => event.offsetY >= top && event.offsetY < top + heights[rows[row].kind]);
    tip.hidden = true;
    if (index < 0 || event.offsetX < label) return;
    const row = rows[index], time = left + ((event.offsetX - label) / (width - label)) * (right - left);
    const i = first(row, time);
    if (i >= row.start.length || row.start[i] > time) return;
    const what = row.what[i], length = duration(row.end[i] - row.start[i]);
    let words = row.kind === "core" ? `${threads[what].name} (${threads[what].tid})\nran ${length} on ${row.label}` :
      row.kind === "lock" ? `${threads[what].name} (${threads[what].tid})\nwaited ${length} for ${row.label}` :
      what < 8 ? `${row.label} (${threads[row.thread].tid})\n${stateNames[what]}, ${length}` : `${row.label} (${threads[row.thread].tid})\nran ${length} on core ${what - 8}`;
    const waker = row.waker ? row.waker[i] : 0;
    if (waker) words += `\nwoken by ${threads[waker - 1].name}`;
    tip.textContent = `${words}\nat ${duration(row.start[i])}`;
    tip.hidden = false;
    tip.style.left = `${Math.min(event.offsetX + 14, Math.max(0, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${canvas.offsetTop + event.offsetY + 16}px`;
  };

  const fit = () => {
    layout();
    draw();
  };
  new ResizeObserver(() => figure.clientWidth !== width && fit()).observe(figure);
  dark.addEventListener("change", redraw);
  // Paper has another width, and its light colours.
  addEventListener("beforeprint", fit);
  fit();
  figure.dataset["slices"] = String(slices);
  figure.dataset["ready"] = String(Math.round(performance.now() - started));
  requestAnimationFrame(() => setTimeout(() => (figure.dataset["painted"] = String(Math.round(performance.now())))));
  /** For tests and for links from elsewhere on the page. */
  Object.assign(figure, { show, span: () => [left, right], tops: () => tops, label: () => label });
}
