/* One hop less, and where a frame ends that goes on. */
#ifndef CORELANE_HOP_H
#define CORELANE_HOP_H

#include "parse.h"

/* One hop less. RFC 1624: the sum grows by what the time to live lost, 0x0100 in network order,
 * with the carry brought round. */
INLINE void ipv4_hop(struct ipv4 *at, const struct ipv4 *ip)
{
	__u32 word = ip->word[2], sum = (word >> 16) + bpf_htons(0x0100);
	sum += sum >= 0xffff;
	at->word[2] = (sum << 16) | ((word & 0xffff) - 1);
}

INLINE void ipv6_hop(struct ipv6 *at, const struct ipv6 *ip)
{
	((__u8 *)at)[7] = ipv6_hop_limit(ip) - 1;
}

/* Without FCS, the shortest frame that Ethernet knows (IEEE 802.3 §4.2.3.3), and so the most that is
 * left of what lies behind a packet: the kernel, too, cuts that off (ip_rcv_core, ip6_rcv_core). */
#define SHORTEST_FRAME 60

#endif
