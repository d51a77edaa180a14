/* Longest-prefix match: the search of `fib::layout` in memory-mapped maps, at most 3 steps for IPv4
 * and 25 for IPv6.
 *
 * All tables (the main one and those of VRFs) lie in the same four arrays; `struct table` says
 * where each begins. The writer changes them under our feet and keeps the promise of `fib::layout`:
 * whoever loads each entry and each word once gets the old answer or the new one. Hence the
 * volatile loads. */
#ifndef CORELANE_FIB_H
#define CORELANE_FIB_H

#include "common.h"

CONSTANT(TABLES); /* tables in all */
CONSTANT(ROOTS4); /* entries of `root4` in all */
CONSTANT(ROOTS6);
CONSTANT(NODES4); /* words of `nodes4` in all */
CONSTANT(NODES6);

#define KIND_BITS 30
#define LONGEST_NODE 33
#define STEPS6 24

/* First entry and first word of one table; how often its answers have changed, from 1; bits 0 and 1 of
 * `large`: IPv4 and IPv6 have so many routes that it pays to look ahead. */
struct table {
	__u32 root4, nodes4, root6, nodes6;
	__u64 changes, large;
};

VALUES(tables, struct table, 1);
VALUES(root4, __u32, 2);
VALUES(root6, __u64, 1);
VALUES(nodes4, __u64, 1);
VALUES(nodes6, __u64, 1);

/* The table at a place; null when there is none. */
INLINE const struct table *table_at(__u32 place)
{
	OPAQUE(place);
	return place < TABLES ? FIRST(tables) + place : 0;
}

INLINE __u32 popcount(__u64 x)
{
	x -= (x >> 1) & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (x * 0x0101010101010101ULL) >> 56;
}

/* The entry that `entry` leads to for six further bits of an IPv4 address. `words` is how many
 * `nodes` has. */
INLINE __u32 step4(const __u64 *nodes, __u64 words, __u32 base, __u32 entry, __u64 slot)
{
	__u32 log2_bytes = (entry >> KIND_BITS) - 1;
	__u64 at = base + (entry & ((1U << KIND_BITS) - 1));
	if (at >= words - LONGEST_NODE)
		return 0;
	__u64 vector = *(volatile const __u64 *)(nodes + at);
	__u32 bit = popcount(vector << (63 - slot)) << (log2_bytes + 3);
	__u64 word = *(volatile const __u64 *)(nodes + at + 1 + ((bit >> 6) & 31));
	return (word >> (bit & 63)) & (0xffffffff >> (32 - (8 << log2_bytes)));
}

/* Has the processor fetch where the search for this IPv4 address (host order) will begin, which is
 * seldom in a near cache. */
INLINE void fetch4(const struct table *table, __u32 address)
{
	__u64 first = table->root4 + (address >> 14);
	if (first < ROOTS4)
		(void)*(volatile const __u32 *)(FIRST(root4) + first);
}

/* The next hop of an IPv4 address in host order; 0: no route. */
INLINE __u16 search4(const struct table *table, __u32 address)
{
	const __u32 *root = FIRST(root4);
	const __u64 *nodes = FIRST(nodes4);
	__u64 first = table->root4 + (address >> 14);
	if (first >= ROOTS4)
		return 0;
	__u32 entry = *(volatile const __u32 *)(root + first);
	/* Three steps at most: bits 18, 24 and 30. */
	if (entry >> KIND_BITS)
		entry = step4(nodes, NODES4, table->nodes4, entry, (address >> 8) & 63);
	if (entry >> KIND_BITS)
		entry = step4(nodes, NODES4, table->nodes4, entry, (address >> 2) & 63);
	if (entry >> KIND_BITS)
		entry = step4(nodes, NODES4, table->nodes4, entry, (address << 4) & 63);
	return entry;
}

/* The number of the element in the node behind `entry` for five further bits of an IPv6 address. The
 * entry's lower half says where runs begin, and the shift leaves nothing of its upper half. */
INLINE __u32 run6(__u64 entry, __u64 slot)
{
	return popcount(entry << (63 - slot));
}

/* The word of that node which lies `word` after its first one; 0 if there is none. */
INLINE __u64 word6(const __u64 *nodes, __u32 base, __u64 entry, __u32 word)
{
	__u64 at = base + (entry >> 32 & ((1U << KIND_BITS) - 1)) + word;
	if (at >= NODES6)
		return 0;
	return *(volatile const __u64 *)(nodes + at);
}

/* The next hop of an IPv6 address, both halves in host order; 0: no route. */
INLINE __u16 search6(const struct table *table, __u64 high, __u64 low)
{
	const __u64 *root = FIRST(root6);
	const __u64 *nodes = FIRST(nodes6);
	/* 2000::/3 has the first 2^15 entries, by bits 3 to 17; all else shares 64, by bits 0 to 5.
	 */
	__u32 global = high >> 61 == 1, shift = global ? 18 : 6;
	__u64 first = table->root6 + (global ? (high >> 46) & 0x7fff : 0x8000 + (high >> 58));
	FORGET(shift, high);
	if (first >= ROOTS6)
		return 0;
	__u64 entry = *(volatile const __u64 *)(root + first);
	high = high << shift | low >> (64 - shift);
	low <<= shift;
	/* Elements of 64 bits are entries. Those of 16 bits are next hops, so that the last step is
	 * theirs. */
	for (int i = 0; i < STEPS6 && entry >> 63; i++) {
		entry = word6(nodes, table->nodes6, entry, run6(entry, high >> 59));
		high = high << 5 | low >> 59;
		low <<= 5;
	}
	if (entry >> 62) {
		__u32 run = run6(entry, high >> 59);
		entry = word6(nodes, table->nodes6, entry, run >> 2) >> ((run & 3) << 4);
	}
	return entry;
}

#endif
