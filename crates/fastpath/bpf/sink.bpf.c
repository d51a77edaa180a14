/* The sink: counts what arrives and drops it. With CHECK it looks at the signature of each frame
 * and passes up what carries none; with SEQUENCE it finds duplicates and reordering in a window;
 * with LATENCY it fills histograms of one-way delay and of its variation, and counts frames apart
 * that left before `since`: a queue on the way held them from an earlier trial.
 *
 * Counters are per CPU. `seen` and `streams` are shared: a stream that arrives on one CPU (the
 * rule: a flow stays on its core) writes no line that another CPU reads. */
#include "common.h"
#include "signature.h"

CONSTANT(CHECK);
CONSTANT(SEQUENCE);
CONSTANT(LATENCY);
CONSTANT(STREAMS); /* streams are told apart by their number modulo this */
CONSTANT(WINDOW);  /* a power of two: sequence numbers remembered per stream */

#define SUB_BITS 7
#define BUCKETS ((64 - SUB_BITS + 1) << SUB_BITS)

struct counters {
	__u64 frames, bytes;      /* with a signature, or all when CHECK is off; bytes without FCS */
	__u64 other, other_bytes; /* without one: passed to the kernel */
	__u64 duplicate;          /* sequence number already seen in the window */
	__u64 late;               /* older than the window: neither unique nor duplicate can be told */
	__u64 reordered;          /* RFC 4737: smaller than the largest so far */
	__u64 stamped;            /* frames in the latency histogram */
	__u64 latency_sum;        /* ns */
	__u64 latency_min, latency_max;
	__u64 previous;           /* latency of the stamped frame before, for the variation */
	__u64 last_ns;            /* time of the last stamped arrival */
	__u64 negative;           /* stamp in the future: clocks of two hosts, not counted above */
	__u64 before;             /* departed before `since`: counted here only */
};

/* A value of a map for each processor has 32 KiB at most: wider counts would not fit. */
struct histogram {
	__u32 count[BUCKETS];
};

struct stream {
	__u32 largest;
	__u32 reserved[15]; /* one cache line each */
};

MAP(counters, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct counters, 1, 0);
MAP(latencies, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct histogram, 1, 0);
MAP(variations, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct histogram, 1, 0);
MAP(streams, BPF_MAP_TYPE_ARRAY, __u32, struct stream, 1, BPF_F_MMAPABLE);
MAP(since, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1, BPF_F_MMAPABLE); /* CLOCK_MONOTONIC, ns */
MAP(seen, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, BPF_F_MMAPABLE);

/* Position of the highest bit set, by halving: eBPF has no such instruction. */
INLINE __u32 highest_bit(__u64 value)
{
	__u32 bit = 0;
	if (value >> 32) { value >>= 32; bit += 32; }
	if (value >> 16) { value >>= 16; bit += 16; }
	if (value >> 8) { value >>= 8; bit += 8; }
	if (value >> 4) { value >>= 4; bit += 4; }
	if (value >> 2) { value >>= 2; bit += 2; }
	return bit + (value >> 1);
}

/* Values below 128 have a bucket each; above, 128 buckets for each power of two: 0.8 % wide at most. */
INLINE __u32 bucket(__u64 value)
{
	if (value < (1 << SUB_BITS))
		return value;
	__u32 shift = highest_bit(value) - SUB_BITS;
	return ((shift + 1) << SUB_BITS) + ((value >> shift) & ((1 << SUB_BITS) - 1));
}

INLINE void add(void *map, __u64 value)
{
	__u32 zero = 0, index = bucket(value);
	struct histogram *histogram = bpf_map_lookup_elem(map, &zero);
	if (histogram && index < BUCKETS && histogram->count[index] != ~0u)
		histogram->count[index]++;
}

INLINE void sequence(struct counters *counters, const struct signature *signature)
{
	__u32 stream = signature->stream % (__u32)STREAMS, number = signature->sequence;
	__u32 slot = stream * (__u32)WINDOW + (number & (__u32)(WINDOW - 1));
	struct stream *state = LOOKUP(streams, stream);
	__u32 *seen_slot = LOOKUP(seen, slot);
	if (!state || !seen_slot)
		return;

	__u32 before = *seen_slot;
	if (before == number) {
		counters->duplicate++;
		return;
	}
	if (before && (__s32)(number - before) < 0) {
		counters->late++;
		counters->reordered++;
		return;
	}
	*seen_slot = number;
	if ((__s32)(number - state->largest) > 0)
		state->largest = number;
	else
		counters->reordered++;
}

INLINE int from_before(__u64 sent)
{
	const __u64 *begin = LOOKUP(since, 0);
	return begin && sent < *begin;
}

INLINE void latency(struct counters *counters, __u64 sent)
{
	__u64 now = bpf_ktime_get_ns();
	if (now < sent) {
		counters->negative++;
		return;
	}
	__u64 delay = now - sent;
	add(&latencies, delay);
	if (counters->stamped) {
		__u64 previous = counters->previous;
		add(&variations, delay > previous ? delay - previous : previous - delay);
		if (delay < counters->latency_min)
			counters->latency_min = delay;
	} else {
		counters->latency_min = delay;
	}
	if (delay > counters->latency_max)
		counters->latency_max = delay;
	counters->stamped++;
	counters->latency_sum += delay;
	counters->previous = delay;
	counters->last_ns = now;
}

/* Frames of several buffers, too: the signature is then looked for in the first. */
SEC("xdp.frags") int sink(struct xdp_md *context)
{
	struct counters *mine = LOOKUP(counters, 0);
	__u8 *data = packet_start(context), *end = packet_end(context);
	__u64 length = end - data;
	if (!mine)
		return XDP_ABORTED;

	if (CHECK) {
		if (length < sizeof(struct signature) || length > 4096)
			goto other;
		__u64 offset = length - sizeof(struct signature);
		OPAQUE(offset);
		if (offset > 4096)
			goto other;
		const struct signature *signature = (void *)(data + offset);
		if ((void *)(signature + 1) > (void *)end || signature->magic != SIGNATURE_MAGIC)
			goto other;
		if (LATENCY && signature->sent_ns && from_before(signature->sent_ns)) {
			mine->before++;
			return XDP_DROP;
		}
		if (SEQUENCE)
			sequence(mine, signature);
		if (LATENCY && signature->sent_ns)
			latency(mine, signature->sent_ns);
	}
	mine->frames++;
	mine->bytes += length;
	return XDP_DROP;
other:
	mine->other++;
	mine->other_bytes += length;
	return XDP_PASS;
}
