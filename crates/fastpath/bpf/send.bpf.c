/* Sends frames of a worker by a port, without a socket buffer for each: one run of `send` by hand,
 * on one live frame, for a whole burst.
 *
 * The kernel copies that frame to every element of a map of devices, each of which is our port.
 * Behind each element runs `fill`, which puts the next frame of the worker's box in the copy's
 * place. So a run costs what one live frame costs, and a copy of a page for each further frame.
 * Unlike a run on many live frames it does not wait until the kernel has prepared the program.
 *
 * Copies that are more than the frames come first. The kernel gives frames to the device in bulks
 * of 16, and wakes it behind the last: that has a frame in it. The last copy is the live frame
 * itself, whose page is the run's: no frame takes its place, so it never outlives the run. */
#include "send.h"

CONSTANT(PORT); /* our place for the port */

/* A device, and the program that runs on frames for it. */
#define WAYS(name, copies)                                                                                                         \
	struct {                                                                                                                   \
		__uint(type, BPF_MAP_TYPE_DEVMAP);                                                                                 \
		__uint(key_size, 4);                                                                                               \
		__uint(value_size, 8);                                                                                             \
		__uint(max_entries, copies);                                                                                       \
	} name SEC(".maps")
/* None a multiple of 16 and one more. */
WAYS(few, 34);
WAYS(some, 50);
WAYS(many, 66);

/* What the worker writes in the live frame, and what is in all copies. */
struct order {
	__u32 box, port, copies, reserved;
};

#define LONGEST 2048

SEC("xdp") int send(struct xdp_md *context)
{
	struct order *order = packet_start(context);
	if ((void *)(order + 1) > packet_end(context) || order->port != PORT)
		return XDP_DROP;
	__u64 *sender = LOOKUP(sending, 0);
	if (!sender)
		return XDP_DROP;
	*sender = order->box + 1;
	if (order->copies == 34)
		return bpf_redirect_map(&few, 0, BPF_F_BROADCAST);
	if (order->copies == 50)
		return bpf_redirect_map(&some, 0, BPF_F_BROADCAST);
	return bpf_redirect_map(&many, 0, BPF_F_BROADCAST);
}

SEC("xdp/devmap") int fill(struct xdp_md *context)
{
	__u8 *data = packet_start(context), *end = packet_end(context);
	struct order *order = (void *)data;
	if ((void *)(order + 1) > (void *)end)
		return XDP_DROP;
	struct box *box = LOOKUP(boxes, order->box);
	if (!box)
		return XDP_DROP;
	if (box->early) {
		box->early--;
		return XDP_DROP;
	}
	__u64 at = box->at;
	if (!box->left || at > sizeof(box->frames) - LONGEST - 8)
		return XDP_DROP;
	__u64 length = *(volatile __u64 *)(box->frames + at);
	if (length < 14 || length > LONGEST)
		return XDP_DROP;
	__s64 have = end - data;
	OPAQUE(have);
	if (have != (__s64)length && bpf_xdp_adjust_tail(context, (__s64)length - have))
		return XDP_DROP;
	if (bpf_xdp_store_bytes(context, 0, box->frames + at + 8, length))
		return XDP_DROP;
	box->at = at + 8 + ((length + 7) & ~7ULL);
	box->left--;
	box->given++;
	box->cpu = bpf_get_smp_processor_id();
	return XDP_PASS;
}
