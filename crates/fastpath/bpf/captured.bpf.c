/* The forwarder that shows frames to who captures or wants samples: forward.bpf.c, and captured.h around it. */
#define LOAD_BYTES bpf_xdp_load_bytes
#define DROP XDP_DROP
#define PASS XDP_PASS
#include "next_hop.h"
#include "rewrite.h"
#include "tags.h"

#include "captured.h"

INLINE __u64 frame_length(struct xdp_md *context) { return bpf_xdp_get_buff_len(context); }
INLINE __u32 frames_on_wire(struct xdp_md *context) { return (void)context, 1; }
INLINE __u64 anything(struct xdp_md *context) { return context->rx_queue_index; }

/* The tag that the driver has taken out of a frame, as in `way`. */
INLINE __u32 tag_beside(struct xdp_md *context)
{
	__u8 *data = packet_start(context);
	if (TELLER != TELLER_DRIVER || data + ETHERNET_LENGTH > (__u8 *)packet_end(context))
		return 0;
	return taken_tag(context, *(__u16 *)(data + 12));
}

/* The driver is asked once for a frame that is looked at. */
#define IS_ASKED(heed) ((heed) == ALL && KEEPS_BEFORE && TELLER == TELLER_DRIVER)
#define taken_tag(context, type) (IS_ASKED(heed) ? noted->beside : taken_tag(context, type))

/* The forwarder's function becomes a part of those that have its place. */
#define forward(context) told(context); INLINE int decide(context, struct noted *noted, const enum heed heed)
#include "forward.bpf.c"
#undef forward

int told(struct xdp_md *context) { return decide(context, 0, LEFT); }
SEC("xdp.frags") int past(struct xdp_md *context) { return decide(context, 0, NOTHING); }
SEC("xdp.frags") int forward(struct xdp_md *context) { return watch(context); }
SEC("xdp.frags") int left(struct xdp_md *context, __u64 what, __u64 size, __u64 egress)
{
	return tell_of_left(context, what, size, egress);
}
