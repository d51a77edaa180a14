/* The forwarder at tc: what forward.bpf.c does, behind the kernel's own receiving, where one frame can stand
 * for many.
 *
 * A sender with offloads hands over up to 64 KiB at once, with one header (GSO), and an unfinished checksum that
 * is noted beside the frame. Here it is looked up once and goes on whole, with all that is noted, through the queueing
 * discipline of its egress: whoever puts it on a wire cuts it up and finishes the sums.
 *
 * What is counted is frames as they are on a wire. So does the MTU: it is the largest segment that must fit
 * (`ip_exceeds_mtu`, `skb_gso_validate_network_len`).
 *
 * The kernel has taken tags out of frames before this runs. */
#define CONTEXT struct __sk_buff
#define LOAD_BYTES bpf_skb_load_bytes
#define DROP 2    /* TCX_DROP, TC_ACT_SHOT */
#define PASS (-1) /* TCX_NEXT, TC_ACT_UNSPEC: as if this program were not here */
#include "next_hop.h"
#include "way.h"


CONSTANT(REHEARSED); /* 1: run by hand, where nobody can put a tag beside a frame: it is in the scratch words, as in `way` */

#define KERNEL_FIB 0
#define SUMS_TOLD 1
#define UNCHANGED 0

/* As much as is read of a frame before its port, and written: Ethernet, IPv6, what says which ICMP it is. */
#define HEADERS (ETHERNET_LENGTH + 40 + 1)
/* Ethernet, IPv4 and TCP: what each segment has in front, before that is known. */
#define USUAL_FRONT (ETHERNET_LENGTH + 20 + 20)

/* How many segments with `front` bytes in front of each. Who does not trust the sender's number clears it
 * (SKB_GSO_DODGY). */
INLINE __u32 segments(const struct __sk_buff *context, __u32 front)
{
	__u32 size = context->gso_size, said = context->gso_segs;
	if (!size || said)
		return size ? said : 1;
	__u32 left = context->len > front ? context->len - front : 1;
	return (left + size - 1) / size;
}

/* The bytes that each segment has in front of its data, from the Ethernet header on; 0 when only the kernel
 * can say, as for tunnels, whose segments are those of the packet inside. */
INLINE __u32 front_of(struct __sk_buff *context, __u32 transport, __u32 protocol, __u32 length)
{
	__u8 bytes[SHOWN_BEHIND] = {};
	if (protocol == PROTOCOL_TCP)
		return LOAD_BYTES(context, transport + 12, bytes, 1) ? 0 : transport + (bytes[0] >> 4) * 4;
	if (protocol != PROTOCOL_UDP || length < sizeof(bytes) || LOAD_BYTES(context, transport, bytes, sizeof(bytes)) ||
	    hides_sum(bytes, bytes + sizeof(bytes), protocol, length))
		return 0;
	return transport + 8;
}

INLINE enum reason see_all(struct __sk_buff *context, struct way *way, __u32 packet, __u32 protocol, __u32 header)
{
	way->largest = packet;
	if (!context->gso_size)
		return REASONS;
	/* More than the header can say has none of it (BIG TCP). */
	__u32 transport = way->start + header;
	__u32 front = packet > header && way->start + packet == context->len ? front_of(context, transport, protocol, packet - header) : 0;
	if (!front)
		return SEGMENTS;
	__u32 frames = segments(context, front);
	if (frames > 1)
		way->largest = front - way->start + context->gso_size;
	__u64 more = (__u64)(frames - 1) * front, later = (__u64)frames - way->frames;
	__u32 tags = way->tag ? TAG_LENGTH : 0;
	way->frames = frames;
	way->length += more + later * tags;
	way->counters->received += later;
	way->counters->received_bytes += more + later * tags;
	struct link_counters *vlan = vlan_here(way);
	if (vlan) {
		vlan->received += later;
		vlan->received_bytes += more + later * tags;
	}
	FORGET(way->tag, more);
	FORGET(way->frames, more);
	return REASONS;
}

INLINE __u32 largest_of(const struct way *way) { return way->largest; }

/* Any device takes what its queueing discipline does. */
INLINE _Bool is_refused(struct __sk_buff *context, __u32 flags)
{
	(void)context, (void)flags;
	return 0;
}

INLINE enum reason aim(struct way *way)
{
	const struct port *out = port_at(way->port);
	way->device = out ? *(volatile const __u32 *)&out->ifindex : 0;
	return way->device ? REASONS : UNKNOWN_PORT;
}

#include "route.h"

/* The class for queueing by the type of service: `rt_tos2priority` of the kernel's include/net/route.h. */
INLINE __u32 priority_of(__u8 tos) { return 0x4620 >> (tos >> 3 & 3) * 4 & 15; }

/* Cuts off what lies behind a packet of `packet` bytes, as the kernel does before it looks at one. False when it
 * does not let us: its sender has noted beside the frame that a header lies there. */
INLINE _Bool cut_behind(struct __sk_buff *context, __u32 packet)
{
	__u32 end = ETHERNET_LENGTH + packet, wanted = end > SHORTEST_FRAME ? end : SHORTEST_FRAME;
	return context->gso_size || context->len <= wanted || !bpf_skb_change_tail(context, wanted, 0);
}

/* Writes addresses and tag. False when the kernel has no memory. */
INLINE _Bool write(struct __sk_buff *context, const struct way *way)
{
	if (way->tag != way->vlan) {
		if (way->tag && bpf_skb_vlan_pop(context))
			return 0;
		if (way->vlan && bpf_skb_vlan_push(context, bpf_htons(TYPE_VLAN), way->vlan & 0xffff))
			return 0;
	}
	__u8 *data = packet_start(context);
	if (data + ETHERNET_LENGTH + 20 > (__u8 *)packet_end(context))
		return 0;
	*(__u64 *)data = *(const __u64 *)way->addresses;
	*(__u32 *)(data + 8) = *(const __u32 *)(way->addresses + 8);
	if (way->type == bpf_htons(TYPE_IPV4)) {
		context->priority = priority_of(data[ETHERNET_LENGTH + 1]);
	} else {
		/* What a device has summed up has changed by the hop limit; of IPv4 the header's own sum makes up for it. */
		bpf_csum_update(context, (__u16)~bpf_htons(1));
		if (way->tag)
			context->priority = 0; /* as `vlan_do_receive` */
	}
	return 1;
}

SEC("tc") int segment(struct __sk_buff *context)
{
	if (REHEARSED && context->cb[0])
		bpf_skb_vlan_push(context, bpf_htons(TYPE_VLAN), context->cb[0] & 0xffff);
	__u32 cpu = bpf_get_smp_processor_id();
	LOOK(context, cpu);
	struct port_counters *row = LOOKUP(counters, cpu);
	const struct port *port = port_at(PORT);
	if (!row || !port || PORT >= PORTS)
		return PASS;
	struct port_counters *mine = row + PORT;

	__u32 frames = segments(context, USUAL_FRONT);
	struct way way = {.counters = mine, .table = port->table, .cpu = cpu, .frames = frames, .start = ETHERNET_LENGTH};
	way.tag = context->vlan_present ? 0x10000 | context->vlan_tci : 0;
	way.length = context->len + (way.tag ? TAG_LENGTH * frames : 0);
	count_received(&way, frames);
	__u64 wanted = *(volatile const __u64 *)&port->station;
	if (!(wanted & STATION_ENABLED))
		return leave(mine, PORT_DISABLED, frames);
	if (is_stale(port))
		return leave(mine, STALE, frames);
	/* Headers can lie where a program does not see them. */
	__u8 *data = packet_start(context);
	if (data + HEADERS > (__u8 *)packet_end(context)) {
		__u32 length = context->len < HEADERS ? context->len : HEADERS;
		if (bpf_skb_pull_data(context, length))
			return leave(mine, RUNT, frames);
		data = packet_start(context);
	}
	const __u8 *end = packet_end(context);
	if (data + ETHERNET_LENGTH + 6 > end)
		return leave(mine, RUNT, frames);

	enum reason reason = LINK_GROUP;
	__u64 station = *(__u64 *)data & MAC_MASK;
	way.type = *(__u16 *)(data + 12);
	if (data[0] & 1)
		goto punt;
	if (way.tag) {
		if (context->vlan_proto != bpf_htons(TYPE_VLAN))
			return leave(mine, OTHER_PROTOCOL, frames);
		const struct port *in = LOOKUP(vlans, PORT << 12 | (way.tag & 0xfff));
		if (!in)
			return leave(mine, UNKNOWN_VLAN, frames);
		wanted = *(volatile const __u64 *)&in->station;
		struct link_counters *vlan = vlan_counters_at(in->place, cpu);
		if (!wanted || !vlan)
			return leave(mine, UNKNOWN_VLAN, frames);
		way.table = in->table;
		vlan->received += frames;
		vlan->received_bytes += way.length;
	}
	way.station = wanted;
	if (station != (wanted & MAC_MASK))
		return leave(mine, OTHER_STATION, frames);
	__u64 family = way.type == bpf_htons(TYPE_IPV4) ? STATION_V4 : way.type == bpf_htons(TYPE_IPV6) ? STATION_V6 : 0;
	if (family && !(wanted & family))
		return leave(mine, PORT_DISABLED, frames);

	/* A jumbogram (RFC 2675) says its length elsewhere. */
	__u32 said = bpf_ntohs(*(__u16 *)(data + (family == STATION_V6 ? 18 : 16)));
	if (family && said) {
		__u32 length = context->len;
		if (!cut_behind(context, family == STATION_V6 ? 40 + said : said))
			return leave(mine, PUNT, frames);
		way.length -= length - context->len;
		data = packet_start(context);
		end = packet_end(context);
	}
	/* The verifier goes one way for frames with a tag and without. */
	FORGET(way.tag, way.length);
	way.ip = context->len - ETHERNET_LENGTH;
	way.flows = *(volatile const __u32 *)&port->flows;
	if (way.type == bpf_htons(TYPE_IPV4))
		reason = route4(context, &way, ETHERNET_LENGTH, data + ETHERNET_LENGTH, end);
	else if (way.type == bpf_htons(TYPE_IPV6))
		reason = route6(context, &way, ETHERNET_LENGTH, data + ETHERNET_LENGTH, end);
	else
		reason = OTHER_PROTOCOL;
	if (reason != REASONS)
		goto punt;
	if (!write(context, &way))
		return leave(mine, NO_HEADROOM, way.frames);
	count_forwarded(&way, way.frames);
	return bpf_redirect(way.device, 0);

punt:
	/* What follows is the same whatever the reason is. */
	FORGET(reason, way.length);
	return leave(mine, police(context, way.table, interface_of(way.tag), reason, way.type, ETHERNET_LENGTH), way.frames);
}
