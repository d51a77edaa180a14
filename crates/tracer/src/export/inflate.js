// @ts-check
"use strict";
/**
 * Inflates a deflate stream (RFC 1951) at once. The browser's own way (`DecompressionStream`) ends some time after the page is
 * loaded, so a page that is printed or photographed as soon as it is loaded would be blank.
 *
 * @param {Uint8Array} packed
 * @param {number} length how many bytes come out
 */
function corelaneInflate(packed, length) {
  const out = new Uint8Array(length);
  let at = 0, bits = 0, count = 0, to = 0;
  /** @param {number} wanted */
  const fill = (wanted) => {
    for (; count < wanted; count += 8) bits |= packed[at++] << count;
  };
  /** @param {number} size */
  const take = (size) => {
    fill(size);
    const value = bits & ((1 << size) - 1);
    bits >>>= size;
    count -= size;
    return value;
  };
  /** From the lengths of the codes to what the next bits mean: symbol and length of its code.
   * @param {number[]} lengths */
  const table = (lengths) => {
    const most = Math.max(...lengths), entries = new Uint16Array(1 << most);
    for (let size = 1, code = 0; size <= most; size++, code <<= 1) {
      lengths.forEach((own, symbol) => {
        if (own !== size) return;
        // The first bit of a code stands lowest.
        let place = 0;
        for (let bit = 0; bit < size; bit++) place |= ((code >> bit) & 1) << (size - 1 - bit);
        for (; place < entries.length; place += 1 << size) entries[place] = (symbol << 4) | size;
        code++;
      });
    }
    return entries;
  };
  /** @param {Uint16Array} entries */
  const symbol = (entries) => {
    fill(15);
    const entry = entries[bits & (entries.length - 1)];
    bits >>>= entry & 15;
    count -= entry & 15;
    return entry >> 4;
  };
  /** Lengths of codes, themselves in codes: 16 repeats the one before, 17 and 18 are zeros.
   * @param {number} wanted @param {Uint16Array} codes */
  const lengths = (wanted, codes) => {
    /** @type {number[]} */
    const all = [];
    while (all.length < wanted) {
      const code = symbol(codes);
      if (code < 16) all.push(code);
      else {
        const again = code === 16 ? 3 + take(2) : code === 17 ? 3 + take(3) : 11 + take(7);
        const value = code === 16 ? all[all.length - 1] : 0;
        for (let i = 0; i < again; i++) all.push(value);
      }
    }
    return all;
  };
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  for (let last = 0; last === 0; ) {
    last = take(1);
    const form = take(2);
    if (form === 0) {
      at -= count >> 3;
      bits = count = 0;
      const size = packed[at] | (packed[at + 1] << 8);
      out.set(packed.subarray(at + 4, at + 4 + size), to);
      at += 4 + size;
      to += size;
      continue;
    }
    let words, distances;
    if (form === 1) {
      words = table(Array.from({ length: 288 }, (_, at) => (at < 144 ? 8 : at < 256 ? 9 : at < 280 ? 7 : 8)));
      distances = table(Array(30).fill(5));
    } else {
      const literals = take(5) + 257, far = take(5) + 1, given = take(4) + 4;
      const own = Array(19).fill(0);
      for (let i = 0; i < given; i++) own[order[i]] = take(3);
      const all = lengths(literals + far, table(own));
      words = table(all.slice(0, literals));
      distances = table(all.slice(literals));
    }
    for (let word = symbol(words); word !== 256; word = symbol(words)) {
      if (word < 256) {
        out[to++] = word;
        continue;
      }
      // Four codes share a number of further bits, then that number grows by one; 285 is the
      // longest copy.
      const run = word - 257, more = run < 8 || run === 28 ? 0 : (run >> 2) - 1;
      let size = run < 8 ? run + 3 : run === 28 ? 258 : ((4 + (run & 3)) << more) + 3 + take(more);
      const code = symbol(distances), further = code < 4 ? 0 : (code >> 1) - 1;
      const back = code < 4 ? code + 1 : ((2 + (code & 1)) << further) + 1 + take(further);
      for (; size > 0; size--, to++) out[to] = out[to - back];
    }
  }
  return out;
}
