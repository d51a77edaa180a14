/* What a device took of frames that a worker sends by runs of send.bpf.c. The kernel says so at a
 * tracepoint, once for a bulk, on the CPU of the run. What was given since it spoke last is that
 * bulk; where nothing was, it speaks of somebody else's frames. The device takes a bulk's frames in
 * their order, up to the first that it does not. */
#include "send.h"

INLINE __u64 first_bits(__u32 bits) { return bits < 64 ? (1ULL << bits) - 1 : ~0ULL; }

/* const struct net_device *from, *to; int sent, drops, error */
SEC("raw_tp/xdp_devmap_xmit") int sent(struct bpf_raw_tracepoint_args *context)
{
	__u64 *sender = LOOKUP(sending, 0);
	if (!sender || !*sender)
		return 0;
	struct box *box = LOOKUP(boxes, *sender - 1);
	if (!box || box->told == box->given || box->cpu != bpf_get_smp_processor_id())
		return 0;
	__s32 sent = context->args[2];
	__u32 told = box->told, given = box->given, taken = told + (sent > 0 ? sent : 0);
	box->told = given;
	if (taken < given)
		box->refused |= first_bits(given) & ~first_bits(taken);
	return 0;
}
