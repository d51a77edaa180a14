/* What is counted of frames with a tag, by VLAN. */
#ifndef CORELANE_VLANS_H
#define CORELANE_VLANS_H

#include "ports.h"

CONSTANT(PORT);  /* the program's port: its place in `ports` and in what is counted */
CONSTANT(VLANS); /* places for VLANs over all ports */

struct link_counters {
	__u64 received, received_bytes, forwarded, forwarded_bytes;
};

/* One element for each CPU; the loader makes it as large as there are places. */
MAP(vlan_counters, BPF_MAP_TYPE_ARRAY, __u32, struct link_counters, 1, BPF_F_MMAPABLE);

/* Those at a place, on this CPU; null only in a program that the verifier imagines. */
INLINE struct link_counters *vlan_counters_at(__u32 place, __u32 cpu)
{
	struct link_counters *row = LOOKUP(vlan_counters, cpu);
	OPAQUE(place);
	return row && place < VLANS ? row + place : 0;
}

#endif
