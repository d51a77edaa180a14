/* What an XDP program changes in a frame that goes on, beside its hop: the Ethernet header, the VLAN
 * tag, the end. */
#ifndef CORELANE_REWRITE_H
#define CORELANE_REWRITE_H

#include "hop.h"

/* Ends a frame of `length` bytes where its packet ends, at `packet`. The new length; 0 when the
 * kernel does not cut. */
INLINE __u32 cut_behind(struct xdp_md *context, __u32 length, __u32 packet)
{
	__u32 wanted = packet > SHORTEST_FRAME ? packet : SHORTEST_FRAME;
	if (length <= wanted)
		return length;
	return bpf_xdp_adjust_tail(context, (int)(wanted - bpf_xdp_get_buff_len(context))) ? 0 : wanted;
}

/* Writes both addresses and, where the frame had a tag, needs one, or both, the tag and the type.
 * `addresses` are 12 bytes in the order of the wire; `had` and `wanted` are tag control information
 * with bit 16 set for "there is one". False when the kernel gives no room for a tag: then nothing
 * is written. */
INLINE _Bool ethernet_rewrite(struct xdp_md *context, const __u8 *addresses, __u32 had, __u32 wanted, __u16 type)
{
	if (!had != !wanted && bpf_xdp_adjust_head(context, wanted ? -TAG_LENGTH : TAG_LENGTH))
		return 0;
	__u8 *data = packet_start(context);
	if (data + ETHERNET_LENGTH + TAG_LENGTH > (__u8 *)packet_end(context))
		return 0;
	*(__u64 *)data = *(const __u64 *)addresses;
	*(__u32 *)(data + 8) = *(const __u32 *)(addresses + 8);
	if (wanted) {
		*(__u16 *)(data + 12) = bpf_htons(TYPE_VLAN);
		*(__u16 *)(data + 14) = bpf_htons(wanted & 0xffff);
		*(__u16 *)(data + 16) = type;
	} else if (had) {
		*(__u16 *)(data + 12) = type;
	}
	return 1;
}

#endif
