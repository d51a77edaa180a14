/* The generator: run by BPF_PROG_RUN on live frames, it writes a whole header and signature into
 * each and redirects it to a device, or by turns to one of two.
 *
 * Live frames are recycled, and come back as the device under test left them: other MACs, a smaller
 * TTL, another checksum. So every byte before the payload is written again each round. The payload
 * is zero but for its last 16 bytes (signature.h).
 *
 * The constants below are set at load time; a generator for one length and one source port has no
 * branch for others. */
#include "common.h"
#include "signature.h"

CONSTANT(IPV6);            /* 0: IPv4, 1: IPv6 */
CONSTANT(VLAN);            /* 1: one 802.1Q tag */
CONSTANT(DESTINATIONS);    /* how many entries of `destinations` are in use */
CONSTANT(LENGTHS);         /* how many entries of `lengths` are in use */
CONSTANT(FRAME_LENGTH);    /* the length when LENGTHS is 1 */
CONSTANT(SOURCE_PORTS);    /* UDP source ports base..base+SOURCE_PORTS, by turns */
CONSTANT(STREAM);          /* number of this stream, in the signature */
CONSTANT(STAMP_EVERY);     /* a power of two: every so many frames carry a time; 0: none */
CONSTANT(WAYS);            /* 2: frames leave by turns into two devices, each with a template; destinations too lie by turns */
CONSTANT(LOOKING);         /* 1: now and then a piece of work is timed, as frames are made */
CONSTANT(PACED);           /* 1: frames leave by the timetable in `states`; while none is due, runs make nothing */

#define HEADER_MAX 72

struct template {
	__u8 header[HEADER_MAX]; /* Ethernet to UDP with zero lengths, checksums and destination */
	__u32 ip_sum;            /* sum of the IPv4 header's 16-bit words, in network order */
	__u32 udp_sum;           /* the same of pseudo-header and UDP header, without lengths, destination, source port */
	__u16 source_port;       /* host order */
	__u16 reserved[3];
};

struct state {
	__u64 sent;     /* frames made so far; the next sequence number is one more, in 32 bits */
	__u32 position; /* in `destinations` */
	__u32 size;     /* in `lengths` */
	__u32 port;     /* offset of the next source port */
	__u32 reserved;
	/* The timetable of PACED: frame n leaves at start + (n - base) * interval, n counting from
	 * 0, until n = until. */
	__u64 start;     /* ns */
	__u64 interval;  /* 2^-16 ns */
	__u64 base, until;
	__u64 now;       /* the last look at the clock */
	__u64 allowance; /* 2^-16 ns: what is owed after a delay is repaid a tenth above the rate, not at once */
	/* Of LOOKING: when the last piece of work began, and how many there were. */
	__u64 looked, looks;
};

#define LOOKS 4096 /* of these the last are kept */

/* How long a piece of work took on this core, and how many frames had been made before it. */
struct look {
	__u64 begun, took, sent;
};

MAP(templates, BPF_MAP_TYPE_ARRAY, __u32, struct template, 2, 0);
MAP(states, BPF_MAP_TYPE_ARRAY, __u32, struct state, 1, BPF_F_MMAPABLE);
MAP(looks, BPF_MAP_TYPE_ARRAY, __u32, struct look, LOOKS, BPF_F_MMAPABLE);
MAP(lengths, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, 0);                    /* frame lengths in bytes without FCS */
MAP_OF_TARGETS(out, BPF_MAP_TYPE_DEVMAP, 2);
/* One behind the other, in network order: no more than needed, for they go through the caches of whoever
 * is under test. */
VALUES(destinations, __u32, 4);

INLINE __u16 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Copies a multiple of two bytes, eight at a time: `length` is a constant of the caller. */
INLINE void copy(__u8 *to, const __u8 *from, __u32 length)
{
#pragma unroll
	for (__u32 i = 0; i < HEADER_MAX / 8; i++)
		if (i * 8 + 8 <= length)
			*(__u64 *)(to + i * 8) = *(const __u64 *)(from + i * 8);
	if (length & 4)
		*(__u32 *)(to + (length & ~7u)) = *(const __u32 *)(from + (length & ~7u));
	if (length & 2)
		*(__u16 *)(to + (length & ~3u)) = *(const __u16 *)(from + (length & ~3u));
}

/* One frame. `l3` and `v6` are constants of the caller, so each of the four calls below is its own
 * straight piece of code. */
INLINE int build(struct xdp_md *context, struct template *template, struct state *state, const __u32 *destination, __u32 length,
		 __u32 way, __u32 l3, __u32 v6)
{
	__u32 l4 = l3 + (v6 ? 40 : 20), headers = l4 + 8;
	__u8 *data = packet_start(context), *end = packet_end(context);

	if (length < headers + sizeof(struct signature) || length > 4000)
		return XDP_ABORTED;
	__u64 offset = length - sizeof(struct signature);
	OPAQUE(offset);
	if (offset > 4000)
		return XDP_ABORTED;
	struct signature *signature = (void *)(data + offset);
	if (data + headers > end || (void *)(signature + 1) > (void *)end)
		return XDP_ABORTED;

	copy(data, template->header, headers);

	__u16 udp_length = bpf_htons(length - l4);
	__u32 source_port = template->source_port;
	if (SOURCE_PORTS > 1) {
		source_port = (source_port + state->port) & 0xffff;
		state->port = state->port + 1 >= SOURCE_PORTS ? 0 : state->port + 1;
	}
	source_port = bpf_htons(source_port);

	__u64 sent = ++state->sent;
	__u64 now = STAMP_EVERY && !(sent & (STAMP_EVERY - 1)) ? bpf_ktime_get_ns() : 0;
	signature->magic = SIGNATURE_MAGIC;
	signature->stream = STREAM;
	signature->sequence = sent;
	signature->sent_ns = now;

	__u64 udp_sum = (__u64)template->udp_sum + source_port + 2 * (__u64)udp_length;
	udp_sum += SIGNATURE_MAGIC + STREAM + (__u32)sent + (now >> 32) + (__u32)now;
	/* The signature may begin at an odd offset of the sum's 16-bit words only if the length is
	 * odd: then its bytes are swapped. */
	if (length & 1) {
		__u64 rest = SIGNATURE_MAGIC + STREAM + (__u32)sent + (now >> 32) + (__u32)now;
		udp_sum -= rest;
		rest = (__u16)~fold(rest);
		udp_sum += ((rest << 8) | (rest >> 8)) & 0xffff;
	}

	if (v6) {
		*(__u16 *)(data + l3 + 4) = udp_length;
#pragma unroll
		for (__u32 i = 0; i < 4; i++) {
			*(__u32 *)(data + l3 + 24 + 4 * i) = destination[i];
			udp_sum += destination[i];
		}
	} else {
		__u16 total = bpf_htons(length - l3);
		__u32 address = destination[0];
		*(__u16 *)(data + l3 + 2) = total;
		*(__u16 *)(data + l3 + 10) = fold((__u64)template->ip_sum + total + address);
		*(__u32 *)(data + l3 + 16) = address;
		udp_sum += address;
	}
	*(__u16 *)(data + l4) = source_port;
	*(__u16 *)(data + l4 + 4) = udp_length;
	__u16 udp_check = fold(udp_sum);
	*(__u16 *)(data + l4 + 6) = udp_check ? udp_check : 0xffff;
	return bpf_redirect_map(&out, way, 0);
}

#define SPIN_NS 2000     /* a run that has nothing to send gives way to others after so long */
#define SPINS 64         /* the same for the verifier, which does not know that time passes */
#define BURST 64         /* frames that may go at once after a delay */
#define REPAY 72090      /* 1.1 * 2^16 */
#define LONGEST_NS 1000000000

/* Whether the next frame may go. The clock is read only when the last look at it does not tell. */
INLINE int due(struct state *state)
{
	if (state->sent >= state->until)
		return 0;
	__u64 interval = state->interval, when = state->start + ((state->sent - state->base) * interval >> 16);
	__u64 begun = 0;
	for (__u32 i = 0; i < SPINS; i++) {
		if (when <= state->now && state->allowance >= interval) {
			state->allowance -= interval;
			return 1;
		}
		__u64 now = bpf_ktime_get_ns(), passed = now - state->now;
		if (passed > LONGEST_NS)
			passed = LONGEST_NS;
		__u64 allowance = state->allowance + passed * REPAY;
		state->allowance = allowance > BURST * interval ? BURST * interval : allowance;
		state->now = now;
		if (!begun)
			begun = now;
		if (now - begun > SPIN_NS)
			return 0;
	}
	return 0;
}

#define LOOK_EVERY 64     /* frames from one look at the clock to the next: those that the kernel handles at once */
#define LOOK_NS 100000    /* from one piece of work to the next */
#define STEPS 350         /* a piece of work: about half a microsecond */

/* Four chains of shifts that do not wait for each other: as many instructions at once as a core has
 * units for them. What runs on its other hardware thread makes them take longer. */
INLINE __u64 work(__u64 seed)
{
	__u64 a = seed, b = seed + 1, c = seed + 2, d = seed + 3;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < STEPS; i++) {
		a ^= a << 13;
		b ^= b >> 7;
		c ^= c << 17;
		d ^= d >> 5;
		a += 0x9e37;
		b += 0x79b9;
		c -= 0x7f4a;
		d += 0x7c15;
	}
	return a ^ b ^ c ^ d;
}

/* Times a piece of work, if it is time for one. */
INLINE void look(struct state *state)
{
	if (state->sent & (LOOK_EVERY - 1))
		return;
	__u64 begun = bpf_ktime_get_ns();
	if (begun - state->looked < LOOK_NS)
		return;
	__u64 result = work(begun);
	OPAQUE(result);
	__u64 took = bpf_ktime_get_ns() - begun;
	struct look *look = LOOKUP(looks, state->looks & (LOOKS - 1));
	if (!look)
		return;
	look->begun = begun;
	look->took = took;
	look->sent = state->sent;
	state->looked = begun;
	state->looks++;
}

SEC("xdp") int generate(struct xdp_md *context)
{
	__u32 zero = 0, length = FRAME_LENGTH;
	struct state *state = bpf_map_lookup_elem(&states, &zero);
	if (!state)
		return XDP_ABORTED;
	if (PACED && !due(state))
		return XDP_DROP;
	if (LOOKING)
		look(state);

	__u32 position = state->position, way = WAYS > 1 ? position & 1 : 0;
	struct template *template = bpf_map_lookup_elem(&templates, &way);
	if (!template)
		return XDP_ABORTED;
	__u64 turn = position;
	OPAQUE(turn);
	if (turn >= DESTINATIONS)
		return XDP_ABORTED;
	const __u32 *destination = FIRST(destinations) + turn * (IPV6 ? 4 : 1);
	state->position = position + 1 >= DESTINATIONS ? 0 : position + 1;

	if (LENGTHS > 1) {
		__u32 size = state->size;
		const __u32 *wanted = bpf_map_lookup_elem(&lengths, &size);
		if (!wanted)
			return XDP_ABORTED;
		length = *wanted;
		state->size = size + 1 >= LENGTHS ? 0 : size + 1;
		__s64 have = packet_end(context) - packet_start(context);
		OPAQUE(have);
		if (bpf_xdp_adjust_tail(context, (__s64)length - have))
			return XDP_ABORTED;
	}

	if (IPV6)
		return VLAN ? build(context, template, state, destination, length, way, 18, 1)
				   : build(context, template, state, destination, length, way, 14, 1);
	return VLAN ? build(context, template, state, destination, length, way, 18, 0)
			   : build(context, template, state, destination, length, way, 14, 0);
}
