/* What every program here shares: how maps and load-time constants are declared, and the packet's
 * bounds. The form is libbpf's, so its tools read these objects too.
 *
 * CONSTANT: a word in .rodata, which the loader (crate bpf) writes and freezes before it loads the
 * programs. So the verifier knows its value, removes the branches that it rules out, and the
 * program that runs is made for this one configuration. */
#ifndef CORELANE_COMMON_H
#define CORELANE_COMMON_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAP(name, map_type, key_type, value_type, entries, flags)                                                                  \
	struct {                                                                                                                   \
		__uint(type, map_type);                                                                                            \
		__type(key, key_type);                                                                                             \
		__type(value, value_type);                                                                                         \
		__uint(max_entries, entries);                                                                                      \
		__uint(map_flags, flags);                                                                                          \
	} name SEC(".maps")
/* Of devices or sockets, which have no type that a tool could show. */
#define MAP_OF_TARGETS(name, map_type, entries)                                                                                    \
	struct {                                                                                                                   \
		__uint(type, map_type);                                                                                            \
		__uint(key_size, 4);                                                                                               \
		__uint(value_size, 4);                                                                                             \
		__uint(max_entries, entries);                                                                                      \
	} name SEC(".maps")

#define CONSTANT(name) const volatile __u64 name = 0

/* An array that programs address without a look-up: a section of its own, whose size the loader sets.
 * So a program compares an index with a constant that the loader sets as well. In the object, arrays
 * are short and those constants 0: any loader takes it, and nothing of them is read. */
#define VALUES(name, value_type, entries) value_type name[entries] SEC(".data." #name)

/* The beginning of such an array; clang is not told how long it is. */
#define FIRST(name)                                                                                                                \
	({                                                                                                                         \
		__typeof__(&name[0]) first_of_##name = name;                                                                       \
		OPAQUE(first_of_##name);                                                                                           \
		first_of_##name;                                                                                                   \
	})

#define INLINE static __attribute__((always_inline)) inline

/* Hides where a number came from, so that clang keeps the arithmetic in the form that the verifier
 * can follow. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

/* Has the verifier forget what it knows of x, with the help of any y that it knows nothing of. */
#define FORGET(x, y) asm volatile("%0 ^= %1\n\t%0 ^= %1" : "+r"(x) : "r"(y))

/* An element of a map. The key fills a slot of the stack: what was in half of one the verifier keeps
 * as part of its state, and goes the way behind again for each. So do buffers that helpers fill. */
#define LOOKUP(map, number)                                                                                                        \
	({                                                                                                                         \
		__u64 key_of_##map = (__u32)(number);                                                                              \
		bpf_map_lookup_elem(&map, &key_of_##map);                                                                          \
	})

/* What the kernel shows of a frame: programs at tc have another. */
#ifndef CONTEXT
#define CONTEXT struct xdp_md
#endif
INLINE void *packet_start(const CONTEXT *context) { return (void *)(__u64)context->data; }
INLINE void *packet_end(const CONTEXT *context) { return (void *)(__u64)context->data_end; }

char _license[] SEC("license") = "Dual MIT/GPL";

#endif
