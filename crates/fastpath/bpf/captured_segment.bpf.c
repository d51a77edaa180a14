/* The forwarder at tc that shows frames to who captures or wants samples: segment.bpf.c, and captured.h around it. */
#define CONTEXT struct __sk_buff
#define LOAD_BYTES bpf_skb_load_bytes
#define DROP 2
#define PASS (-1)
#include "next_hop.h"

#include "captured.h"

/* The forwarder's function becomes a part of the one that has its name and its place. */
#define segment(context) segment(context); INLINE int decide(context, struct noted *noted, const _Bool looked)
#include "segment.bpf.c"
#undef segment

int segment(struct __sk_buff *context)
{
	return WATCH(context, segments(context, USUAL_FRONT), context->len, context->vlan_present ? 0x10000 | context->vlan_tci : 0, context->len);
}
