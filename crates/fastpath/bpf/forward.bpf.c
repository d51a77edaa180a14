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
#define DROP XDP_DROP
#define PASS XDP_PASS
#include "ahead.h"
#include "next_hop.h"
#include "rewrite.h"
#include "tags.h"
#include "way.h"

CONSTANT(GENERIC);    /* 1: attached in generic mode, where any device takes redirected frames */
CONSTANT(KERNEL_FIB); /* 1: ask the kernel instead of our table */
CONSTANT(SOCKETS);    /* longest frame that the sockets take, in bytes; 0: frames are redirected to ports */
CONSTANT(SCATTERED);  /* 1: the sockets take frames of several buffers, too */

#define SUMS_TOLD 0
#define UNCHANGED SOCKETS
#define QUEUES 64

MAP_OF_TARGETS(out, BPF_MAP_TYPE_DEVMAP, PORTS);
/* Keys: port * QUEUES + queue. */
MAP_OF_TARGETS(sockets, BPF_MAP_TYPE_XSKMAP, PORTS * QUEUES);

/* A frame in several buffers shows only its first: when that is too short for the packet, asks for
 * the length of all. */
INLINE enum reason see_all(struct xdp_md *context, struct way *way, __u32 packet, __u32 protocol, __u32 header)
{
	(void)protocol, (void)header;
	if (packet <= way->ip)
		return REASONS;
	__u32 more = bpf_xdp_get_buff_len(context) - way->length;
	way->length += more;
	way->ip += more;
	way->counters->received_bytes += more;
	struct link_counters *vlan = vlan_here(way);
	if (vlan)
		vlan->received_bytes += more;
	FORGET(way->tag, more);
	return REASONS;
}

INLINE __u32 largest_of(const struct way *way) { return way->ip; }

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

#include "route.h"

/* Frames of several buffers, too: bounds then cover the first. */
SEC("xdp.frags") int forward(struct xdp_md *context)
{
	__u32 cpu = bpf_get_smp_processor_id();
	LOOK(context, cpu);
	struct port_counters *row = LOOKUP(counters, cpu);
	const struct port *port = port_at(PORT);
	if (!row || !port || PORT >= PORTS)
		return XDP_PASS;
	struct port_counters *mine = row + PORT;

	__u8 *data = packet_start(context);
	const __u8 *end = packet_end(context);
	struct way way = {.counters = mine, .table = port->table, .cpu = cpu, .length = end - data};
	count_received(&way, 1);
	if (data + ETHERNET_LENGTH + TAG_LENGTH > end)
		return leave(mine, RUNT, 1);

	__u64 station = *(__u64 *)data & MAC_MASK;
	way.type = *(__u16 *)(data + 12);
	/* The destination of what has no tag, long before the search: there is enough to do meanwhile. */
	const struct table *table = KERNEL_FIB ? 0 : table_at(way.table);
	_Bool six = way.type == bpf_htons(TYPE_IPV6);
	if (table && (six || way.type == bpf_htons(TYPE_IPV4)) && data + destination_at(six) + 8 <= end) {
		__u64 destination = destination_of(*(__u64 *)(data + destination_at(six)), six);
		if (BOX && table->large >> six & 1)
			way.known = look_ahead(context, table, way.table, cpu, destination, six);
		else if (!six)
			fetch4(table, destination);
	}
	__u32 start = ETHERNET_LENGTH;
	enum reason reason = LINK_GROUP;
	__u64 wanted = *(volatile const __u64 *)&port->station;
	if (!(wanted & STATION_ENABLED))
		return leave(mine, PORT_DISABLED, 1);
	if (is_stale(port))
		return leave(mine, STALE, 1);
	if (data[0] & 1)
		goto punt;
	way.tag = taken_tag(context, way.type);
	if (!way.tag && way.type == bpf_htons(TYPE_VLAN)) {
		way.tag = 0x10000 | bpf_ntohs(*(__u16 *)(data + 14));
		way.type = *(__u16 *)(data + 16);
		start = ETHERNET_LENGTH + TAG_LENGTH;
	}
	if (way.tag) {
		const struct port *in = LOOKUP(vlans, PORT << 12 | (way.tag & 0xfff));
		if (!in)
			return leave(mine, UNKNOWN_VLAN, 1);
		wanted = *(volatile const __u64 *)&in->station;
		struct link_counters *vlan = vlan_counters_at(in->place, cpu);
		if (!wanted || !vlan)
			return leave(mine, UNKNOWN_VLAN, 1);
		way.table = in->table;
		way.known = 0; /* in the port's table */
		vlan->received++;
		vlan->received_bytes += way.length;
	}
	way.station = wanted;
	if (station != (wanted & MAC_MASK))
		return leave(mine, OTHER_STATION, 1);
	__u64 family = way.type == bpf_htons(TYPE_IPV4) ? STATION_V4 : way.type == bpf_htons(TYPE_IPV6) ? STATION_V6 : 0;
	if (family && !(wanted & family))
		return leave(mine, PORT_DISABLED, 1);

	way.flows = *(volatile const __u32 *)&port->flows;
	/* The verifier goes one way for frames with a tag and without. */
	FORGET(start, way.length);
	FORGET(way.tag, way.length);
	start &= 31;
	way.ip = way.length - start;
	way.start = start;
	if (way.type == bpf_htons(TYPE_IPV4))
		reason = route4(context, &way, start, data + start, end);
	else if (way.type == bpf_htons(TYPE_IPV6))
		reason = route6(context, &way, start, data + start, end);
	else
		reason = OTHER_PROTOCOL;
	if (reason != REASONS)
		goto punt;

	__u32 tag_here = start == ETHERNET_LENGTH ? 0 : way.tag;
	if (SOCKETS) {
		if (way.length > SOCKETS - TAG_LENGTH * (way.tag != tag_here) || (!SCATTERED && way.length > end - data))
			return leave(mine, TOO_BIG, 1);
		__u32 queue = context->rx_queue_index;
		if (queue >= QUEUES || bpf_redirect_map(&sockets, PORT * QUEUES + queue, XDP_ABORTED) != XDP_REDIRECT)
			return leave(mine, NO_WORKER, 1);
		if (way.tag != tag_here) {
			/* The worker sees nothing but the frame. */
			__builtin_memcpy(way.addresses, data, sizeof(way.addresses));
			if (!ethernet_rewrite(context, way.addresses, 0, way.tag, way.type))
				return leave(mine, NO_HEADROOM, 1);
		}
	} else {
		way.length = cut_behind(context, way.length, start + way.ip);
		if (!way.length || !ethernet_rewrite(context, way.addresses, tag_here, way.vlan, way.type))
			return leave(mine, NO_HEADROOM, 1);
	}
	count_forwarded(&way, 1);
	return XDP_REDIRECT;

punt:
	/* What follows is the same whatever the reason is. */
	FORGET(reason, way.length);
	FORGET(start, way.length);
	return leave(mine, police(context, way.table, interface_of(way.tag), reason, way.type, start), 1);
}
