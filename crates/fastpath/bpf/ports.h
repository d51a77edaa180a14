/* Ports as the programs on them see them, and what they count there. No cache line is written by
 * two CPUs: counters have a row for each. */
#ifndef CORELANE_PORTS_H
#define CORELANE_PORTS_H

#include "common.h"
#include "reasons.h"

#define PORTS 64

/* Bits 0 to 47 of `station` are the MAC address as it lies in memory, those above say what comes in
 * here: one store changes all. In entries of `vlans` they are the sub-interface's. */
struct port {
	__u64 station;
	__u32 table;    /* place in `tables` */
	__u32 ifindex;  /* of the interface that the frames of this entry belong to */
	__u64 until;    /* jiffies: beyond, nobody has vouched for the routes for too long; not in entries of `vlans` */
	__u32 flows;    /* what makes a flow: FLOW_… for IPv4, and those for IPv6 << 16; not in entries of `vlans` */
	__u32 place;    /* in `vlan_counters`; only in entries of `vlans` */
};
#define STATION_V4 (1ULL << 48)      /* IPv4 is forwarded */
#define STATION_V6 (1ULL << 49)      /* IPv6 is forwarded */
#define STATION_STRICT (1ULL << 50)  /* rp_filter=1: a source's own way leaves by this interface */
#define STATION_LOOSE (1ULL << 51)   /* rp_filter=2: a source has a way */
#define STATION_OWN (1ULL << 52)     /* accept_local=1: our own addresses may be sources */
#define STATION_REDIRECTS (1ULL << 53) /* send_redirects=1: IPv4 frames that leave as they came are the kernel's */
#define STATION_ENABLED (1ULL << 54) /* only in `ports`: anything at all is forwarded, VLANs included */

struct port_counters {
	__u64 received, received_bytes, forwarded, forwarded_bytes;
	__u64 refused; /* frames that came by any port and that this one's device did not take */
	__u64 reasons[REASONS];
	__u64 reserved[(8 - (REASONS + 5) % 8) % 8]; /* whole cache lines */
};

struct carried {
	__u64 frames, bytes;
};

/* Has whoever follows the kernel's routes been silent for too long? Then what they say may have
 * changed meanwhile. */
INLINE _Bool is_stale(const struct port *port)
{
	return bpf_jiffies64() > *(volatile const __u64 *)&port->until;
}

VALUES(ports, struct port, PORTS);
/* Tagged frames: key is port << 12 | VLAN identifier. Without a station, there is no such VLAN; all
 * else changes only when no program can be about to read what it was. */
MAP(vlans, BPF_MAP_TYPE_ARRAY, __u32, struct port, PORTS << 12, BPF_F_MMAPABLE);
/* One element for each CPU. */
/* The port of a number; null when there is none. */
INLINE struct port *port_at(__u32 number) { return number < PORTS ? FIRST(ports) + number : 0; }

MAP(counters, BPF_MAP_TYPE_ARRAY, __u32, struct port_counters[PORTS], 1, BPF_F_MMAPABLE);
MAP(carried, BPF_MAP_TYPE_ARRAY, __u32, struct carried[1 << 16], 1, BPF_F_MMAPABLE);

#endif
