/* The forwarder at tc that shows frames to who captures or wants samples: segment.bpf.c, and captured.h around it. */
#define CONTEXT struct __sk_buff
#define LOAD_BYTES bpf_skb_load_bytes
#define DROP 2
#define PASS (-1)
#include "next_hop.h"

#include "captured.h"

INLINE __u64 frame_length(struct __sk_buff *context) { return context->len; }
INLINE __u32 frames_on_wire(struct __sk_buff *context);
INLINE __u64 anything(struct __sk_buff *context) { return context->len; }
INLINE __u32 tag_beside(struct __sk_buff *context) { return context->vlan_present ? 0x10000 | context->vlan_tci : 0; }

/* The forwarder's function becomes a part of those that have its place. */
#define segment(context) told(context); INLINE int decide(context, struct noted *noted, const enum heed heed)
#include "segment.bpf.c"
#undef segment

INLINE __u32 frames_on_wire(struct __sk_buff *context) { return segments(context, USUAL_FRONT); }

int told(struct __sk_buff *context) { return decide(context, 0, LEFT); }
SEC("tc") int past(struct __sk_buff *context) { return decide(context, 0, NOTHING); }
SEC("tc") int segment(struct __sk_buff *context) { return watch(context); }
SEC("tc") int left(struct __sk_buff *context, __u64 what, __u64 size, __u64 egress)
{
	return tell_of_left(context, what, size, egress);
}
