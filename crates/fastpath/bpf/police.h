/* How many punts of a class the kernel gets from a port (RFC 6192): what it must answer, ask about or deliver
 * frame by frame costs it more than forwarding, and routing protocols share a core with it.
 *
 * A class is named by the reason for what is above its limit. Each class of each port has one token
 * bucket that all CPUs share, so a limit is exact however frames are spread. What is above is
 * dropped without a store: then CPUs only read the bucket. Frames that are forwarded, and those that
 * the kernel forwards in our place, have no class.
 *
 * Whoever includes this has LOAD_BYTES as for flow.h, PORT and KERNEL_FIB. */
#ifndef CORELANE_POLICE_H
#define CORELANE_POLICE_H

#include "fib.h"
#include "flow.h"
#include "next_hop.h"
#include "parse.h"
#include "ports.h"
#include "source.h"

#define AF_INET 2
#define AF_INET6 10
#define TYPE_ARP 0x0806

#define CLASSES (POLICED_TOO_BIG - POLICED_ROUTING + 1)

/* Times are nanoseconds of the kernel's coarse clock. */
struct policer {
	__u64 full;     /* when the bucket is full again; past: it is */
	__u64 interval; /* for one frame; 0: no limit */
	__u64 depth;    /* how far ahead `full` may be for another frame to pass */
	__u64 reserved;
};

MAP(policers, BPF_MAP_TYPE_ARRAY, __u32, struct policer, PORTS * CLASSES, BPF_F_MMAPABLE);

/* Frames for one destination get so little of the limit for unresolved neighbours: one dead host must
 * not keep the others from being found. Destinations share a bucket by hash. */
#define DESTINATIONS 256
#define SHARE 8
MAP(unresolved, BPF_MAP_TYPE_ARRAY, __u32, __u64, PORTS * DESTINATIONS, 0);

/* Takes a frame's token out of a bucket, if there is one. */
INLINE _Bool take_token(__u64 *full, __u64 now, __u64 interval, __u64 depth)
{
	__u64 at = *(volatile __u64 *)full;
	if (at > now + depth)
		return 0;
	if (at < now)
		__sync_val_compare_and_swap(full, at, now);
	if (__sync_fetch_and_add(full, interval) <= now + depth)
		return 1;
	/* Another CPU had the last one. */
	__sync_fetch_and_add(full, -interval);
	return 0;
}

/* BGP, LDP, BFD (on one link, its echo, over several, on bundles), RIP and RIPng. */
INLINE _Bool is_routing_port(__u32 port)
{
	return port == bpf_htons(179) || port == bpf_htons(646) || port == bpf_htons(3784) || port == bpf_htons(3785) ||
	       port == bpf_htons(4784) || port == bpf_htons(6784) || port == bpf_htons(520) || port == bpf_htons(521);
}

/* The class of what is delivered here: that of a protocol which the router lives by, or `other`. */
INLINE enum reason class_of_delivered(void *context, __u32 protocol, __u32 transport, enum reason other)
{
	/* IGMP, EIGRP, OSPF, PIM, VRRP. */
	if (protocol == 2 || protocol == 88 || protocol == 89 || protocol == 103 || protocol == 112)
		return POLICED_ROUTING;
	__u64 ports = 0;
	if (LOAD_BYTES(context, transport, &ports, sizeof(__u32)))
		return other;
	if (protocol == PROTOCOL_ICMPV6 && is_discovery(ports & 0xff))
		return POLICED_NEIGHBOUR;
	if ((protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP) && (is_routing_port(ports & 0xffff) || is_routing_port(ports >> 16)))
		return POLICED_ROUTING;
	return other;
}

/* A question to the kernel's table. */
INLINE struct bpf_fib_lookup query4(__u32 ifindex, const struct ipv4 *ip)
{
	return (struct bpf_fib_lookup){
		.family = AF_INET,
		.ifindex = ifindex,
		.l4_protocol = ipv4_protocol(ip),
		.tos = (ip->word[0] >> 8) & 0xff,
		.ipv4_src = ip->word[3],
		.ipv4_dst = ip->word[4],
	};
}

INLINE struct bpf_fib_lookup query6(__u32 ifindex, const struct ipv6 *ip)
{
	struct bpf_fib_lookup query = {
		.family = AF_INET6,
		.ifindex = ifindex,
		.l4_protocol = ipv6_next_header(ip),
		.flowinfo = ip->word[0] & bpf_htonl(0x0fffffff),
	};
	__builtin_memcpy(query.ipv6_src, &ip->word[1], 16);
	__builtin_memcpy(query.ipv6_dst, &ip->word[3], 16);
	return query;
}

/* Why the kernel's table does not forward: it does not tell an address of this machine from none. */
INLINE enum reason not_forwarded(const struct bpf_fib_lookup *query)
{
	if (query->family != AF_INET)
		return PUNT;
	return is_own(bpf_ntohl(query->ipv4_dst)) ? LOCAL : NO_ROUTE;
}

/* Where a destination is, by the kernel's table: LOCAL, NO_ROUTE, UNRESOLVED, PUNT when that cannot be
 * said, or REASONS when it is forwarded to. */
INLINE enum reason ask_kernel(void *context, struct bpf_fib_lookup *query)
{
	switch (bpf_fib_lookup(context, query, sizeof(*query), 0)) {
	case BPF_FIB_LKUP_RET_NOT_FWDED:
		return not_forwarded(query);
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return NO_ROUTE;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		return UNRESOLVED;
	default:
		return REASONS;
	}
}

/* The same by ours. What only the kernel can follow, a group too, counts as forwarded to. */
INLINE enum reason answer_of(__u16 number)
{
	const struct next_hop *entry = number ? next_hop_entry(number) : 0;
	if (!entry)
		return NO_ROUTE;
	switch (entry->kind) {
	case KIND_LOCAL:
		return LOCAL;
	case KIND_UNRESOLVED:
		return entry->flags & FLAG_UNKNOWN_PORT ? REASONS : UNRESOLVED;
	case KIND_UNREACHABLE:
	case KIND_PROHIBIT:
		return NO_ROUTE;
	default:
		return REASONS;
	}
}

/* Is the class of a packet with this reason to be found by where its destination is? Without a branch for each. */
#define BIT(reason) (1ULL << (reason))
INLINE _Bool is_about_packet(enum reason reason)
{
	return (BIT(IPV4_OPTIONS) | BIT(IPV4_TIME_TO_LIVE) | BIT(IPV6_HOP_BY_HOP) | BIT(IPV6_HOP_LIMIT) | BIT(IPV6_SOURCE_MARTIAN) |
		BIT(PARTIAL_CHECKSUM) | BIT(SEGMENTS)) >>
		       (reason & 63) & 1;
}

/* What the reason would be if nothing but the destination counted, where that decides the class. What has
 * used up its time goes no further, whatever lies behind. */
INLINE enum reason reason_by_destination(enum reason reason, enum reason destination)
{
	if (destination == LOCAL || destination == PUNT)
		return destination;
	if (destination == REASONS || reason == IPV4_TIME_TO_LIVE || reason == IPV6_HOP_LIMIT || reason == IPV6_SOURCE_MARTIAN)
		return reason;
	return destination;
}

/* The class of a punt, or REASONS; and the question that the kernel's table can be asked about it. `start` is
 * where the packet begins, `type` in network order. */
INLINE enum reason class_of(void *context, __u32 table_number, __u32 ifindex, enum reason reason, __u32 type, __u32 start, struct bpf_fib_lookup *query)
{
	__u32 protocol, transport;
	__u32 leaves_link = 0; /* a group that may be forwarded to */
	const struct table *table = KERNEL_FIB ? 0 : table_at(table_number);

	if (type == bpf_htons(TYPE_ARP))
		return POLICED_NEIGHBOUR;
	if (type == bpf_htons(TYPE_IPV4)) {
		struct ipv4 ip;
		if (LOAD_BYTES(context, start, &ip, sizeof(ip)))
			return REASONS;
		*query = query4(ifindex, &ip);
		__u32 destination = ipv4_destination(&ip);
		leaves_link = destination >> 28 == 0xe && destination >> 8 != 0xe00000;
		protocol = ipv4_is_later_fragment(&ip) ? 0 : ipv4_protocol(&ip);
		FORGET(leaves_link, destination);
		FORGET(protocol, destination);
		transport = start + (ip.word[0] & 15) * 4;
		/* What may be fragmented is forwarded. */
		if (reason == TOO_BIG && !(ip.word[1] >> 16 & bpf_htons(0x4000)))
			return REASONS;
		if (is_about_packet(reason))
			reason = reason_by_destination(reason, KERNEL_FIB ? ask_kernel(context, query)
							       : table	  ? answer_of(search4(table, destination))
									  : REASONS);
	} else if (type == bpf_htons(TYPE_IPV6)) {
		struct ipv6 ip;
		if (LOAD_BYTES(context, start, &ip, sizeof(ip)))
			return REASONS;
		*query = query6(ifindex, &ip);
		__u64 high = bpf_be64_to_cpu(ip.word[3]), low = bpf_be64_to_cpu(ip.word[4]);
		leaves_link = high >> 56 == 0xff && (high >> 48 & 15) > 2;
		FORGET(leaves_link, high);
		protocol = ipv6_next_header(&ip);
		transport = start + 40;
		if (high >> 54 == 0xfe80 >> 6)
			reason = LOCAL;
		else if (is_about_packet(reason))
			reason = reason_by_destination(reason, KERNEL_FIB ? ask_kernel(context, query)
							       : table	  ? answer_of(search6(table, high, low))
									  : REASONS);
	} else {
		return REASONS;
	}

	switch (reason) {
	case LOCAL:
		return class_of_delivered(context, protocol, transport, POLICED_LOCAL);
	case LINK_GROUP:
	case IPV4_GROUP:
	case IPV6_GROUP:
		return leaves_link ? REASONS : class_of_delivered(context, protocol, transport, POLICED_GROUP);
	case IPV6_DISCOVERY:
		return POLICED_NEIGHBOUR;
	case IPV4_TIME_TO_LIVE:
	case IPV6_HOP_LIMIT:
		return POLICED_EXPIRED;
	case NO_ROUTE:
	case UNREACHABLE:
	case PROHIBIT:
		return POLICED_NO_ROUTE;
	case UNRESOLVED:
		return POLICED_UNRESOLVED;
	case IPV4_OPTIONS:
	case IPV6_HOP_BY_HOP:
		return POLICED_OPTIONS;
	case TOO_BIG:
		return POLICED_TOO_BIG;
	default:
		return REASONS;
	}
}

/* The reason under which a punt leaves: its own, or its class's when it is above the limit. Our table may
 * lack what was announced a moment ago, and does not follow every table of the kernel's: so what is
 * above a limit for want of a route or a neighbour passes when the kernel has both. */
INLINE enum reason police(void *context, __u32 table, __u32 ifindex, enum reason reason, __u32 type, __u32 start)
{
	struct bpf_fib_lookup query = {};
	if (type == bpf_htons(TYPE_VLAN)) {
		__u64 behind = 0;
		if (LOAD_BYTES(context, start + 2, &behind, sizeof(__u16)))
			return reason;
		type = behind;
		start += TAG_LENGTH;
	}
	enum reason class = class_of(context, table, ifindex, reason, type, start, &query);
	FORGET(class, start);
	if (class < POLICED_ROUTING || class > POLICED_TOO_BIG)
		return reason;
	struct policer *policer = LOOKUP(policers, PORT * CLASSES + (class - POLICED_ROUTING));
	if (!policer)
		return reason;
	__u64 interval = *(volatile __u64 *)&policer->interval, depth = *(volatile __u64 *)&policer->depth;
	if (!interval)
		return reason;
	__u64 now = bpf_ktime_get_coarse_ns();
	_Bool passes = 1;
	if (class == POLICED_UNRESOLVED) {
		__u32 *to = query.ipv6_dst, hash = mix((__u64)to[0] << 32 | to[1], (__u64)to[2] << 32 | to[3]);
		__u64 *full = LOOKUP(unresolved, PORT * DESTINATIONS + hash % DESTINATIONS);
		passes = full && take_token(full, now, SHARE * interval, depth);
	}
	if (passes && take_token(&policer->full, now, interval, depth))
		return reason;
	if (!KERNEL_FIB && (class == POLICED_NO_ROUTE || class == POLICED_UNRESOLVED)) {
		enum reason answer = ask_kernel(context, &query);
		if (answer == REASONS || answer == LOCAL)
			return reason;
	}
	return class;
}

#endif
