/* A packet's way through the tables: header checks, search, next hop, one hop less.
 *
 * Whoever includes this has LOAD_BYTES as for flow.h, PORT, KERNEL_FIB, what way.h and police.h ask for, and
 * - SUMS_TOLD: the kernel notes beside a frame that its checksum is unfinished, and a redirect keeps the note;
 * - UNCHANGED: packets are only looked at;
 * - see_all(context, way, packet, protocol, header): learns all of a frame whose IP header of `header` bytes says that the
 *   packet has `packet` bytes and `protocol` inside, before anything of the header is checked;
 * - largest_of(way): bytes of the largest IP packet that leaves;
 * - is_refused(context, flags): does the egress device not take it? `flags` are those of a next hop;
 * - aim(way): says where a redirect goes, before anything is written. */
#ifndef CORELANE_ROUTE_H
#define CORELANE_ROUTE_H

#include "fib.h"
#include "hop.h"
#include "next_hop.h"
#include "police.h"
#include "source.h"
#include "way.h"

/* Where a frame for one kernel interface leaves, only for KERNEL_FIB: the interface's index (32 bits), the port
 * (8), its flags (8), the VLAN (16). One word, read at once: the map may give the place to another interface
 * while a program looks at it. */
MAP(egresses, BPF_MAP_TYPE_HASH, __u32, __u64, 4096, 0);

/* Follows a next hop to an adjacency that the frame can leave by. */
INLINE enum reason resolve(CONTEXT *context, struct way *way, __u16 number, struct flow *flow)
{
	const struct next_hop *entry;
	enum reason reason = follow(context, &number, flow, &entry);
	if (reason != REASONS)
		return reason;
	if (is_refused(context, entry->flags))
		return BECAUSE(NO_REDIRECT);
	if (entry->mtu && largest_of(way) > entry->mtu)
		return BECAUSE(TOO_BIG);
	way->next_hop = number;
	*(__u64 *)way->addresses = *(const __u64 *)entry->addresses;
	*(__u32 *)(way->addresses + 8) = *(const __u32 *)(entry->addresses + 8);
	way->port = entry->port;
	way->vlan = entry->vlan ? 0x10000 | entry->vlan : 0;
	return aim(way);
}

/* Does the frame leave by the interface that it came by? Then the kernel may send a redirect, which
 * IPv4 has a setting for and IPv6 has not. */
INLINE _Bool is_hairpin(const struct way *way)
{
	return way->port == PORT && (way->vlan & 0xfff) == (way->tag & 0xfff);
}

/* The same by the kernel's own tables and neighbours. It is told what makes the flow; where it would
 * look into the packet for more, the packet is the kernel's. */
INLINE enum reason resolve_by_kernel(CONTEXT *context, struct way *way, struct bpf_fib_lookup *query, struct flow *flow)
{
	if (is_extension(flow->protocol) || is_error(context, flow))
		return PUNT;
	__u32 ports = ports_of(context, flow);
	query->sport = ports & 0xffff;
	query->dport = ports >> 16;
	query->tot_len = way->ip;
	_Bool neighbour = 1;
	switch (bpf_fib_lookup(context, query, sizeof(*query), 0)) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		break;
	case BPF_FIB_LKUP_RET_BLACKHOLE:
		return BLACKHOLE;
	case BPF_FIB_LKUP_RET_UNREACHABLE:
		return UNREACHABLE;
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return PROHIBIT;
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		return BECAUSE(TOO_BIG);
	case BPF_FIB_LKUP_RET_FWD_DISABLED:
		return PORT_DISABLED;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		neighbour = 0;
		break;
	case BPF_FIB_LKUP_RET_NOT_FWDED:
		return not_forwarded(query);
	default: /* unsupported encapsulation */
		return PUNT;
	}
	const volatile __u64 *place = LOOKUP(egresses, query->ifindex);
	__u64 egress = place ? *place : 0;
	if ((__u32)egress != query->ifindex)
		return UNKNOWN_PORT;
	if (!neighbour)
		return UNRESOLVED;
	if (is_refused(context, egress >> 40 & 0xff))
		return BECAUSE(NO_REDIRECT);
	way->next_hop = 0;
	__builtin_memcpy(way->addresses, query->dmac, 6);
	__builtin_memcpy(way->addresses + 6, query->smac, 6);
	way->port = egress >> 32 & 0xff;
	way->vlan = egress >> 48 ? 0x10000 | egress >> 48 : 0;
	return aim(way);
}

/* The header again, whose beginning was `start` and whose `length` bytes are there. How much more of the
 * packet has been seen the verifier forgets by that. What it knows of a packet it carries along every
 * way to the end: without this it would follow a multiple of the instructions. */
INLINE __u8 *again(CONTEXT *context, __u32 start, __u32 length)
{
	__u8 *at = packet_start(context) + start;
	return at + length > (const __u8 *)packet_end(context) ? 0 : at;
}

/* What the tables say of a packet. They are asked before its header is checked: a processor that waits for
 * memory goes on with what does not need the answer, and that is the checks. */
struct found {
	__u32 number; /* of the next hop; 0: no route */
	__u32 source_fits;
};

INLINE struct found find4(const struct way *way, const struct ipv4 *ip)
{
	struct found found = {};
	const struct table *table = KERNEL_FIB ? 0 : table_at(way->table);
	if (!table)
		return found;
	found.number = way->known ? way->known - 1 : search4(table, ipv4_destination(ip));
	found.source_fits = source_fits(way->table, table, way->station, ipv4_source(ip), way->cpu, PORT, way->tag & 0xfff);
	/* The verifier goes one way for all answers. */
	FORGET(found.number, way->length);
	FORGET(found.source_fits, way->length);
	return found;
}

INLINE struct found find6(const struct way *way, const struct ipv6 *ip)
{
	struct found found = {};
	const struct table *table = KERNEL_FIB ? 0 : table_at(way->table);
	if (!table)
		return found;
	found.number = way->known ? way->known - 1 : search6(table, bpf_be64_to_cpu(ip->word[3]), bpf_be64_to_cpu(ip->word[4]));
	FORGET(found.number, way->length);
	return found;
}

INLINE enum reason route4(CONTEXT *context, struct way *way, __u32 start, __u8 *at, const __u8 *end)
{
	if (at + 20 > end)
		return BECAUSE(IPV4_TRUNCATED);
	struct ipv4 ip = *(struct ipv4 *)at;
	struct found found = find4(way, &ip);
	enum reason fault = see_all(context, way, ipv4_total_length(&ip), ipv4_protocol(&ip), 20);
	if (fault != REASONS)
		return fault;
	fault = ipv4_fault(&ip, way->ip);
	if (fault != REASONS)
		return fault;
	way->ip = ipv4_total_length(&ip);

	if (!SUMS_TOLD) {
		__u64 sum = (__u64)ip.word[3] + ip.word[4];
		if (!ipv4_is_fragment(&ip) && is_partial(at + 20, end, ipv4_protocol(&ip), sum, way->ip - 20))
			return BECAUSE(PARTIAL_CHECKSUM);
		at = again(context, start, 20);
		if (!at)
			return BECAUSE(IPV4_TRUNCATED);
		FORGET(ip.word[2], ip.word[4]);
	}

	if (KERNEL_FIB) {
		struct flow flow = flow4(&ip, way->flows, way->start);
		struct bpf_fib_lookup query = query4(interface_of(way->tag), &ip);
		fault = resolve_by_kernel(context, way, &query, &flow);
		if (fault == REASONS && !source_passes(way->station, ipv4_source(&ip)))
			return BECAUSE(UNVERIFIED_SOURCE);
	} else {
		if (!found.number)
			return BECAUSE(NO_ROUTE);
		struct flow flow = flow4(&ip, way->flows, way->start);
		fault = resolve(context, way, found.number, &flow);
		if (fault == REASONS && !found.source_fits)
			return BECAUSE(UNVERIFIED_SOURCE);
	}
	if (fault != REASONS)
		return fault;
	if (is_hairpin(way) && way->station & STATION_REDIRECTS)
		return BECAUSE(HAIRPIN);
	if (!UNCHANGED)
		ipv4_hop((struct ipv4 *)at, &ip);
	return REASONS;
}

INLINE enum reason route6(CONTEXT *context, struct way *way, __u32 start, __u8 *at, const __u8 *end)
{
	if (at + 40 > end)
		return BECAUSE(IPV6_TRUNCATED);
	struct ipv6 ip = *(struct ipv6 *)at;
	struct found found = find6(way, &ip);
	enum reason fault = see_all(context, way, 40 + ipv6_payload_length(&ip), ipv6_next_header(&ip), 40);
	if (fault != REASONS)
		return fault;
	fault = ipv6_fault(&ip, way->ip);
	if (fault != REASONS)
		return fault;
	way->ip = 40 + ipv6_payload_length(&ip);

	__u32 next = ipv6_next_header(&ip);
	if (next == PROTOCOL_ICMPV6) {
		if (at + 41 <= end && is_discovery(at[40]))
			return BECAUSE(IPV6_DISCOVERY);
	} else {
		__u64 sum = ipv6_address_sum(&ip);
		if (next == PROTOCOL_DESTINATION || next == PROTOCOL_ROUTING)
			fault = fault_behind(context, &ip, way->start, sum);
		else if (!SUMS_TOLD && is_partial(at + 40, end, next, sum, way->ip - 40))
			return BECAUSE(PARTIAL_CHECKSUM);
		if (fault != REASONS)
			return fault;
		at = again(context, start, 40);
		if (!at)
			return BECAUSE(IPV6_TRUNCATED);
		FORGET(ip.word[0], ip.word[4]);
	}

	if (KERNEL_FIB) {
		struct flow flow = flow6(&ip, way->flows, way->start);
		struct bpf_fib_lookup query = query6(interface_of(way->tag), &ip);
		fault = resolve_by_kernel(context, way, &query, &flow);
	} else {
		if (!found.number)
			return BECAUSE(NO_ROUTE);
		struct flow flow = flow6(&ip, way->flows, way->start);
		fault = resolve(context, way, found.number, &flow);
	}
	if (fault != REASONS)
		return fault;
	if (is_hairpin(way))
		return BECAUSE(HAIRPIN);
	if (!UNCHANGED)
		ipv6_hop((struct ipv6 *)at, &ip);
	return REASONS;
}

#endif
