/* Which flow a packet belongs to: the number by which it finds its member of a group.
 *
 * Which fields count is a setting of the kernel's (`fib_multipath_hash_policy` and
 * `fib_multipath_hash_fields` of net.ipv4 and net.ipv6). What it keeps together stays together
 * here, and what it splits is split, as in `fib_multipath_hash` of net/ipv4/route.c and
 * `rt6_multipath_hash` of net/ipv6/route.c; both directions of a flow are one. Which member a flow
 * gets is our own choice. crates/engines/src/user_plane/flow_hash.rs is the same, to the bit.
 *
 * Whoever includes this says how bytes of a frame are read: LOAD_BYTES(context, offset, to, length),
 * 0 when they are there. */
#ifndef CORELANE_FLOW_H
#define CORELANE_FLOW_H

#include "common.h"
#include "parse.h"

/* What makes a flow: bits of `FlowFields`. The first six are the kernel's
 * FIB_MULTIPATH_HASH_FIELD_…. */
#define FLOW_SOURCE 1
#define FLOW_DESTINATION 2
#define FLOW_PROTOCOL 4
#define FLOW_LABEL 8
#define FLOW_SOURCE_PORT 16
#define FLOW_DESTINATION_PORT 32
#define FLOW_QUOTED 64  /* an ICMP error goes with the packet that it quotes */
#define FLOW_KERNEL 128 /* we cannot say: groups are the kernel's */

/* Extension headers of IPv6 that are gone past; of more, the kernel says the flow. */
#define EXTENSIONS 4

struct flow {
	__u64 source, destination; /* as they lie in memory; of IPv6 both halves in one word */
	__u32 fields;
	__u32 transport, end; /* where its header begins in the frame, and where the packet ends */
	__u32 label;          /* of IPv6, as it lies in memory */
	__u32 protocol;
	_Bool v6;
	_Bool fragment; /* no ports that all fragments have */
	_Bool later;    /* a fragment that is not the first */
};

INLINE __u64 fold6(__u64 high, __u64 low) { return high ^ low * 31; }

INLINE struct flow flow4(const struct ipv4 *ip, __u32 flows, __u32 start)
{
	return (struct flow){
		.source = ip->word[3],
		.destination = ip->word[4],
		.fields = flows & 0xffff,
		.transport = start + 20,
		.end = start + ipv4_total_length(ip),
		.protocol = ipv4_protocol(ip),
		.fragment = ipv4_is_fragment(ip),
		.later = ipv4_is_later_fragment(ip),
	};
}

INLINE struct flow flow6(const struct ipv6 *ip, __u32 flows, __u32 start)
{
	return (struct flow){
		.source = fold6(ip->word[1], ip->word[2]),
		.destination = fold6(ip->word[3], ip->word[4]),
		.fields = flows >> 16,
		.transport = start + 40,
		.end = start + 40 + ipv6_payload_length(ip),
		.label = ipv6_flow_label(ip),
		.protocol = ipv6_next_header(ip),
		.v6 = 1,
	};
}

/* Bytes of the packet at `offset` behind the beginning of the transport header. */
INLINE _Bool read_packet(void *context, const struct flow *flow, __u32 offset, void *to, __u32 length)
{
	__u32 at = flow->transport + offset;
	return at + length <= flow->end && LOAD_BYTES(context, at, to, length) == 0;
}

/* ICMP that tells of another packet: `icmp_is_err`, `icmpv6_is_err`. */
INLINE _Bool is_error(void *context, const struct flow *flow)
{
	__u64 type = 0;
	if (flow->later || flow->protocol != (flow->v6 ? PROTOCOL_ICMPV6 : PROTOCOL_ICMP) || !read_packet(context, flow, 0, &type, 1))
		return 0;
	return flow->v6 ? type >= 1 && type <= 4 : (type >= 3 && type <= 5) || type == 11 || type == 12;
}

/* An error goes with the flow that it is about: `ip_multipath_l3_keys`, `ip6_multipath_l3_keys`. */
INLINE void take_quoted(void *context, struct flow *flow)
{
	if (!is_error(context, flow))
		return;
	if (flow->v6) {
		struct ipv6 quoted;
		if (!read_packet(context, flow, 8, &quoted, sizeof(quoted)))
			return;
		flow->source = fold6(quoted.word[1], quoted.word[2]);
		flow->destination = fold6(quoted.word[3], quoted.word[4]);
		flow->label = ipv6_flow_label(&quoted);
		flow->protocol = ipv6_next_header(&quoted);
	} else {
		struct ipv4 quoted;
		if (!read_packet(context, flow, 8, &quoted, sizeof(quoted)))
			return;
		flow->source = quoted.word[3];
		flow->destination = quoted.word[4];
	}
}

/* Goes past the extension headers of IPv6. False when there are too many. */
INLINE _Bool skip_extensions(void *context, struct flow *flow)
{
	for (int i = 0; i < EXTENSIONS; i++) {
		__u8 header[8] __attribute__((aligned(8))) = {};
		if (!is_extension(flow->protocol) || !read_packet(context, flow, 0, header, 2))
			return 1;
		_Bool fragment = flow->protocol == PROTOCOL_FRAGMENT;
		flow->protocol = header[0];
		if (fragment) {
			flow->fragment = 1;
			return 1;
		}
		flow->transport += 8 * (header[1] + 1);
	}
	return !is_extension(flow->protocol);
}

/* What is wrong behind destination options of IPv6: an unfinished sum, or neighbour discovery.
 * `sum` is that of both addresses. A routing header changes what the sum is made of, and the kernel
 * finishes the sums of what it takes to fragments. */
#define SHOWN_BEHIND 64
INLINE enum reason fault_behind(void *context, const struct ipv6 *ip, __u32 start, __u64 sum)
{
	struct flow flow = flow6(ip, 0, start);
	__u8 bytes[SHOWN_BEHIND] = {};
	for (int i = 0; i < EXTENSIONS && flow.protocol == PROTOCOL_DESTINATION; i++) {
		if (!read_packet(context, &flow, 0, bytes, 2))
			return REASONS;
		flow.protocol = bytes[0];
		flow.transport += 8 * (bytes[1] + 1);
	}
	if (flow.protocol == PROTOCOL_FRAGMENT || flow.transport >= flow.end)
		return REASONS;
	if (flow.protocol == PROTOCOL_DESTINATION || flow.protocol == PROTOCOL_ROUTING)
		return PARTIAL_CHECKSUM;
	__u32 length = flow.end - flow.transport, shown = length < SHOWN_BEHIND ? length : SHOWN_BEHIND;
	/* Before 6.8 the verifier learns nothing from "is not 0", but that one more than something is. */
	__u32 less = shown - 1;
	OPAQUE(less);
	if (less >= SHOWN_BEHIND || LOAD_BYTES(context, flow.transport, bytes, less + 1))
		return PARTIAL_CHECKSUM;
	if (flow.protocol == PROTOCOL_ICMPV6)
		return is_discovery(bytes[0]) ? IPV6_DISCOVERY : REASONS;
	return is_partial(bytes, bytes + shown, flow.protocol, sum, length) ? PARTIAL_CHECKSUM : REASONS;
}

/* Both ports as they lie in memory: `__skb_flow_dissect_ports`. */
INLINE __u32 ports_of(void *context, const struct flow *flow)
{
	__u64 ports = 0;
	if (flow->fragment || !has_ports(flow->protocol))
		return 0;
	if (!read_packet(context, flow, flow->protocol == PROTOCOL_AH ? 4 : 0, &ports, sizeof(__u32)))
		return 0;
	return ports;
}

/* 32 evenly spread bits (the finaliser of MurmurHash3 over both halves). */
INLINE __u32 mix(__u64 a, __u64 b)
{
	a ^= b * 0x9e3779b97f4a7c15ULL;
	a ^= a >> 33;
	a *= 0xff51afd7ed558ccdULL;
	a ^= a >> 33;
	a *= 0xc4ceb9fe1a85ec53ULL;
	return a >> 32;
}

/* The flow's number. False: only the kernel can say. */
INLINE _Bool flow_hash(void *context, struct flow *flow, __u32 *hash)
{
	__u32 fields = flow->fields, ports = 0;
	if (fields & FLOW_KERNEL)
		return 0;
	if (fields & FLOW_QUOTED)
		take_quoted(context, flow);
	else if (flow->v6 && !skip_extensions(context, flow))
		return 0;
	FORGET(flow->transport, flow->source);
	if (fields & (FLOW_SOURCE_PORT | FLOW_DESTINATION_PORT))
		ports = ports_of(context, flow);
	FORGET(flow->protocol, flow->source);
	__u64 source = fields & FLOW_SOURCE ? flow->source : 0;
	__u64 destination = fields & FLOW_DESTINATION ? flow->destination : 0;
	__u64 from = fields & FLOW_SOURCE_PORT ? ports & 0xffff : 0;
	__u64 to = fields & FLOW_DESTINATION_PORT ? ports >> 16 : 0;
	__u64 rest = (fields & FLOW_PROTOCOL ? flow->protocol : 0) | (__u64)(fields & FLOW_LABEL ? flow->label : 0) << 8;
	/* Both directions are one flow: `__flow_hash_consistentify`. */
	__u64 first = source < destination ? source : destination, second = source ^ destination ^ first;
	ports = from < to ? from << 16 | to : to << 16 | from;
	*hash = mix(first + ((__u64)ports << 32), second ^ (__u64)mix(rest, 1) << 32);
	return 1;
}

#endif
