/* Header checks in the order, and with the words, of crate wire: IPv4 after RFC 1812 §5.2.2 and
 * §5.3.7, IPv6 after RFC 8200 §3 and RFC 4291. Each check is given headers whose bytes are known to
 * be there, and returns REASONS when nothing is wrong. */
#ifndef CORELANE_PARSE_H
#define CORELANE_PARSE_H

#include "common.h"
#include "reasons.h"

#define ETHERNET_LENGTH 14
#define TAG_LENGTH 4
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define MAC_MASK 0xffffffffffffULL

#define PROTOCOL_ICMP 1
#define PROTOCOL_IPIP 4
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_DCCP 33
#define PROTOCOL_IPV6 41
#define PROTOCOL_ROUTING 43
#define PROTOCOL_FRAGMENT 44
#define PROTOCOL_GRE 47
#define PROTOCOL_ESP 50
#define PROTOCOL_AH 51
#define PROTOCOL_ICMPV6 58
#define PROTOCOL_DESTINATION 60
#define PROTOCOL_SCTP 132
#define PROTOCOL_UDPLITE 136

/* A reason, made where it is found: clang would write each to the stack before it looks whether it applies. */
#define BECAUSE(why)                                                                                                               \
	({                                                                                                                         \
		__u64 because = why;                                                                                               \
		OPAQUE(because);                                                                                                   \
		(enum reason)because;                                                                                              \
	})

/* The IPv4 header as five words, each as it lies in memory. */
struct ipv4 {
	__u32 word[5];
};

/* The IPv6 header as five double words, each as it lies in memory. */
struct ipv6 {
	__u64 word[5];
};

INLINE __u32 ipv4_total_length(const struct ipv4 *ip) { return bpf_ntohs(ip->word[0] >> 16); }
INLINE __u32 ipv4_ttl(const struct ipv4 *ip) { return ip->word[2] & 0xff; }
INLINE __u32 ipv4_protocol(const struct ipv4 *ip) { return (ip->word[2] >> 8) & 0xff; }
INLINE __u32 ipv4_source(const struct ipv4 *ip) { return bpf_ntohl(ip->word[3]); }
INLINE __u32 ipv4_destination(const struct ipv4 *ip) { return bpf_ntohl(ip->word[4]); }
/* More fragments, or an offset: there may be no port numbers here (RFC 791 §3.1). */
INLINE _Bool ipv4_is_fragment(const struct ipv4 *ip) { return (ip->word[1] >> 16) & bpf_htons(0x3fff); }

INLINE _Bool ipv4_is_later_fragment(const struct ipv4 *ip) { return (ip->word[1] >> 16) & bpf_htons(0x1fff); }

INLINE __u32 ipv6_flow_label(const struct ipv6 *ip) { return ip->word[0] & bpf_htonl(0x000fffff); }
INLINE __u32 ipv6_payload_length(const struct ipv6 *ip) { return bpf_ntohs((ip->word[0] >> 32) & 0xffff); }
INLINE __u32 ipv6_next_header(const struct ipv6 *ip) { return (ip->word[0] >> 48) & 0xff; }
INLINE __u32 ipv6_hop_limit(const struct ipv6 *ip) { return ip->word[0] >> 56; }

/* Sum of both addresses (RFC 8200 §8.1). */
INLINE __u64 ipv6_address_sum(const struct ipv6 *ip)
{
	__u64 sum = 0;
#pragma unroll
	for (int i = 1; i < 5; i++)
		sum += (ip->word[i] & 0xffffffff) + (ip->word[i] >> 32);
	return sum;
}

/* Extension headers of IPv6 that another header can follow, but hop-by-hop options, which come
 * first and are the kernel's (RFC 8200 §4). */
INLINE _Bool is_extension(__u32 protocol)
{
	return protocol == PROTOCOL_ROUTING || protocol == PROTOCOL_FRAGMENT || protocol == PROTOCOL_DESTINATION;
}

/* What the kernel takes for ports in a header of this protocol: `proto_ports_offset`. Those of
 * PROTOCOL_AH come four bytes later. */
INLINE _Bool has_ports(__u32 protocol)
{
	return protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP || protocol == PROTOCOL_DCCP || protocol == PROTOCOL_ESP ||
	       protocol == PROTOCOL_AH || protocol == PROTOCOL_SCTP || protocol == PROTOCOL_UDPLITE;
}

/* Is this sum of 16-bit words zero in one's complement, whose zeros are 0 and 0xffff (RFC 1071 §2)? It is when it is
 * a multiple of 0xffff; of these, and of no other number, the product with the inverse of 0xffff modulo 2^64 is at most
 * 2^64 / 0xffff (Granlund and Montgomery, Division by Invariant Integers using Multiplication, §9). */
INLINE _Bool is_zero_sum(__u64 sum) { return sum * 0xfffefffefffeffffULL <= 0x0001000100010001ULL; }

/* 0/8, 127/8, 224/4 and above (RFC 1812 §5.3.7), 169.254/16 (RFC 3927 §7). */
INLINE _Bool ipv4_is_special(__u32 address)
{
	__u32 first = address >> 24;
	return first - 1 >= 223 || first == 127 || address >> 16 == 0xa9fe;
}

INLINE enum reason ipv4_fault(const struct ipv4 *ip, __u32 available)
{
	__u32 first = ip->word[0] & 0xff, total = ipv4_total_length(ip), destination = ipv4_destination(ip);

	if (first >> 4 != 4)
		return BECAUSE(IPV4_VERSION);
	if ((first & 15) < 5 || (first & 15) * 4 > available)
		return BECAUSE(IPV4_HEADER_LENGTH);
	/* With options, the kernel checks the sum: we do not read them. */
	if (first == 0x45 && !is_zero_sum((__u64)ip->word[0] + ip->word[1] + ip->word[2] + ip->word[3] + ip->word[4]))
		return BECAUSE(IPV4_CHECKSUM);
	if (total < (first & 15) * 4)
		return BECAUSE(IPV4_TOTAL_LENGTH);
	if (total > available)
		return BECAUSE(IPV4_OVERRUN);
	if (ipv4_is_special(ipv4_source(ip)))
		return BECAUSE(IPV4_SOURCE_MARTIAN);
	if (ipv4_is_special(destination))
		return BECAUSE(destination >> 28 == 0xe || destination == 0xffffffff ? IPV4_GROUP : IPV4_DESTINATION_MARTIAN);
	if (first != 0x45)
		return BECAUSE(IPV4_OPTIONS);
	if (ipv4_ttl(ip) <= 1)
		return BECAUSE(IPV4_TIME_TO_LIVE);
	return REASONS;
}

/* Unspecified, loopback, IPv4 in disguise, link-local (RFC 4291 §2.5): never beyond its host or
 * link. What the verifier would learn of an address by each comparison it would carry along; it
 * learns nothing by these. */
INLINE _Bool ipv6_stays_here(__u64 high, __u64 low)
{
	__u64 own = high | low >> 1, disguised = high | (low >> 32 ^ 0xffff), link = high >> 54 ^ 0xfe80 >> 6;
	OPAQUE(own);
	OPAQUE(disguised);
	OPAQUE(link);
	return !own || !disguised || !link;
}

INLINE _Bool ipv6_is_group(__u64 high)
{
	__u32 first = high >> 56;
	OPAQUE(first);
	return first == 0xff;
}

INLINE enum reason ipv6_fault(const struct ipv6 *ip, __u32 available)
{
	__u64 source = bpf_be64_to_cpu(ip->word[1]), destination = bpf_be64_to_cpu(ip->word[3]);

	if ((ip->word[0] & 0xf0) != 0x60)
		return BECAUSE(IPV6_VERSION);
	if (40 + ipv6_payload_length(ip) > available)
		return BECAUSE(IPV6_OVERRUN);
	if (ipv6_stays_here(source, bpf_be64_to_cpu(ip->word[2])) || ipv6_is_group(source))
		return BECAUSE(IPV6_SOURCE_MARTIAN);
	if (ipv6_stays_here(destination, bpf_be64_to_cpu(ip->word[4])))
		return BECAUSE(IPV6_DESTINATION_MARTIAN);
	if (ipv6_is_group(destination))
		return BECAUSE(IPV6_GROUP);
	if (ipv6_next_header(ip) == 0)
		return BECAUSE(IPV6_HOP_BY_HOP);
	if (ipv6_hop_limit(ip) <= 1)
		return BECAUSE(IPV6_HOP_LIMIT);
	return REASONS;
}

/* Neighbour discovery (RFC 4861): the kernel answers what is for a neighbour that it stands in for
 * (`proxy_ndp`, ip6_forward_proxy_check), and forwards the rest. */
INLINE _Bool is_discovery(__u32 type) { return type - 133 <= 4; }

/* Does a packet of IP begin here that ends where its datagram does, `left` bytes on? */
INLINE _Bool begins_packet(const __u8 *at, __u32 left)
{
	__u32 version = at[0] >> 4;
	return (version == 4 && bpf_ntohs(*(const __u16 *)(at + 2)) == left) ||
	       (version == 6 && bpf_ntohs(*(const __u16 *)(at + 4)) + 40 == left);
}

/* Is there a packet inside this datagram? Tunnels have their headers in front: none (IP in UDP), some
 * words (GUE, GTP-U, GRE, MPLS), and an Ethernet header behind these (VXLAN, Geneve, GRE). So far one is
 * looked for at any port; what begins later is not found. */
#define TUNNEL_WORDS 16
#define TUNNEL_LAST 50
#define SMALLEST_INSIDE 28
INLINE _Bool is_tunnel(const __u8 *payload, const __u8 *end, __u32 length)
{
#pragma unroll
	for (int at = 0; at <= TUNNEL_LAST; at += 2) {
		if (at % 4 != (at > TUNNEL_WORDS ? 2 : 0))
			continue;
		if (payload + at + 6 > end)
			return 0;
		if (begins_packet(payload + at, length - at))
			return 1;
	}
	return 0;
}

/* Can a sum inside this packet be unfinished, where we do not look? Of SCTP the sum itself: it is not in
 * the header's field as long as nobody has made it. */
INLINE _Bool hides_sum(const __u8 *transport, const __u8 *end, __u32 protocol, __u32 length)
{
	if (protocol == PROTOCOL_UDP) {
		if (transport + 8 > end)
			return 0;
		__u32 port = *(const __u16 *)(transport + 2);
		/* VXLAN (also on Linux's old port) and Geneve. */
		return port == bpf_htons(4789) || port == bpf_htons(8472) || port == bpf_htons(6081) ||
		       (length >= 8 + SMALLEST_INSIDE && is_tunnel(transport + 8, end, length - 8));
	}
	if (protocol == PROTOCOL_SCTP)
		return transport + 12 <= end && *(const __u32 *)(transport + 8) == 0;
	return protocol == PROTOCOL_GRE || protocol == PROTOCOL_IPIP || protocol == PROTOCOL_IPV6;
}

/* Is the transport checksum of this packet still to be completed by whoever sends it on?
 *
 * A frame from a veth, virtio or tap peer can carry only the sum of its pseudo-header there; where
 * the kernel notes it beside the frame (CHECKSUM_PARTIAL), XDP does not see the note, and a
 * redirect loses it. But the field itself tells: it equals that sum. A complete checksum does so
 * once in 65,536 frames, which then takes the kernel's way, and comes to no harm.
 *
 * `sum` is the sum of both addresses; `length` the bytes from `transport` on. What carries another
 * packet inside may need the inner one completed, and is not looked into: it counts as partial. A
 * tunnel's own sum does not tell: it is zero, or complete with the inner one unfinished
 * (`udp_set_csum`). */
INLINE _Bool is_partial(const __u8 *transport, const __u8 *end, __u32 protocol, __u64 sum, __u32 length)
{
	__u32 have;

	if (hides_sum(transport, end, protocol, length))
		return 1;
	if (protocol == PROTOCOL_TCP) {
		if (transport + 18 > end)
			return 0;
		have = *(const __u16 *)(transport + 16);
	} else if (protocol == PROTOCOL_UDP) {
		if (transport + 8 > end)
			return 0;
		have = *(const __u16 *)(transport + 6);
		if (have == 0)
			return 0;
	} else {
		return 0;
	}
	return is_zero_sum(sum + bpf_htons(protocol) + bpf_htons(length) + (0xffff - have));
}

#endif
