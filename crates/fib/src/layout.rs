//! The arrays of a table and the rule by which they are searched: all that a reader in another
//! language needs.
//!
//! # Arrays
//! Two for each family, in native byte order, indexed from 0, never moved:
//!
//! | array | element | elements |
//! |---|---|---|
//! | `root` | an entry: `u32` for IPv4, `u64` for IPv6 | [`V4_ROOT`], [`V6_ROOT`] |
//! | `nodes` | `u64` word | as many as there is room for; words 0 and 1 stay zero |
//!
//! # Node
//! A node stands for further bits of the address: six for IPv4, which are 64 slots; five for IPv6,
//! which are 32. Equal neighbouring slots make a run, and a node holds one element for each run,
//! packed from the least significant bits of each word up. Its *vector* says where runs begin: bit
//! *i* (from 1) is set where slot *i* differs from slot *i* − 1; bit 0 is zero.
//!
//! The element of a slot is the one whose number is the count of vector bits 1 to slot. An element
//! is an entry; one narrower than an entry is a leaf. So every step is the same, and only nodes
//! with elements of an entry's width have nodes below.
//!
//! # Entry for IPv4
//! A `u32`. Its upper two bits are its kind, the others its value. The vector is the node's first
//! word, and the elements are in the words after it.
//!
//! | kind | value |
//! |---|---|
//! | 0 leaf | the next hop (16 bits; the rest is zero). 0: no route |
//! | 1 | index in `nodes` of a node whose elements have 8 bits |
//! | 2 | the same with elements of 16 bits |
//! | 3 | the same with elements of 32 bits |
//!
//! # Entry for IPv6
//! A `u64` that holds the vector itself: a step is one load. The node is its elements alone.
//!
//! | bits | |
//! |---|---|
//! | 63 | the elements have 64 bits |
//! | 62 | the elements have 16 bits |
//! | 32 to 61 | index in `nodes` of the node |
//! | 0 to 31 | the vector |
//!
//! If bits 62 and 63 are zero, it is a leaf: the next hop in 16 bits, the rest zero.
//!
//! # Search
//! ```c
//! // `slot` is 0..63; popcount64 by shifts and one multiplication where the machine has none
//! static u32 step_v4(const u64 *nodes, u32 entry, u32 slot) {
//!     u32 log2_bytes = (entry >> 30) - 1;                 // 0, 1, 2
//!     u32 at = entry & 0x3fffffff;
//!     u32 run = popcount64(nodes[at] << (63 - slot));
//!     u32 bit = run << (log2_bytes + 3);
//!     u64 word = nodes[at + 1 + (bit >> 6)];              // bit >> 6 is at most 31
//!     return (word >> (bit & 63)) & (0xffffffff >> (32 - (8 << log2_bytes)));
//! }
//! u32 search_v4(u32 address) {                            // at most 3 steps
//!     u32 entry = root[address >> 14];
//!     for (u32 start = 18; entry >> 30; start += 6)       // 18, 24, 30
//!         entry = step_v4(nodes, entry, ((u64)address << 32 << start) >> 58);
//!     return entry;
//! }
//! // `slot` is 0..31, so that the shift leaves nothing of the entry's upper half
//! static u64 step_v6(const u64 *nodes, u64 entry, u32 slot) {
//!     u32 at = (entry >> 32) & 0x3fffffff;
//!     u32 run = popcount64(entry << (63 - slot));         // at most 31
//!     if (entry >> 63)
//!         return nodes[at + run];
//!     return (nodes[at + (run >> 2)] >> ((run & 3) << 4)) & 0xffff;
//! }
//! u32 search_v6(u64 high, u64 low) {                // at most 22 steps from bit 18, 25 from bit 6
//!     u32 global = (high >> 61) == 1;                     // 2000::/3
//!     u32 start = global ? 18 : 6;
//!     u64 entry = global ? root[(high >> 46) & 0x7fff] : root[0x8000 + (high >> 58)];
//!     for (; entry >> 62; start += 5)                     // ..., 58, 63 (straddles), 68, ..., 126
//!         entry = step_v6(nodes, entry, five_bits_at(high, low, start));
//!     return entry;
//! }
//! ```
//! `five_bits_at` gives bits `start` to `start + 4`, first bit most significant; bits beyond the
//! address are zero. A loop over a verified program is bounded by the counts named; an index is
//! bounded by the array's length.
//!
//! # While it changes
//! The writer fills a new node before it stores the entry that leads to it (release), and changes
//! an element in place by one store of its 64-bit word. A reader that loads an entry or a word once
//! and uses that value sees for each address the answer before the change or the one after. A node
//! that was unlinked keeps its content until all readers have been quiescent.
//!
//! This is a multiway trie compressed by population counts, after Asai and Ohara, "Poptrie: A
//! Compressed Trie with Population Count for Fast and Scalable Software IP Routing Table Lookup"
//! (SIGCOMM 2015), with one array instead of two, and leaves and children under one vector. The
//! elements of IPv4 lie behind the vector they belong to; for IPv6 the vector travels with the
//! index, which leaves room for 32 slots and saves one of two loads.

/// Bits of an address that the IPv4 root consumes.
pub const V4_ROOT_BITS: u32 = 18;

/// Entries of the IPv4 root.
pub const V4_ROOT: usize = 1 << V4_ROOT_BITS;

/// Entries of the IPv6 root: bits 3 to 17 of addresses in `2000::/3` first, then the first six bits
/// of all others.
pub const V6_ROOT: usize = V6_ROOT_OTHERS + 64;

/// Index in the IPv6 root of the entries for addresses outside `2000::/3`.
pub const V6_ROOT_OTHERS: usize = 1 << 15;

/// Bits of an address that an IPv4 node consumes.
pub const V4_STRIDE: u32 = 6;

/// Where the kind of an IPv4 entry begins.
pub const V4_KIND_SHIFT: u32 = 30;

/// Bits of an address that an IPv6 node consumes.
pub const V6_STRIDE: u32 = 5;

/// The bit of an IPv6 entry that says that elements have 64 bits.
pub const V6_WIDE: u64 = 1 << 63;

/// The bit of an IPv6 entry that says that elements have 16 bits.
pub const V6_NARROW: u64 = 1 << 62;

/// Where the index in an IPv6 entry begins.
pub const V6_INDEX_SHIFT: u32 = 32;

/// The index of a node's first word, in entries of both families.
pub const INDEX_MASK: u32 = (1 << 30) - 1;

/// Most words a node can have: an IPv4 vector and 64 elements of 32 bits.
pub const LONGEST_NODE: usize = 33;

/// First word that is not reserved.
pub const FIRST_NODE: usize = 2;
