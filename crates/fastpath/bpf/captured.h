/* Frames for whoever captures, with what the program made of them. Nothing of this is in the program that
 * forwards while nobody captures.
 *
 * A program that shows frames is the forwarder's own source with two words replaced: `leave` and
 * `count_forwarded`, which say what becomes of a frame, note it on the way. What is shown is the frame as it came: when
 * frames that are forwarded may be wanted, it is copied before it is changed, else behind.
 *
 * Each CPU prepares what it shows in a place of its own, and counts in a row of its own. */
#ifndef CORELANE_CAPTURED_H
#define CORELANE_CAPTURED_H

#include "way.h"

CONSTANT(SNAP);     /* bytes that are kept of a frame, at most */
CONSTANT(EVERY);    /* one frame in so many is looked at, by chance */
CONSTANT(WANTED);   /* a bit for each reason, and that of REASONS: forwarded */
CONSTANT(FILTERED); /* `enum filtered` */

enum filtered {
	FILTER_NONE,
	FILTER_COPY,  /* the filter reads what was copied */
	FILTER_FRAME, /* it reads the frame itself, where all of its header can be seen */
};

/* `Head` of src/forward/capture/shown.rs, and the frame behind it. */
struct shown {
	__u64 time;   /* CLOCK_MONOTONIC, ns */
	__u32 length; /* bytes of the frame */
	__u32 kept;   /* of these, here */
	__u32 frames; /* on the wire */
	__u32 table;  /* place in `tables` */
	__u32 vlan;   /* that it leaves with, as in `way` */
	__u16 reason; /* REASONS: forwarded */
	__u16 next_hop;
	__u16 port, egress;
	__u16 cpu, reserved;
	__u8 bytes[8];
};
#define HEAD_LENGTH 40

struct shown_count {
	__u64 matched, lost;
	__u64 left; /* frames until the next that is looked at */
	__u64 reserved[5];
};

MAP(preparing, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct shown, 1, 0);
MAP(shown_counts, BPF_MAP_TYPE_ARRAY, __u32, struct shown_count, 1, BPF_F_MMAPABLE);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(key_size, 0);
	__uint(value_size, 0);
	__uint(max_entries, 4096);
} shown_ring SEC(".maps");

/* Stands for the filter, which the loader puts behind the program: bytes, how many or where they end, and the
 * frame's length. */
static int (*passes_copy)(const __u8 *bytes, __u64 kept, __u64 length) = (void *)0x66696c74;
static int (*passes_frame)(const __u8 *bytes, const __u8 *end, __u64 length) = (void *)0x66696c74;

/* What is noted of a frame on its way. */
struct noted {
	__u64 reason; /* beyond REASONS: nothing */
	__u32 frames, table, port, vlan;
	__u64 next_hop, beside; /* the tag that lies beside it, as in `way` */
};

INLINE void note(struct noted *noted, const struct way *way, __u64 reason, __u32 frames)
{
	noted->reason = reason;
	noted->frames = frames;
	noted->table = way->table;
	noted->port = way->port;
	noted->vlan = way->vlan;
	noted->next_hop = way->next_hop;
}

/* Is it this frame's turn? */
INLINE _Bool is_sampled(__u32 cpu)
{
	if (EVERY < 2)
		return 1;
	struct shown_count *count = LOOKUP(shown_counts, cpu);
	if (!count)
		return 0;
	__u64 left = count->left;
	if (left) {
		count->left = left - 1;
		return 0;
	}
	/* From 0 to 2 * (EVERY - 1), each as likely: one in EVERY. */
	count->left = ((__u64)bpf_get_prandom_u32() * (2 * EVERY - 1)) >> 32;
	return 1;
}

/* Copies a frame of `length` bytes, with the tag that lies beside it, if one does. False when the filter does not want it. */
INLINE _Bool keep(CONTEXT *context, struct shown *shown, __u64 length, __u32 tag)
{
	/* Who reads filters again: what has a tag beside it comes unfiltered. */
	if (FILTERED == FILTER_FRAME && !tag && !passes_frame(packet_start(context), packet_end(context), length))
		return 0;
	__u32 front = 2 * 6;
	__u64 wanted = length;
	OPAQUE(wanted);
	if (wanted > SNAP - TAG_LENGTH)
		wanted = SNAP - TAG_LENGTH;
	__u64 kept = wanted;
	if (tag && wanted > front) {
		kept += TAG_LENGTH;
		length += TAG_LENGTH;
		if (LOAD_BYTES(context, 0, shown->bytes, front))
			return 0;
		__u64 rest = wanted - front;
		*(__u16 *)(shown->bytes + front) = bpf_htons(TYPE_VLAN);
		*(__u16 *)(shown->bytes + front + 2) = bpf_htons(tag & 0xffff);
		OPAQUE(rest);
		if (rest - 1 >= SNAP - TAG_LENGTH - front || LOAD_BYTES(context, front, shown->bytes + front + TAG_LENGTH, rest))
			return 0;
	} else if (wanted - 1 >= SNAP - TAG_LENGTH || LOAD_BYTES(context, 0, shown->bytes, wanted)) {
		return 0;
	}
	FORGET(kept, length);
	shown->length = length;
	shown->kept = kept;
	return FILTERED != FILTER_COPY || passes_copy(shown->bytes, kept, length);
}

/* Hands over what was kept. */
INLINE void show(const struct noted *noted, struct shown *shown, struct shown_count *count, __u32 cpu)
{
	__u64 kept = shown->kept;
	OPAQUE(kept);
	if (kept > SNAP)
		return;
	shown->time = bpf_ktime_get_ns();
	shown->frames = noted->frames;
	shown->table = noted->table;
	shown->vlan = noted->vlan;
	shown->reason = noted->reason;
	shown->next_hop = noted->next_hop;
	shown->port = PORT;
	shown->egress = noted->port;
	shown->cpu = cpu;
	count->matched++;
	/* Who reads looks by itself: waking it would cost the frames behind. */
	if (bpf_ringbuf_output(&shown_ring, shown, HEAD_LENGTH + kept, BPF_RB_NO_WAKEUP))
		count->lost++;
}

/* May a frame that is forwarded be wanted? Then it is kept before it is changed. */
#define KEEPS_BEFORE (WANTED >> REASONS & 1)

/* Runs DECIDE on a frame and shows it. FRAME_LENGTH and TAG_BESIDE are of the frame as it came, ANYTHING is what the
 * verifier knows nothing of. A frame that is not looked at costs as little as can be. */
#define WATCH(context, FRAME_LENGTH, TAG_BESIDE, ANYTHING, DECIDE)                                                                 \
	({                                                                                                                         \
		__u32 here = bpf_get_smp_processor_id();                                                                           \
		struct noted noted = {.reason = ~0ULL};                                                                            \
		__u64 wanted = is_sampled(here);                                                                                   \
		if (KEEPS_BEFORE)                                                                                                  \
			noted.beside = TAG_BESIDE;                                                                                 \
		if (KEEPS_BEFORE && wanted) {                                                                                      \
			struct shown *shown = LOOKUP(preparing, 0);                                                                \
			wanted = shown && keep(context, shown, FRAME_LENGTH, noted.beside);                                        \
		}                                                                                                                  \
		/* The verifier goes one way for frames that are wanted and others. */                                             \
		__u64 anything = ANYTHING;                                                                                         \
		FORGET(wanted, anything);                                                                                          \
		int fate = DECIDE;                                                                                                 \
		if (wanted && noted.reason <= REASONS && WANTED >> noted.reason & 1) {                                             \
			struct shown_count *count = LOOKUP(shown_counts, here);                                                    \
			struct shown *shown = LOOKUP(preparing, 0);                                                                \
			if (count && shown && (KEEPS_BEFORE || keep(context, shown, FRAME_LENGTH, TAG_BESIDE)))                    \
				show(&noted, shown, count, here);                                                                  \
		}                                                                                                                  \
		fate;                                                                                                              \
	})

/* From here on, who counts what becomes of a frame notes it too. */
#define leave(counters, why, count)                                                                                                \
	({                                                                                                                         \
		enum reason because_of = why;                                                                                      \
		note(noted, &way, because_of, count);                                                                              \
		leave(counters, because_of, count);                                                                                \
	})
#define count_forwarded(way, count)                                                                                                \
	({                                                                                                                         \
		note(noted, way, REASONS, count);                                                                                  \
		count_forwarded(way, count);                                                                                       \
	})

#endif
