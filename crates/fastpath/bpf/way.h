/* A frame on its way through a program: what is known of it so far, and how it is counted.
 *
 * Whoever includes this has DROP and PASS, what a program says of a frame that is lost here, and of one that
 * is the kernel's. */
#ifndef CORELANE_WAY_H
#define CORELANE_WAY_H

#include "ports.h"
#include "vlans.h"

/* Who shows frames decides here, first of all, whether this is one. */
#define LOOK(context, cpu)

/* Counts what goes no further here, and says what becomes of it. */
INLINE int leave(struct port_counters *counters, enum reason reason, __u32 frames)
{
	/* One register for the comparison and the index, or the verifier does not see that they are one. */
	__u64 index = reason;
	OPAQUE(index);
	if (index < REASONS)
		counters->reasons[index] += frames;
	return IS_DROPPED(reason) ? DROP : PASS;
}

/* A frame on its way, as far as it is known. */
struct way {
	struct port_counters *counters;
	/* Of the port or VLAN it came by, as it was when the frame came. No pointer, so that the verifier
	 * goes one way for both. */
	__u64 station;
	__u32 table; /* place in `tables` */
	__u32 cpu;
	__u32 tag;     /* incoming tag control information; bit 16: there is one */
	__u32 type;    /* network order */
	__u32 length;  /* on the wire, bytes without FCS */
	__u32 ip;      /* bytes of the IP packet */
	__u32 frames;  /* on the wire; where one can be several */
	__u32 largest; /* bytes of the largest IP packet among these; where one can be several */
	__u32 flows;   /* of the port */
	__u32 known;   /* one more than the next hop of the destination, when it was searched for before; else 0 */
	__u32 start;   /* of the IP packet in the frame */
	__u8 addresses[12] __attribute__((aligned(8))); /* a stack knows no other */
	__u16 next_hop;
	__u32 port, vlan;
	__u32 device; /* interface index that it leaves by; where a redirect goes by that */
};

/* What is counted by VLAN; null without a tag. */
INLINE struct link_counters *vlan_here(const struct way *way)
{
	const struct port *in = way->tag ? LOOKUP(vlans, PORT << 12 | (way->tag & 0xfff)) : 0;
	return in ? vlan_counters_at(in->place, way->cpu) : 0;
}

/* The index of the interface that a frame with this tag belongs to. */
INLINE __u32 interface_of(__u32 tag)
{
	const struct port *in = port_at(PORT);
	if (tag)
		in = LOOKUP(vlans, PORT << 12 | (tag & 0xfff));
	return in ? in->ifindex : 0;
}

/* Counts what comes in: `frames` on the wire, on this CPU. */
INLINE void count_received(const struct way *way, __u32 frames)
{
	way->counters->received += frames;
	way->counters->received_bytes += way->length;
}

/* Counts what is forwarded: `frames` on the wire, on this CPU. */
INLINE void count_forwarded(const struct way *way, __u32 frames)
{
	struct port_counters *mine = way->counters;
	mine->forwarded += frames;
	mine->forwarded_bytes += way->length;
	struct link_counters *vlan = vlan_here(way);
	if (vlan) {
		vlan->forwarded += frames;
		vlan->forwarded_bytes += way->length;
	}
	struct carried *carried_here = LOOKUP(carried, way->cpu);
	if (carried_here) {
		carried_here[way->next_hop].frames += frames;
		carried_here[way->next_hop].bytes += way->length;
	}
}

#endif
