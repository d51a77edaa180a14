/* From the number of a next hop to what to do: the arrays of `fib::next_hop`, in memory-mapped
 * maps.
 *
 * The writer replaces an entry by storing another slot number, and reuses the old slot only after
 * every program that may have read the number has ended; so a program reads a slot number once and
 * then sees an entry that does not change. */
#ifndef CORELANE_NEXT_HOP_H
#define CORELANE_NEXT_HOP_H

#include "common.h"
#include "flow.h"
#include "parse.h"

enum kind {
	KIND_NONE,
	KIND_ADJACENCY,
	KIND_GROUP,
	KIND_PUNT,
	KIND_BLACKHOLE,
	KIND_UNREACHABLE,
	KIND_PROHIBIT,
	KIND_LOCAL,
	KIND_UNRESOLVED
};

/* `fib::NextHopEntry`. Here `port` is the egress's place in `out`, also of KIND_UNRESOLVED. A group has in the first eight
 * bytes of `addresses` a bit for each port by which a member leaves untagged. */
struct next_hop {
	__u8 kind, flags;
	__u16 mtu;
	__u32 port;
	__u8 addresses[12];
	__u16 vlan, group_size;
	__u32 group_first, stamp;
};

/* In `flags`: the egress device does not take redirected frames (a veth whose peer has neither XDP
 * nor GRO). */
#define FLAG_NO_REDIRECT 1
/* In `flags`: the egress is no port of ours. */
#define FLAG_UNKNOWN_PORT 2
/* In `flags`: the egress device takes no frames of several buffers. */
#define FLAG_ONE_BUFFER 8

CONSTANT(SLOTS);   /* entries of `next_hops`; 0: the loader has made no array large */
CONSTANT(BUCKETS); /* entries of `buckets` */

VALUES(slots, __u32, 2); /* one for each number */
VALUES(next_hops, struct next_hop, 1);
VALUES(buckets, __u16, 4);

/* The entry of a next hop; null only in a program that the verifier imagines. */
INLINE const struct next_hop *next_hop_entry(__u16 number)
{
	if (!SLOTS)
		return 0;
	__u64 slot = *(volatile const __u32 *)(FIRST(slots) + number);
	return slot < SLOTS ? FIRST(next_hops) + slot : 0;
}

/* The member of a group that a flow belongs to: `fib::next_hop::NextHops::member`. 0 for an empty
 * group. */
INLINE __u16 group_member(const struct next_hop *group, __u32 hash)
{
	__u32 size = group->group_size;
	__u64 index = group->group_first + (((__u64)hash * size) >> 32);
	if (size == 0 || index >= BUCKETS)
		return 0;
	return *(volatile const __u16 *)(FIRST(buckets) + index);
}

/* Follows a next hop to an adjacency: REASONS, and its entry and number, or why there is none. */
INLINE enum reason follow(void *context, __u16 *number, struct flow *flow, const struct next_hop **found)
{
	const struct next_hop *entry = next_hop_entry(*number);
	if (!entry)
		return BECAUSE(NO_ROUTE);
	if (entry->kind == KIND_GROUP) {
		__u32 hash;
		if (!flow_hash(context, flow, &hash))
			return BECAUSE(PUNT);
		*number = group_member(entry, hash);
		if (!*number)
			return BECAUSE(EMPTY_GROUP);
		entry = next_hop_entry(*number);
		if (!entry)
			return BECAUSE(NO_ROUTE);
	}
	*found = entry;
	if (entry->kind == KIND_ADJACENCY && !(entry->flags & FLAG_UNKNOWN_PORT))
		return REASONS;
	switch (entry->kind) {
	case KIND_ADJACENCY:
		return BECAUSE(UNKNOWN_PORT);
	case KIND_UNRESOLVED:
		return entry->flags & FLAG_UNKNOWN_PORT ? UNKNOWN_PORT : UNRESOLVED;
	case KIND_LOCAL:
		return LOCAL;
	case KIND_PUNT:
		return BECAUSE(PUNT);
	case KIND_BLACKHOLE:
		return BLACKHOLE;
	case KIND_UNREACHABLE:
		return UNREACHABLE;
	case KIND_PROHIBIT:
		return PROHIBIT;
	case KIND_GROUP:
		return BECAUSE(EMPTY_GROUP); /* a group in a group is nobody's */
	default:
		return BECAUSE(NO_ROUTE);
	}
}

#endif
