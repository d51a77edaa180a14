/* Searches for several frames at once: for the one at hand, and for those that wait behind it in the
 * ring of a veth. A search is a chain of loads, each of which may wait for memory; of many chains a
 * processor waits for all at once.
 *
 * A program is not shown what waits. It reads the ring through the kernel's own description of its
 * structures, as numbers, and a read that fails gives 0. What it finds there decides nothing: an
 * answer counts only for the frame that asks with the same address, as long as the table has not
 * changed since.
 *
 * Only for frames without a tag that were redirected to the veth (struct xdp_frame), of the same
 * family as the one at hand. IPv6 takes six steps ahead, which do for a /48; what is not finished
 * then is searched for again. */
#ifndef CORELANE_AHEAD_H
#define CORELANE_AHEAD_H

#include "fib.h"
#include "parse.h"

/* Set by src/forward/ahead.rs; offsets in the kernel's structures, in bytes. */
CONSTANT(BOX);        /* number of a structure that begins with 64 bits; 0: no looking ahead */
CONSTANT(BUFF_RXQ);   /* of `rxq` in xdp_buff */
CONSTANT(RXQ_RING);   /* from `xdp_ring` to `xdp_rxq` in veth_rq */
CONSTANT(RING_HEAD);  /* of `consumer_head` in ptr_ring */
CONSTANT(RING_SIZE);  /* of `size` in ptr_ring */
CONSTANT(RING_QUEUE); /* of `queue` in ptr_ring */
CONSTANT(FRAME_DATA); /* of `data` in xdp_frame */
CONSTANT(AHEADS);     /* CPUs */

/* Stand for the kernel's `bpf_cast_to_kern_ctx` and `bpf_rdonly_cast`; the loader puts their numbers here. */
static void *(*kernel_context)(const struct xdp_md *context) = (void *)0x61686501;
static void *(*kernel_box)(__u64 address, __u32 type) = (void *)0x61686502;

/* As many as a device hands over at a time (NAPI_POLL_WEIGHT). */
#define AHEAD 64
#define STEPS6_AHEAD 6
/* Of 2000::/3 only: what else there is has no entry where these have theirs. */
#define ELSEWHERE 0xffffffff

/* What a CPU has searched for, in whole cache lines. */
struct ahead {
	__u64 busy; /* a program is in here; another that interrupts it stays out */
	__u64 queue, changes, table;
	__u64 first, seen; /* place in the ring of the first frame; how many there are */
	__u64 next;        /* whose turn it is among them, while frames come as they were seen */
	__u64 reserved;
	__u64 question[AHEAD], answer[AHEAD]; /* destination, or its upper half; entry of the table, at the end a next hop */
	__u64 at[AHEAD], word[AHEAD];         /* where the search goes on, and what is there */
};
VALUES(ahead, struct ahead, 1);
_Static_assert(sizeof(struct ahead) == 2112, "as src/forward/ahead.rs has it");

/* As a loop: copies would push other code out of the cache. How many there are the verifier never knows. */
#define EACH(all) _Pragma("clang loop unroll(disable)") for (__u32 i = 0; i < AHEAD && i < *(volatile __u64 *)&(all)->seen; i++)

/* The same by fours, for loads that wait: the fewer instructions each takes, the more of them a processor is at. Up to
 * three more than were seen are loaded, for whom nobody asks. */
#define FOURS(all)                                                                                                                 \
	_Pragma("clang loop unroll(disable)") for (__u32 first = 0; first < AHEAD && first < *(volatile __u64 *)&(all)->seen; first += 4)  \
		_Pragma("clang loop unroll(full)") for (__u32 i = first; i < first + 4; i++)

/* The number at an address of the kernel's; 0 where there is none. */
INLINE __u64 peek(__u64 address)
{
	return *(volatile __u64 *)kernel_box(address, BOX);
}

INLINE __u32 ring_size(__u64 ring) { return peek(ring + RING_SIZE); }

/* Where the destination is in a frame without a tag, and its first 64 bits as a number; of IPv4, all 32. */
INLINE __u64 destination_at(_Bool six) { return six ? ETHERNET_LENGTH + 24 : ETHERNET_LENGTH + 16; }
INLINE __u64 destination_of(__u64 there, _Bool six) { return six ? bpf_be64_to_cpu(there) : bpf_ntohl(there); }

/* Looks at who waits. Bit 0 of a pointer says that it is a frame (VETH_XDP_FLAG of drivers/net/veth.c). */
INLINE void see(struct ahead *all, __u64 ring, _Bool six)
{
	__u32 size = ring_size(ring);
	__u64 frames = peek(ring + RING_QUEUE), place = all->first, seen = 1;
	_Pragma("clang loop unroll(disable)") for (__u32 i = 1; i < AHEAD; i++)
	{
		place = place + 1 < size ? place + 1 : 0;
		FORGET(place, frames); /* or the verifier learns what `size` is not, round by round */
		__u64 frame = peek(frames + 8 * place);
		if (!(frame & 1))
			break;
		__u64 data = peek((frame & ~1ULL) + FRAME_DATA);
		__u64 question = destination_of(peek(data + destination_at(six)), six);
		/* What is kept under this count is searched for after it was read. */
		FORGET(question, all->changes);
		all->question[i] = question;
		seen++;
	}
	all->seen = seen;
}

/* All bits when an entry leads to a node. */
INLINE __u64 leads(__u64 kind) { return -((kind | kind >> 1) & 1); }

/* As search4 for each, without its last step. Loads that wait are in loops of their own, so short that the
 * processor is in many rounds at once. */
INLINE void search4_ahead(struct ahead *all, const struct table *table)
{
	const __u32 *root = FIRST(root4);
	const __u64 *nodes = FIRST(nodes4);
	__u64 begin = table->root4;
	FOURS(all)
	{
		__u64 entry = begin + (all->question[i] >> 14 & 0x3ffff);
		all->answer[i] = entry < ROOTS4 ? *(volatile const __u32 *)(root + entry) : 0;
	}
	begin = table->nodes4;
	FOURS(all)
	{
		__u64 at = begin + (all->answer[i] & ((1U << KIND_BITS) - 1));
		all->word[i] = at < NODES4 ? *(volatile const __u64 *)(nodes + at) : 0;
	}
	EACH(all)
	{
		__u64 entry = all->answer[i], kind = entry >> KIND_BITS;
		__u64 bit = popcount(all->word[i] << (63 - (all->question[i] >> 8 & 63))) << (kind + 2 & 7);
		all->at[i] = ((entry & ((1U << KIND_BITS) - 1)) + 1 + (bit >> 6 & 31)) << 6 | (bit & 63);
	}
	FOURS(all)
	{
		__u64 at = begin + (all->at[i] >> 6);
		all->word[i] = at < NODES4 ? *(volatile const __u64 *)(nodes + at) : 0;
	}
	EACH(all)
	{
		__u64 entry = all->answer[i], kind = entry >> KIND_BITS, on = leads(kind);
		__u64 next = all->word[i] >> (all->at[i] & 63) & (0xffffffffU >> (32 - (8 << ((kind - 1) & 3 & on))));
		all->answer[i] = (next & on) | (entry & ~on);
	}
}

/* The entry behind the one of which a step has read the word. */
INLINE __u64 entry6(const struct ahead *all, __u32 i)
{
	__u64 entry = all->answer[i], kind = entry >> 62, on = leads(kind), last = kind == 1;
	__u64 next = all->word[i] >> ((all->at[i] & 3 & -last) << 4) & ~(-last << 16);
	return (next & on) | (entry & ~on);
}

/* As search6 for each. */
INLINE void search6_ahead(struct ahead *all, const struct table *table)
{
	const __u64 *root = FIRST(root6);
	const __u64 *nodes = FIRST(nodes6);
	__u64 begin = table->root6;
	FOURS(all)
	{
		__u64 entry = begin + (all->question[i] >> 46 & 0x7fff);
		_Bool global = all->question[i] >> 61 == 1 && entry < ROOTS6;
		all->answer[i] = global ? *(volatile const __u64 *)(root + entry) : ELSEWHERE;
	}
	begin = table->nodes6;
	__u32 shift = 18;
	_Pragma("clang loop unroll(disable)") for (__u32 step = 0; step < STEPS6_AHEAD; step++)
	{
		EACH(all)
		{
			__u64 entry = step ? entry6(all, i) : all->answer[i], kind = entry >> 62, last = kind == 1;
			__u64 run = run6(entry, all->question[i] << shift >> 59);
			all->answer[i] = entry;
			all->at[i] = ((entry >> 32 & ((1U << KIND_BITS) - 1) & leads(kind)) + (run >> (last << 1))) << 2 | (run & 3);
		}
		FOURS(all)
		{
			__u64 at = begin + (all->at[i] >> 2);
			all->word[i] = at < NODES6 ? *(volatile const __u64 *)(nodes + at) : 0;
		}
		shift += 5;
	}
	EACH(all) all->answer[i] = entry6(all, i);
}

/* Which of those seen the frame at hand is. The ring tells; if it is none of them, all are looked at anew. */
INLINE __u64 place_of(struct xdp_md *context, struct ahead *all, const struct table *table, __u64 asked, __u64 question, _Bool six)
{
	__u64 ring = *(volatile __u64 *)(kernel_context(context) + BUFF_RXQ) - RXQ_RING;
	__u32 head = peek(ring + RING_HEAD);
	__u64 current = (head ? head : ring_size(ring)) - 1, place = current - all->first;
	if (current < all->first)
		place += ring_size(ring);
	if (context->rx_queue_index == all->queue && place < all->seen)
		return place;

	all->queue = context->rx_queue_index;
	all->first = current;
	all->changes = *(volatile const __u64 *)&table->changes;
	all->table = asked;
	FORGET(question, all->changes);
	all->question[0] = question;
	see(all, ring, six);
	if (all->seen > 1 && six)
		search6_ahead(all, table);
	else if (all->seen > 1)
		search4_ahead(all, table);
	return 0;
}

/* Whether the answer at a place is that of the frame at hand, as the table is now. */
INLINE _Bool holds(const struct ahead *all, const struct table *table, __u64 asked, __u64 question, __u64 place)
{
	return place < AHEAD && place < all->seen && all->question[place] == question && all->table == asked &&
	       all->changes == *(volatile const __u64 *)&table->changes;
}

/* One more than the next hop of the frame at hand, whose destination is `question`; 0: search. */
INLINE __u32 look_ahead(struct xdp_md *context, const struct table *table, __u32 number, __u32 cpu, __u64 question, _Bool six)
{
	__u64 at = cpu;
	if (at >= AHEADS)
		return 0;
	struct ahead *all = FIRST(ahead) + at;
	if (*(volatile __u64 *)&all->busy)
		return 0;
	*(volatile __u64 *)&all->busy = 1;

	__u64 asked = (__u64)number << 1 | six, place = all->next, answer = ELSEWHERE;
	_Bool found = holds(all, table, asked, question, place);
	if (!found) {
		place = place_of(context, all, table, asked, question, six);
		found = all->seen > 1 && holds(all, table, asked, question, place);
	}
	if (found)
		answer = all->answer[place];
	all->next = place + 1;
	*(volatile __u64 *)&all->busy = 0;
	return answer >> 16 ? 0 : answer + 1;
}

#endif
