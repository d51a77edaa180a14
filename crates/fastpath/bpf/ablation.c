/* The forwarder without some of its steps, for `make bench-budget`, which compiles this anew for each of
 * WITHOUT_COUNTERS, WITHOUT_VOUCHED and so on, or several. Nothing that ships is made from it.
 *
 * Each step is a function of the headers below. Once they are included, a macro of its name takes its
 * place in what comes after: the rest of the packet's way, as it ships.
 *
 * With BARE nothing is left but the redirect and constant addresses. */
#define LOAD_BYTES bpf_xdp_load_bytes
#define DROP XDP_DROP
#define PASS XDP_PASS
#include "ahead.h"
#include "next_hop.h"
#include "rewrite.h"
#include "source.h"
#include "tags.h"
#include "way.h"

/* As the bench numbers them: a next hop, and the place in `out` of the port that it leaves by. */
#define NUMBER 1
#define EGRESS 1

#ifdef WITHOUT_COUNTERS
#define count_received(way, frames) ((void)0)
#define count_forwarded(way, frames) ((void)0)
#endif

#ifdef WITHOUT_VOUCHED
#define is_stale(port) 0
#endif

#ifdef WITHOUT_TAGS
#define taken_tag(context, type) 0
#endif

#ifdef WITHOUT_CHECKS
#define ipv4_fault(ip, available) REASONS
#define ipv6_fault(ip, available) REASONS
#endif

#ifdef WITHOUT_SUMS
#define is_partial(transport, end, protocol, sum, length) ((void)(sum), 0)
#endif

#if defined WITHOUT_AHEAD || defined WITHOUT_SEARCH
#define BOX 0
#endif

#ifdef WITHOUT_SEARCH
#define fetch4(table, address) ((void)0)
#define search4(table, address) ((void)(address), NUMBER)
#define search6(table, high, low) ((void)(high), (void)(low), NUMBER)
#endif

#ifdef WITHOUT_SOURCES
#define source_fits(place, table, station, source, cpu, port, vlan) ((void)(source), 1)
#endif

#ifdef WITHOUT_NEXT_HOP
static const struct next_hop only = {.kind = KIND_ADJACENCY, .port = EGRESS, .addresses = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}};
#define follow(context, number, flow, found) ((void)(flow), *(found) = &only, REASONS)
#endif

#ifdef WITHOUT_REWRITE
#define ethernet_rewrite(context, addresses, had, wanted, type) 1
#define ipv4_hop(at, ip) ((void)(at))
#define ipv6_hop(at, ip) ((void)(at))
#endif

#ifdef BARE
#define forward whole
#endif

#include "forward.bpf.c"

#ifdef BARE
#undef forward
SEC("xdp.frags") int forward(struct xdp_md *context)
{
	__u8 *data = packet_start(context);
	if (data + ETHERNET_LENGTH > (__u8 *)packet_end(context))
		return XDP_ABORTED;
	*(__u64 *)data = 0x0002010000000002;
	*(__u32 *)(data + 8) = 0x02000000;
	return bpf_redirect_map(&out, EGRESS, XDP_ABORTED);
}
#endif
