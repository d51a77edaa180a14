/* What every program here shares: the map declaration that our loader reads, load-time constants,
 * and the packet's bounds.
 *
 * MAP: a plain struct in section "maps"; the loader (crate bpf) creates the map and patches its
 * descriptor in. CONSTANT: an undefined symbol whose *address* is the value; the loader patches a
 * 64-bit immediate in, so the verifier sees a number, removes the branches that it rules out, and
 * the program that runs is made for this one configuration. */
#ifndef CORELANE_COMMON_H
#define CORELANE_COMMON_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct map_definition {
	__u32 type, key_size, value_size, max_entries, flags;
};

#define MAP(name, map_type, key, value, entries, map_flags)                                                                        \
	struct map_definition name __attribute__((section("maps"), used)) = {                                                      \
		.type = map_type, .key_size = key, .value_size = value, .max_entries = entries, .flags = map_flags}

#define CONSTANT(name) extern const char name[]
/* clang knows that the address of a symbol is never null: the empty asm makes it forget. */
#define VALUE(name)                                                                                                                \
	({                                                                                                                         \
		__u64 value_of = (__u64)name;                                                                                      \
		asm("" : "+r"(value_of));                                                                                          \
		value_of;                                                                                                          \
	})

#define INLINE static __attribute__((always_inline)) inline

/* Hides where a number came from, so that clang keeps the arithmetic in the form that the verifier
 * can follow. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

INLINE void *packet_start(const struct xdp_md *context) { return (void *)(__u64)context->data; }
INLINE void *packet_end(const struct xdp_md *context) { return (void *)(__u64)context->data_end; }

char _license[] __attribute__((section("license"), used)) = "Dual MIT/GPL";

#endif
