/* The steerer: gives frames to the AF_XDP socket of their queue and everything else to the kernel.
 *
 * What is the kernel's in any case stays with it: frames for groups or other stations, ARP,
 * neighbour discovery and other multicast, whatever is neither IPv4 nor IPv6. The worker behind the
 * socket hands back nothing, so what it would not forward must not come to it: `local` holds the
 * addresses that are this host's own, for which a frame is delivered here. Where nobody listens on
 * a queue, the kernel gets everything. */
#include "parse.h"

CONSTANT(STATION); /* the port's MAC address as it lies in memory, in the low 48 bits; 0: frames for all stations */

struct counters {
	__u64 steered, kernel;
};

struct address {
	__u32 word[4];
};

MAP_OF_TARGETS(sockets, BPF_MAP_TYPE_XSKMAP, 64);
/* Keys: 16 bytes, IPv4 as ::ffff:a.b.c.d. */
MAP(local, BPF_MAP_TYPE_HASH, struct address, __u8, 4096, 0);
MAP(counters, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct counters, 1, 0);

INLINE _Bool is_for_worker(struct xdp_md *context)
{
	__u8 *data = packet_start(context), *end = packet_end(context);
	struct address destination = {.word = {0, 0, bpf_htonl(0xffff), 0}};

	if (data + ETHERNET_LENGTH + 20 > end)
		return 0;
	if (STATION && (*(__u64 *)data & MAC_MASK) != STATION)
		return 0;
	__u16 type = *(__u16 *)(data + 12);
	if (type == bpf_htons(TYPE_IPV4)) {
		struct ipv4 *ip = (struct ipv4 *)(data + ETHERNET_LENGTH);
		/* Groups, broadcast, options and the last hop are the kernel's; RFC 1812 §5.2.2. */
		if ((ip->word[0] & 0xff) != 0x45 || ipv4_ttl(ip) <= 1 || ipv4_is_special(ipv4_destination(ip)))
			return 0;
		if (!ipv4_is_fragment(ip) &&
		    is_partial((__u8 *)(ip + 1), end, ipv4_protocol(ip), (__u64)ip->word[3] + ip->word[4], ipv4_total_length(ip) - 20))
			return 0;
		destination.word[3] = ip->word[4];
	} else if (type == bpf_htons(TYPE_IPV6)) {
		struct ipv6 *ip = (struct ipv6 *)(data + ETHERNET_LENGTH);
		if ((__u8 *)(ip + 1) > end || ipv6_fault(ip, ~0U) != REASONS)
			return 0;
		__u64 sum = 0;
#pragma unroll
		for (int i = 1; i < 5; i++)
			sum += (ip->word[i] & 0xffffffff) + (ip->word[i] >> 32);
		if (is_partial((__u8 *)(ip + 1), end, ipv6_next_header(ip), sum, ipv6_payload_length(ip)))
			return 0;
		__builtin_memcpy(&destination, &ip->word[3], 16);
	} else {
		return 0;
	}
	return !bpf_map_lookup_elem(&local, &destination);
}

/* Frames of several buffers, too: bounds then cover the first. */
SEC("xdp.frags") int steer(struct xdp_md *context)
{
	struct counters *mine = LOOKUP(counters, 0);
	int verdict = XDP_PASS;

	if (is_for_worker(context))
		verdict = bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS);
	if (mine) {
		if (verdict == XDP_REDIRECT)
			mine->steered++;
		else
			mine->kernel++;
	}
	return verdict;
}
