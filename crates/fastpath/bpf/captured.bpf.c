/* The forwarder that shows frames to who captures or wants samples: forward.bpf.c, and captured.h around it. */
#define LOAD_BYTES bpf_xdp_load_bytes
#define DROP XDP_DROP
#define PASS XDP_PASS
#include "next_hop.h"
#include "rewrite.h"
#include "tags.h"

#include "captured.h"

/* The tag that the driver has taken out of a frame, as in `way`. */
INLINE __u32 tag_beside(struct xdp_md *context)
{
	__u8 *data = packet_start(context);
	if (TELLER != TELLER_DRIVER || data + ETHERNET_LENGTH > (__u8 *)packet_end(context))
		return 0;
	return taken_tag(context, *(__u16 *)(data + 12));
}

/* The driver is asked once for a frame. */
#define IS_ASKED(looked) (((looked) ? KEEPS_BEFORE : FILTERS_BEFORE) && TELLER == TELLER_DRIVER)
#define taken_tag(context, type) (IS_ASKED(looked) ? noted->beside : taken_tag(context, type))

/* The forwarder's function becomes a part of the one that has its name and its place. */
#define forward(context) forward(context); INLINE int decide(context, struct noted *noted, const _Bool looked)
#include "forward.bpf.c"
#undef forward

int forward(struct xdp_md *context)
{
	return WATCH(context, 1, bpf_xdp_get_buff_len(context), tag_beside(context), context->rx_queue_index);
}
