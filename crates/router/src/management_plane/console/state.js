"use strict";
// What the page keeps: the points that the router sends, one a second, of which it shows one with
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
