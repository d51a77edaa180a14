/* Whether a frame may come from where it says (RFC 3704): what `fib_validate_source` of the kernel's
 * net/ipv4/fib_frontend.c decides, as far as our tables know. When they do not, the answer is no,
 * and the kernel decides. IPv6 has no such check in the kernel. */
#ifndef CORELANE_SOURCE_H
#define CORELANE_SOURCE_H

#include "fib.h"
#include "next_hop.h"
#include "ports.h"

/* A bit for each place that an IPv4 address falls into by its hash, set for those of our own
 * addresses. Another address in one of these places takes the kernel's way, and comes to no harm. */
#define OWN_BITS 18
VALUES(own4, __u64, 1);

INLINE _Bool is_own(__u32 address)
{
	__u32 place = address * 0x9e3779b1U >> (32 - OWN_BITS);
	OPAQUE(place); /* the verifier knows the bound of the mask, not that of the shift */
	place &= (1 << OWN_BITS) - 1;
	return !SLOTS || *(volatile const __u64 *)(FIRST(own4) + (place >> 6)) >> (place & 63) & 1;
}

/* What tables said of sources: each CPU keeps answers of its own, because the next frame often has a
 * source of those before. An answer holds as long as its table has not changed. The question is
 * stored xor the answer, so that halves of two records never make one. */
#define REMEMBERED_BITS 8
CONSTANT(REMEMBERED); /* records of all CPUs */
struct remembered {
	__u64 question; /* place of the table << 32 | address; xor the answer */
	__u64 answer;   /* changes of the table << 16 | next hop */
};
VALUES(remembered, struct remembered, 1);

/* As search4, of an address that was likely asked for lately. */
INLINE __u16 remember4(__u32 place, const struct table *table, __u32 address, __u32 cpu)
{
	__u64 changes = *(volatile const __u64 *)&table->changes;
	__u64 question = (__u64)place << 32 | address;
	__u64 at = ((__u64)cpu << REMEMBERED_BITS) + (address * 0x9e3779b1U >> (32 - REMEMBERED_BITS));
	/* What is kept under this count is searched for after it was read. */
	FORGET(address, changes);
	if (at >= REMEMBERED)
		return search4(table, address);
	struct remembered *last = FIRST(remembered) + at;
	__u64 answer = *(volatile __u64 *)&last->answer;
	if ((*(volatile __u64 *)&last->question ^ answer) == question && answer >> 16 == changes)
		return answer;
	__u16 number = search4(table, address);
	answer = changes << 16 | number;
	*(volatile __u64 *)&last->answer = answer;
	*(volatile __u64 *)&last->question = question ^ answer;
	return number;
}

/* Does a source's next hop fit the port and VLAN identifier (0: none) that its frame
 * came by? A group says of each port, and of no VLAN, whether a member leaves by it. */
INLINE _Bool has_way_back(__u16 number, __u64 station, __u32 port, __u32 vlan)
{
	const struct next_hop *entry = number ? next_hop_entry(number) : 0;
	if (!entry)
		return 0;
	__u32 kind = entry->kind;
	if (kind == KIND_GROUP)
		return station & STATION_LOOSE || (vlan == 0 && *(const __u64 *)entry->addresses >> (port & 63) & 1);
	if (kind != KIND_ADJACENCY && kind != KIND_UNRESOLVED)
		return 0;
	return station & STATION_LOOSE || (entry->port == port && (entry->vlan & 0xfffU) == vlan);
}

/* Without a table to look sources up in. */
INLINE _Bool source_passes(__u64 station, __u32 source)
{
	return !(station & (STATION_STRICT | STATION_LOOSE)) && (station & STATION_OWN || !is_own(source));
}

/* May a frame with this source (host order) come by this port and VLAN? `place` is the table's. */
INLINE _Bool source_fits(__u32 place, const struct table *table, __u64 station, __u32 source, __u32 cpu, __u32 port, __u32 vlan)
{
	if (station & (STATION_STRICT | STATION_LOOSE))
		return has_way_back(remember4(place, table, source, cpu), station, port, vlan);
	return source_passes(station, source);
}

#endif
