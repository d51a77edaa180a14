/* What the kernel knows of a frame's VLAN tag when it takes the frame in, just before, on the same
 * CPU, it shows the frame to a program in generic mode: that program sees only what is in the frame. */
#include "arrived.h"

CONSTANT(TAG);      /* where `vlan_all` is in `struct sk_buff` */
CONSTANT(PROTOCOL); /* where `protocol` is there */

#define TYPE_SERVICE_VLAN 0x88a8

/* struct sk_buff *frame */
SEC("raw_tp/netif_receive_skb") int arrive(struct bpf_raw_tracepoint_args *context)
{
	__u32 tag = 0, *here = LOOKUP(arrived, 0);
	__u16 protocol = 0;
	if (!here)
		return 0;
	if (bpf_probe_read_kernel(&tag, sizeof(tag), (void *)(context->args[0] + TAG)) ||
	    bpf_probe_read_kernel(&protocol, sizeof(protocol), (void *)(context->args[0] + PROTOCOL)) || tag)
		*here = TAG_TAKEN;
	else
		*here = protocol == bpf_htons(TYPE_VLAN) || protocol == bpf_htons(TYPE_SERVICE_VLAN) ? protocol : 0;
	return 0;
}
