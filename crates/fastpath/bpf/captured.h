/* Frames for whoever captures, and samples, with what the program made of them. Nothing of this is in the
 * program that forwards while nobody wants either.
 *
 * A program that shows frames is the forwarder's own source with two words replaced: `leave` and
 * `count_forwarded`, which say what becomes of a frame, note it on the way. What is shown is the frame as it came: when
 * frames that are forwarded may be wanted, it is copied before it is changed, else behind.
 *
 * It has that source three times. `watch` looks at a frame. Others go by `past`, the code that ships, or by `told`, where
 * frames that are left end in `left`, because they may be wanted. The loader chooses one of the two. Where every frame may be
 * looked at, the program is `watch`, which goes on as that for frames that are not. Where frames are looked at by turn,
 * the program is that one: it counts down, and goes on as `watch` for a frame whose turn it is.
 *
 * Samples are for one reader, captured frames for another: each has a ring of its own, and a frame can be in both.
 * A sample is one frame in so many on the wire, by chance, or a frame that is discarded, up to a limit.
 *
 * Each CPU prepares what it shows in a place of its own, and counts in a row of its own. */
#ifndef CORELANE_CAPTURED_H
#define CORELANE_CAPTURED_H

#include "way.h"

CONSTANT(SNAP);     /* bytes that are kept of a frame, at most */
CONSTANT(EVERY);    /* one frame in so many is looked at, by chance, for whoever captures */
CONSTANT(WANTED);   /* a bit for each reason, and that of REASONS: forwarded */
CONSTANT(FILTERED); /* `enum filtered` */
CONSTANT(MEASURES); /* 1: the filter asks how long a frame is */
CONSTANT(SAMPLES);  /* 1: samples are taken */
CONSTANT(TURNS);    /* 1: frames are looked at by turn, if at all */
CONSTANT(DISCARDS); /* a bit for each reason that discards a frame */

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
	__u16 cpu;
	__u16 what;   /* of WHAT_… */
	__u32 wire;   /* bytes on the wire, of all frames */
	__u32 every;  /* a sample: one in so many */
	__u32 times;  /* a sample: so often */
	__u32 reserved;
	__u8 bytes[8];
};
#define HEAD_LENGTH 56

#define WHAT_CAPTURED 1
#define WHAT_SAMPLED 2
#define WHAT_DISCARDED 4

struct shown_count {
	__u64 matched, lost;
	__u64 left; /* frames until the next that is looked at */
	__u64 reserved[5];
};

/* `Row` of src/forward/capture/samples.rs. */
struct sample_count {
	__u64 taken, lost;
	__s64 left;     /* frames until the next sample */
	__u64 every;    /* one in so many; the reader says it */
	__u64 second;   /* when the time began in which these were told */
	__u64 told;
	__u64 most;     /* discarded frames that are told in a second; the reader says it */
	__u64 withheld; /* beyond these */
};

MAP(preparing, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct shown, 1, 0);
MAP(shown_counts, BPF_MAP_TYPE_ARRAY, __u32, struct shown_count, 1, BPF_F_MMAPABLE);
MAP(sample_counts, BPF_MAP_TYPE_ARRAY, __u32, struct sample_count, 1, BPF_F_MMAPABLE);
#define RING(name)                                                                                                                 \
	struct {                                                                                                                   \
		__uint(type, BPF_MAP_TYPE_RINGBUF);                                                                                \
		__uint(key_size, 0);                                                                                               \
		__uint(value_size, 0);                                                                                             \
		__uint(max_entries, 4096);                                                                                         \
	} name SEC(".maps")
RING(shown_ring);
RING(sample_ring);

/* Stands for the filter, which the loader puts behind the program: bytes, how many or where they end, and the
 * frame's length. */
static int (*passes_copy)(const __u8 *bytes, __u64 kept, __u64 length) = (void *)0x66696c74;
static int (*passes_frame)(const __u8 *bytes, const __u8 *end, __u64 length) = (void *)0x66696c74;

/* What is noted of a frame on its way. Volatile, or clang would give each a value before it is known whether it is
 * needed. */
struct noted {
	__u64 reason; /* beyond REASONS: nothing, and the others have no value */
	__u64 beside; /* the tag that lies beside it, as in `way` */
	volatile __u64 next_hop;
	volatile __u32 frames, table, port, vlan, wire;
};

INLINE void note(struct noted *noted, const struct way *way, __u64 reason, __u32 frames)
{
	noted->reason = reason;
	noted->frames = frames;
	noted->table = way->table;
	noted->port = way->port;
	noted->vlan = way->vlan;
	noted->wire = way->length;
	noted->next_hop = way->next_hop;
}

/* Of a frame as it came: bytes, frames on the wire, the tag that lies beside it, and what the verifier knows nothing
 * of. */
INLINE __u64 frame_length(CONTEXT *context);
INLINE __u32 frames_on_wire(CONTEXT *context);
INLINE __u32 tag_beside(CONTEXT *context);
INLINE __u64 anything(CONTEXT *context);

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

/* How many samples are taken of `frames` frames on the wire: of those that come, one in `every`. What is left until
 * the next is drawn from 1 to 2 * every - 1, each as likely. */
INLINE __u32 samples_of(struct sample_count *count, __u64 frames)
{
	__s64 left = count->left - (__s64)frames;
	__u64 every = count->every;
	if (left > 0 || !every) {
		count->left = left;
		return 0;
	}
	__u64 times = (__u64)-left / every + 1;
	count->left = left + (times - 1) * every + 1 + (((__u64)bpf_get_prandom_u32() * (2 * every - 1)) >> 32);
	return times;
}

/* Of frames that are looked at by turn: is it this one's? If not, it is counted down; if so, that is `watch`'s. */
INLINE _Bool is_turn(CONTEXT *context, __u32 cpu)
{
	struct shown_count *shown = EVERY > 1 ? LOOKUP(shown_counts, cpu) : 0;
	struct sample_count *sampled = SAMPLES ? LOOKUP(sample_counts, cpu) : 0;
	__u64 left = shown ? shown->left : 1;
	__s64 rest = sampled ? sampled->left - (__s64)frames_on_wire(context) : 1;
	if (!left || rest <= 0)
		return 1;
	if (shown)
		shown->left = left - 1;
	if (sampled)
		sampled->left = rest;
	return 0;
}

/* May one more discarded frame be told in this second? */
INLINE _Bool is_told(struct sample_count *count)
{
	__u64 now = bpf_ktime_get_ns();
	if (now - count->second >= 1000000000) {
		count->second = now;
		count->told = 0;
	}
	if (count->told >= count->most) {
		count->withheld++;
		return 0;
	}
	count->told++;
	return 1;
}

/* May a frame that is forwarded be captured? Then the filter is asked before anything is done. */
#define FORWARDED (WANTED >> REASONS & 1)
#define FILTERS_BEFORE (FILTERED == FILTER_FRAME && FORWARDED)
/* May a frame that is forwarded be wanted? Then it is kept before it is changed. */
#define KEEPS_BEFORE (SAMPLES || FORWARDED)
/* Is a frame that is captured chosen before it is known what becomes of it? */
#define CHOOSES (FORWARDED || EVERY > 1)
/* A bit for each reason that leaves a frame which may be wanted though it is not looked at. */
#define MAY_BE_WANTED ((CHOOSES ? 0 : WANTED) | DISCARDS)

/* Does a frame pass the filter? Who reads filters again: what has a tag beside it comes unfiltered. */
INLINE _Bool passes(CONTEXT *context, __u64 length, __u32 tag)
{
	return tag || passes_frame(packet_start(context), packet_end(context), length);
}

/* Copies a frame of `length` bytes, with the tag that lies beside it, if one does. Returns what of `what` it is for: it
 * is not captured when the filter does not want it. */
INLINE __u64 keep(CONTEXT *context, struct shown *shown, __u64 length, __u32 tag, __u64 what)
{
	if (FILTERED == FILTER_FRAME && !FILTERS_BEFORE && what & WHAT_CAPTURED && !passes(context, length, tag))
		what &= ~WHAT_CAPTURED;
	if (!what)
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
	if (FILTERED == FILTER_COPY && what & WHAT_CAPTURED && !passes_copy(shown->bytes, kept, length))
		what &= ~WHAT_CAPTURED;
	return what;
}

/* Hands over what was kept. Who reads looks by itself: waking it would cost the frames behind. */
INLINE void show(const struct noted *noted, struct shown *shown, struct sample_count *sampled, __u32 cpu, __u64 what, __u32 times)
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
	shown->what = what;
	shown->wire = noted->wire;
	shown->times = times;
	if (WANTED && what & WHAT_CAPTURED) {
		struct shown_count *count = LOOKUP(shown_counts, cpu);
		if (count) {
			count->matched++;
			if (bpf_ringbuf_output(&shown_ring, shown, HEAD_LENGTH + kept, BPF_RB_NO_WAKEUP))
				count->lost++;
		}
	}
	if (SAMPLES && sampled && what & (WHAT_SAMPLED | WHAT_DISCARDED)) {
		shown->every = sampled->every;
		sampled->taken++;
		if (bpf_ringbuf_output(&sample_ring, shown, HEAD_LENGTH + kept, BPF_RB_NO_WAKEUP))
			sampled->lost++;
	}
}

/* What of `what` remains when it is known what has become of the frame. */
INLINE __u64 wanted_of(const struct noted *noted, struct sample_count *sampled, __u64 what)
{
	__u64 reason = noted->reason;
	if (reason > REASONS)
		return 0;
	if (!(WANTED >> reason & 1))
		what &= ~WHAT_CAPTURED;
	if (SAMPLES && sampled && DISCARDS >> reason & 1 && is_told(sampled))
		what |= WHAT_DISCARDED;
	return what;
}

/* What is heeded of a frame. */
enum heed {
	NOTHING,
	LEFT, /* what is left and may be wanted ends in `left` */
	ALL,
};

/* The forwarder. */
INLINE int decide(CONTEXT *context, struct noted *noted, const enum heed heed);

/* Ends the program with a call that stands for another, as which the loader has it go on. In one function both would
 * have fewer registers. */
#define GO_ON(context, stand_in)                                                                                                   \
	({                                                                                                                         \
		asm volatile("r1 = %0; call " #stand_in "; exit" : : "r"(context));                                                \
		__builtin_unreachable();                                                                                           \
	})
#define GO_PAST(context) GO_ON(context, 0x70617374)
#define GO_LOOK(context) GO_ON(context, 0x6c6f6f6b)
/* The same for `left`, with what is noted of the frame. */
#define GO_LEFT(context, what, size, egress)                                                                                       \
	({                                                                                                                         \
		asm volatile("r1 = %0; r2 = %1; r3 = %2; r4 = %3; call 0x6c656674; exit"                                           \
			     :                                                                                                     \
			     : "r"(context), "r"((__u64)(what)), "r"((__u64)(size)), "r"((__u64)(egress))                          \
			     : "r0", "r1", "r2", "r3", "r4", "r5");                                                                \
		__builtin_unreachable();                                                                                           \
	})

/* Shows a frame of which is known what has become, if anybody wants it. */
INLINE void tell(CONTEXT *context, const struct noted *noted, __u64 what, __u64 kept, __u64 times)
{
	__u32 here = bpf_get_smp_processor_id();
	struct sample_count *sampled = SAMPLES ? LOOKUP(sample_counts, here) : 0;
	what = wanted_of(noted, sampled, what);
	struct shown *shown = what ? LOOKUP(preparing, 0) : 0;
	if (shown && !kept)
		what = keep(context, shown, frame_length(context), tag_beside(context), what);
	if (shown && what)
		show(noted, shown, sampled, here, what, times);
}

/* Decides whether a frame is looked at where no turn has decided, runs the forwarder and shows it. */
INLINE int watch(CONTEXT *context)
{
	__u32 here = bpf_get_smp_processor_id();
	struct noted noted;
	noted.reason = ~0ULL;
	noted.beside = 0;
	__u64 captured = 0, times = 0, kept = 0;
	if (WANTED && CHOOSES) {
		captured = is_sampled(here) ? WHAT_CAPTURED : 0;
		if (FILTERS_BEFORE) {
			noted.beside = tag_beside(context);
			if (captured && !passes(context, MEASURES ? frame_length(context) : 0, noted.beside))
				captured = 0;
		}
	}
	if (SAMPLES) {
		struct sample_count *count = LOOKUP(sample_counts, here);
		if (count)
			times = samples_of(count, frames_on_wire(context));
	}
	if (!TURNS && __builtin_expect(!(captured | times), 1))
		GO_PAST(context);

	__u64 what = (WANTED && !CHOOSES ? WHAT_CAPTURED : captured) | (times ? WHAT_SAMPLED : 0);
	if (KEEPS_BEFORE) {
		if (!FILTERS_BEFORE)
			noted.beside = tag_beside(context);
		struct shown *shown = LOOKUP(preparing, 0);
		kept = what = shown ? keep(context, shown, frame_length(context), noted.beside, what) : 0;
	}
	/* The verifier goes one way for frames that are wanted and others. */
	__u64 unknown = anything(context);
	FORGET(what, unknown);
	FORGET(kept, unknown);
	FORGET(times, unknown);
	int fate = decide(context, &noted, ALL);
	tell(context, &noted, what, kept, times);
	return fate;
}

/* The end of a frame that is not looked at, is left and may be wanted. What would be noted comes in words: a frame that
 * is forwarded is as fast as if nobody wanted any. */
INLINE int tell_of_left(CONTEXT *context, __u64 what, __u64 size, __u64 egress)
{
	struct noted noted = {
		.reason = what & 0xffff,
		.next_hop = what >> 16 & 0xffff,
		.table = what >> 32,
		.wire = size,
		.frames = size >> 32,
		.port = egress,
		.vlan = egress >> 32,
	};
	tell(context, &noted, CHOOSES ? 0 : WHAT_CAPTURED, 0, 0);
	return IS_DROPPED(noted.reason) ? DROP : PASS;
}

/* From here on, a frame whose turn it is goes another way, and who counts what becomes of one notes it too. */
#undef LOOK
#define LOOK(context, cpu)                                                                                                         \
	({                                                                                                                         \
		if (heed != ALL && TURNS && __builtin_expect(is_turn(context, cpu), 0))                                            \
			GO_LOOK(context);                                                                                          \
	})
#define leave(counters, why, count)                                                                                                \
	({                                                                                                                         \
		enum reason because_of = why;                                                                                      \
		if (heed == ALL)                                                                                                   \
			note(noted, &way, because_of, count);                                                                      \
		int fate = leave(counters, because_of, count);                                                                     \
		if (heed == LEFT && MAY_BE_WANTED >> because_of & 1)                                                               \
			GO_LEFT(context, because_of | way.next_hop << 16 | (__u64)way.table << 32,                                 \
				way.length | (__u64)(count) << 32, way.port | (__u64)way.vlan << 32);                              \
		fate;                                                                                                              \
	})
#define count_forwarded(way, count)                                                                                                \
	({                                                                                                                         \
		if (heed == ALL)                                                                                                   \
			note(noted, way, REASONS, count);                                                                          \
		count_forwarded(way, count);                                                                                       \
	})

#endif
