/* The forwarder: receives on one port, looks the destination up in our table, rewrites, and
 * redirects to another port.
 *
 * Loaded once for each port, with the port's number as a constant. What is not plain forwarding
 * leaves by `leave`, which counts it under its reason and gives it to the kernel.
 *
 * With KERNEL_FIB the kernel's lookup helper takes the place of our table: the same program
 * otherwise.
 *
 * With SOCKETS nothing is rewritten or redirected to a port: a frame that could be forwarded goes,
 * as it is, to the AF_XDP socket of its queue, whose worker finds the same answer in the same
 * table; all others take the same ways as without. */
#define LOAD_BYTES bpf_xdp_load_bytes
#include "fib.h"
#include "next_hop.h"
#include "parse.h"
#include "ports.h"
#include "rewrite.h"
#include "source.h"
#include "tags.h"
#include "vlans.h"

CONSTANT(PORT);       /* this port's place in `ports`, `out` and the counters */
CONSTANT(GENERIC);    /* 1: attached in generic mode, where any device takes redirected frames */
CONSTANT(PARTIAL);    /* 1: frames with checksums still to be completed can arrive here */
CONSTANT(KERNEL_FIB); /* 1: ask the kernel instead of our table */
CONSTANT(SOCKETS);    /* longest frame that the sockets take, in bytes; 0: frames are redirected to ports */

#include "police.h"

#define QUEUES 64

/* Where a frame for one kernel interface leaves: only for KERNEL_FIB. */
struct egress {
	__u32 port;
	__u16 vlan;
	__u16 flags;
};

MAP(egresses, BPF_MAP_TYPE_HASH, __u32, struct egress, 4096, 0);
MAP_OF_TARGETS(out, BPF_MAP_TYPE_DEVMAP, PORTS);
/* Keys: port * QUEUES + queue. */
MAP_OF_TARGETS(sockets, BPF_MAP_TYPE_XSKMAP, PORTS * QUEUES);

/* Counts a frame that goes no further here, and says what becomes of it. */
INLINE int leave(struct port_counters *counters, enum reason reason)
{
	/* One register for the comparison and the index, or the verifier does not see that they are one. */
	__u64 index = reason;
	OPAQUE(index);
	if (index < REASONS)
		counters->reasons[index]++;
	return IS_DROPPED(reason) ? XDP_DROP : XDP_PASS;
}

/* A frame on its way, as far as it is known. */
struct way {
	struct port_counters *counters;
	const struct port *in;
	struct link_counters *vlan_here; /* null without a tag */
	__u64 station; /* of the port or VLAN it came by, as it was when the frame came */
	__u32 tag;     /* incoming tag control information; bit 16: there is one */
	__u32 type;    /* network order */
	__u32 length;  /* frame, bytes without FCS */
	__u32 ip;      /* bytes of the IP packet */
	__u32 flows;   /* of the port */
	__u32 start;   /* of the IP packet in the frame */
	__u16 next_hop;
	__u8 addresses[12];
	__u32 port, vlan;
};

/* A frame in several buffers shows only its first: when that is too short for the packet, asks for
 * the length of all. */
INLINE void see_all(struct xdp_md *context, struct way *way, __u32 packet)
{
	if (packet <= way->ip)
		return;
	__u32 more = bpf_xdp_get_buff_len(context) - way->length;
	way->length += more;
	way->ip += more;
	way->counters->received_bytes += more;
	if (way->vlan_here)
		way->vlan_here->received_bytes += more;
}

/* Does the egress device not take this frame? In generic mode any device takes all. */
INLINE _Bool is_refused(struct xdp_md *context, __u32 flags)
{
	if (GENERIC || SOCKETS || !(flags & (FLAG_NO_REDIRECT | FLAG_ONE_BUFFER)))
		return 0;
	return flags & FLAG_NO_REDIRECT || bpf_xdp_get_buff_len(context) > (__u64)(packet_end(context) - packet_start(context));
}

/* Says where a redirect goes, before anything is written: a place without a device is no port. */
INLINE enum reason aim(const struct way *way)
{
	return SOCKETS || bpf_redirect_map(&out, way->port, XDP_ABORTED) == XDP_REDIRECT ? REASONS : UNKNOWN_PORT;
}

/* Follows a next hop to an adjacency that the frame can leave by. */
INLINE enum reason resolve(struct xdp_md *context, struct way *way, __u16 number, struct flow *flow)
{
	const struct next_hop *entry;
	enum reason reason = follow(context, &number, flow, &entry);
	if (reason != REASONS)
		return reason;
	if (is_refused(context, entry->flags))
		return NO_REDIRECT;
	if (entry->mtu && way->ip > entry->mtu)
		return TOO_BIG;
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
INLINE enum reason resolve_by_kernel(struct xdp_md *context, struct way *way, struct bpf_fib_lookup *query, struct flow *flow)
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
		return TOO_BIG;
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
	__u32 ifindex = query->ifindex;
	const struct egress *egress = bpf_map_lookup_elem(&egresses, &ifindex);
	if (!egress)
		return UNKNOWN_PORT;
	if (!neighbour)
		return UNRESOLVED;
	if (is_refused(context, egress->flags))
		return NO_REDIRECT;
	way->next_hop = 0;
	__builtin_memcpy(way->addresses, query->dmac, 6);
	__builtin_memcpy(way->addresses + 6, query->smac, 6);
	way->port = egress->port;
	way->vlan = egress->vlan ? 0x10000 | egress->vlan : 0;
	return aim(way);
}

/* The header again, whose beginning was `start` and whose `length` bytes are there. How much more of the
 * packet has been seen the verifier forgets by that. What it knows of a packet it carries along every
 * way to the end: without this it would follow some hundred thousand instructions more, which takes
 * most of a second for each port. */
INLINE __u8 *again(struct xdp_md *context, __u32 start, __u32 length)
{
	__u8 *at = packet_start(context) + start;
	return at + length > (const __u8 *)packet_end(context) ? 0 : at;
}

INLINE enum reason route4(struct xdp_md *context, struct way *way, __u32 start, __u8 *at, const __u8 *end)
{
	if (at + 20 > end)
		return IPV4_TRUNCATED;
	struct ipv4 ip = *(struct ipv4 *)at;
	see_all(context, way, ipv4_total_length(&ip));
	enum reason fault = ipv4_fault(&ip, way->ip);
	if (fault != REASONS)
		return fault;
	way->ip = ipv4_total_length(&ip);

	if (PARTIAL) {
		__u64 sum = (__u64)ip.word[3] + ip.word[4];
		if (!ipv4_is_fragment(&ip) && is_partial(at + 20, end, ipv4_protocol(&ip), sum, way->ip - 20))
			return PARTIAL_CHECKSUM;
		at = again(context, start, 20);
		if (!at)
			return IPV4_TRUNCATED;
		FORGET(ip.word[2], ip.word[4]);
	}

	if (KERNEL_FIB) {
		struct flow flow = flow4(&ip, way->flows, way->start);
		struct bpf_fib_lookup query = query4(way->in, &ip);
		fault = resolve_by_kernel(context, way, &query, &flow);
		if (fault == REASONS && !source_passes(way->station, ipv4_source(&ip)))
			return UNVERIFIED_SOURCE;
	} else {
		__u32 table_number = way->in->table;
		const struct table *table = bpf_map_lookup_elem(&tables, &table_number);
		if (!table)
			return NO_ROUTE;
		__u16 number = search4(table, ipv4_destination(&ip));
		if (!number)
			return NO_ROUTE;
		struct flow flow = flow4(&ip, way->flows, way->start);
		fault = resolve(context, way, number, &flow);
		if (fault == REASONS && !source_fits(table, way->station, ipv4_source(&ip), PORT, way->tag & 0xfff))
			return UNVERIFIED_SOURCE;
	}
	if (fault != REASONS)
		return fault;
	if (is_hairpin(way) && way->station & STATION_REDIRECTS)
		return HAIRPIN;
	if (!SOCKETS)
		ipv4_hop((struct ipv4 *)at, &ip);
	return REASONS;
}

INLINE enum reason route6(struct xdp_md *context, struct way *way, __u32 start, __u8 *at, const __u8 *end)
{
	if (at + 40 > end)
		return IPV6_TRUNCATED;
	struct ipv6 ip = *(struct ipv6 *)at;
	see_all(context, way, 40 + ipv6_payload_length(&ip));
	enum reason fault = ipv6_fault(&ip, way->ip);
	if (fault != REASONS)
		return fault;
	way->ip = 40 + ipv6_payload_length(&ip);

	__u32 next = ipv6_next_header(&ip);
	if (next == PROTOCOL_ICMPV6) {
		if (at + 41 <= end && is_discovery(at[40]))
			return IPV6_DISCOVERY;
	} else if (PARTIAL) {
		__u64 sum = ipv6_address_sum(&ip);
		if (next == PROTOCOL_DESTINATION || next == PROTOCOL_ROUTING)
			fault = fault_behind(context, &ip, way->start, sum);
		else if (is_partial(at + 40, end, next, sum, way->ip - 40))
			return PARTIAL_CHECKSUM;
		if (fault != REASONS)
			return fault;
		at = again(context, start, 40);
		if (!at)
			return IPV6_TRUNCATED;
		FORGET(ip.word[0], ip.word[4]);
	}

	if (KERNEL_FIB) {
		struct flow flow = flow6(&ip, way->flows, way->start);
		struct bpf_fib_lookup query = query6(way->in, &ip);
		fault = resolve_by_kernel(context, way, &query, &flow);
	} else {
		__u32 table_number = way->in->table;
		const struct table *table = bpf_map_lookup_elem(&tables, &table_number);
		if (!table)
			return NO_ROUTE;
		__u16 number = search6(table, bpf_be64_to_cpu(ip.word[3]), bpf_be64_to_cpu(ip.word[4]));
		if (!number)
			return NO_ROUTE;
		struct flow flow = flow6(&ip, way->flows, way->start);
		fault = resolve(context, way, number, &flow);
	}
	if (fault != REASONS)
		return fault;
	if (is_hairpin(way))
		return HAIRPIN;
	if (!SOCKETS)
		ipv6_hop((struct ipv6 *)at, &ip);
	return REASONS;
}

/* Frames of several buffers, too: bounds then cover the first. */
SEC("xdp.frags") int forward(struct xdp_md *context)
{
	__u32 cpu = bpf_get_smp_processor_id(), number = PORT;
	struct port_counters *row = bpf_map_lookup_elem(&counters, &cpu);
	const struct port *port = bpf_map_lookup_elem(&ports, &number);
	if (!row || !port || PORT >= PORTS)
		return XDP_PASS;
	struct port_counters *mine = row + PORT;

	__u8 *data = packet_start(context);
	const __u8 *end = packet_end(context);
	struct way way = {.counters = mine, .in = port, .length = end - data};
	mine->received++;
	mine->received_bytes += way.length;
	if (data + ETHERNET_LENGTH + TAG_LENGTH > end)
		return leave(mine, RUNT);

	__u64 station = *(__u64 *)data & MAC_MASK;
	way.type = *(__u16 *)(data + 12);
	__u32 start = ETHERNET_LENGTH;
	enum reason reason = LINK_GROUP;
	__u64 wanted = *(volatile const __u64 *)&port->station;
	if (!(wanted & STATION_ENABLED))
		return leave(mine, PORT_DISABLED);
	if (is_stale(port))
		return leave(mine, STALE);
	if (data[0] & 1)
		goto punt;
	way.tag = taken_tag(context, way.type);
	if (!way.tag && way.type == bpf_htons(TYPE_VLAN)) {
		way.tag = 0x10000 | bpf_ntohs(*(__u16 *)(data + 14));
		way.type = *(__u16 *)(data + 16);
		start = ETHERNET_LENGTH + TAG_LENGTH;
	}
	if (way.tag) {
		__u32 key = PORT << 12 | (way.tag & 0xfff);
		way.in = bpf_map_lookup_elem(&vlans, &key);
		if (!way.in)
			return leave(mine, UNKNOWN_VLAN);
		wanted = *(volatile const __u64 *)&way.in->station;
		way.vlan_here = vlan_counters_at(way.in->place, cpu);
		if (!wanted || !way.vlan_here)
			return leave(mine, UNKNOWN_VLAN);
		way.vlan_here->received++;
		way.vlan_here->received_bytes += way.length;
	}
	way.station = wanted;
	if (station != (wanted & MAC_MASK))
		return leave(mine, OTHER_STATION);
	__u64 family = way.type == bpf_htons(TYPE_IPV4) ? STATION_V4 : way.type == bpf_htons(TYPE_IPV6) ? STATION_V6 : 0;
	if (family && !(wanted & family))
		return leave(mine, PORT_DISABLED);

	way.ip = way.length - start;
	way.start = start;
	way.flows = *(volatile const __u32 *)&port->flows;
	if (way.type == bpf_htons(TYPE_IPV4))
		reason = start == ETHERNET_LENGTH ? route4(context, &way, ETHERNET_LENGTH, data + ETHERNET_LENGTH, end)
						  : route4(context, &way, ETHERNET_LENGTH + TAG_LENGTH, data + ETHERNET_LENGTH + TAG_LENGTH, end);
	else if (way.type == bpf_htons(TYPE_IPV6))
		reason = start == ETHERNET_LENGTH ? route6(context, &way, ETHERNET_LENGTH, data + ETHERNET_LENGTH, end)
						  : route6(context, &way, ETHERNET_LENGTH + TAG_LENGTH, data + ETHERNET_LENGTH + TAG_LENGTH, end);
	else
		reason = OTHER_PROTOCOL;
	if (reason != REASONS)
		goto punt;

	__u32 tag_here = start == ETHERNET_LENGTH ? 0 : way.tag;
	if (SOCKETS) {
		/* A socket takes frames of one buffer. */
		if (way.length > SOCKETS - TAG_LENGTH * (way.tag != tag_here) || way.length > end - data)
			return leave(mine, TOO_BIG);
		__u32 queue = context->rx_queue_index;
		if (queue >= QUEUES || bpf_redirect_map(&sockets, PORT * QUEUES + queue, XDP_ABORTED) != XDP_REDIRECT)
			return leave(mine, NO_WORKER);
		if (way.tag != tag_here) {
			/* The worker sees nothing but the frame. */
			__builtin_memcpy(way.addresses, data, sizeof(way.addresses));
			if (!ethernet_rewrite(context, way.addresses, 0, way.tag, way.type))
				return leave(mine, NO_HEADROOM);
		}
	} else {
		way.length = cut_behind(context, way.length, start + way.ip);
		if (!way.length || !ethernet_rewrite(context, way.addresses, tag_here, way.vlan, way.type))
			return leave(mine, NO_HEADROOM);
	}
	mine->forwarded++;
	mine->forwarded_bytes += way.length;
	if (way.vlan_here) {
		way.vlan_here->forwarded++;
		way.vlan_here->forwarded_bytes += way.length;
	}
	struct carried *carried_here = bpf_map_lookup_elem(&carried, &cpu);
	if (carried_here) {
		carried_here[way.next_hop].frames++;
		carried_here[way.next_hop].bytes += way.length;
	}
	return XDP_REDIRECT;

punt:
	/* What follows is the same whatever the reason is. */
	FORGET(reason, way.length);
	return leave(mine, police(context, way.in, reason, way.type, start));
}
