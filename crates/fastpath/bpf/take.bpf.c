/* The filter of packet sockets and the taker at tc, in front of workers with packet sockets (engine
 * af-packet).
 *
 * A packet socket gets a copy of a frame, and the kernel would forward its own, too. So `hear`, the
 * filter of the workers' sockets, decides by the tables which frames can be forwarded, lets the
 * workers have only these, and notes what it said. Then, for the same frame on the same CPU, `take`
 * runs at tc and drops the kernel's copy of what the workers have got. One decision, so no frame
 * goes twice and none is lost between them; where nobody listens, `hear` does not run, and the
 * kernel gets everything.
 *
 * The kernel has taken tags out of frames before either runs. */
#define LOAD_BYTES bpf_skb_load_bytes
#include "fib.h"
#include "next_hop.h"
#include "parse.h"
#include "ports.h"
#include "source.h"
#include "vlans.h"

CONSTANT(LONGEST);   /* longest frame that the workers get, in bytes without a tag */
CONSTANT(REHEARSED); /* as in segment.bpf.c */

#define NEXT (-1) /* TCX_NEXT: as if this program were not here */
#define DROP 2    /* TCX_DROP */
#define EVERYTHING 0xffffffff

/* As much as decisions need: Ethernet, IPv6, UDP, what tunnels have in front. Two bytes in front, so that the packet is
 * aligned: the stack must be. */
#define HEADERS 120
#define FRONT 2

/* What the filter said of the frame that this CPU is about to give to the kernel. */
struct said {
	__u32 length; /* of that frame; 0: nothing was said */
	__u16 reason; /* REASONS: the worker has it */
	__u16 next_hop;
	__u32 vlan; /* its place in `vlan_counters` and one more; 0: untagged */
};

MAP(notes, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct said, PORTS, 0);

/* Who rehearses says a frame's tag. In words of the machine, for clang would choose between the places of
 * this tag and the kernel's, and the verifier wants to know which it is. */
INLINE __u32 said_tag(const struct __sk_buff *context)
{
	__u32 tag;
	asm volatile("%0 = *(u32 *)(%1 + %2)" : "=r"(tag) : "r"(context), "i"(__builtin_offsetof(struct __sk_buff, cb)));
	return tag;
}

/* How a frame came. */
struct arrival {
	__u64 station;
	__u32 vid;   /* 0: untagged */
	__u32 table; /* its place */
	__u32 flows; /* of the port */
};

/* Follows the table's answer for a packet. `redirects`: the kernel may tell the
 * sender of a better way when this one leads back. */
INLINE enum reason find(struct __sk_buff *context, struct said *said, const struct arrival *in, __u16 number, struct flow *flow, _Bool redirects)
{
	const struct next_hop *entry;
	if (!number)
		return NO_ROUTE;
	enum reason reason = follow(context, &number, flow, &entry);
	if (reason != REASONS)
		return reason;
	said->next_hop = number;
	if (entry->mtu && flow->end - ETHERNET_LENGTH > entry->mtu)
		return TOO_BIG;
	return redirects && entry->port == PORT && (entry->vlan & 0xfffU) == in->vid ? HAIRPIN : REASONS;
}

INLINE enum reason find4(struct __sk_buff *context, struct said *said, const struct arrival *in, const struct table *table, const __u8 *at, __u32 shown, __u32 available)
{
	__u32 cpu = bpf_get_smp_processor_id();
	if (shown < 20)
		return IPV4_TRUNCATED;
	const struct ipv4 ip = *(const struct ipv4 *)at;
	enum reason fault = ipv4_fault(&ip, available);
	if (fault != REASONS)
		return fault;
	/* The workers finish the sums of TCP and UDP, as the kernel tells them. */
	if (!ipv4_is_fragment(&ip) && hides_sum(at + 20, at + shown, ipv4_protocol(&ip), ipv4_total_length(&ip) - 20))
		return PARTIAL_CHECKSUM;
	struct flow flow = flow4(&ip, in->flows, ETHERNET_LENGTH);
	__u16 number = search4(table, ipv4_destination(&ip));
	fault = find(context, said, in, number, &flow, !!(in->station & STATION_REDIRECTS));
	if ((fault == REASONS || fault == HAIRPIN) && !source_fits(in->table, table, in->station, ipv4_source(&ip), cpu, PORT, in->vid))
		return UNVERIFIED_SOURCE;
	return fault;
}

INLINE enum reason find6(struct __sk_buff *context, struct said *said, const struct arrival *in, const struct table *table, const __u8 *at, __u32 shown, __u32 available)
{
	if (shown < 40)
		return IPV6_TRUNCATED;
	const struct ipv6 ip = *(const struct ipv6 *)at;
	enum reason fault = ipv6_fault(&ip, available);
	if (fault != REASONS)
		return fault;
	__u32 next = ipv6_next_header(&ip);
	if (next == PROTOCOL_ICMPV6 && shown > 40 && is_discovery(at[40]))
		return IPV6_DISCOVERY;
	if (next == PROTOCOL_DESTINATION || next == PROTOCOL_ROUTING)
		fault = fault_behind(context, &ip, ETHERNET_LENGTH, ipv6_address_sum(&ip));
	else if (hides_sum(at + 40, at + shown, next, ipv6_payload_length(&ip)))
		return PARTIAL_CHECKSUM;
	if (fault != REASONS)
		return fault;
	struct flow flow = flow6(&ip, in->flows, ETHERNET_LENGTH);
	__u16 number = search6(table, bpf_be64_to_cpu(ip.word[3]), bpf_be64_to_cpu(ip.word[4]));
	return find(context, said, in, number, &flow, 1);
}

INLINE enum reason decide(struct __sk_buff *context, struct said *said)
{
	__u8 bytes[FRONT + HEADERS + 6] __attribute__((aligned(8))) = {};
	__u32 shown = context->len;
	struct arrival arrival = {};
	const struct port *in = port_at(PORT);
	if (!in || !(*(volatile const __u64 *)&in->station & STATION_ENABLED))
		return PORT_DISABLED;
	if (is_stale(in))
		return STALE;
	arrival.flows = *(volatile const __u32 *)&in->flows;
	OPAQUE(shown);
	if (shown < ETHERNET_LENGTH)
		return RUNT;
	if (shown > HEADERS)
		shown = HEADERS;
	if (bpf_skb_load_bytes(context, 0, bytes + FRONT, shown))
		return RUNT;
	if (bytes[FRONT] & 1)
		return LINK_GROUP;
	__u32 tag = REHEARSED ? said_tag(context) : 0;
	if (tag || context->vlan_present) {
		arrival.vid = (tag ? tag : context->vlan_tci) & 0xfff;
		if (!tag && context->vlan_proto != bpf_htons(TYPE_VLAN))
			return OTHER_PROTOCOL;
		/* Identifier 0 marks a priority only (IEEE 802.1Q §9.6). */
		if (arrival.vid) {
			in = LOOKUP(vlans, PORT << 12 | arrival.vid);
			if (!in || !*(volatile const __u64 *)&in->station)
				return UNKNOWN_VLAN;
			said->vlan = in->place + 1;
		}
	}
	__u64 station = *(__u16 *)(bytes + 2) | (__u64)*(__u16 *)(bytes + 4) << 16 | (__u64)*(__u16 *)(bytes + 6) << 32;
	arrival.station = *(volatile const __u64 *)&in->station;
	if (station != (arrival.station & MAC_MASK))
		return OTHER_STATION;
	__u16 type = *(__u16 *)(bytes + FRONT + 12);
	if (type != bpf_htons(TYPE_IPV4) && type != bpf_htons(TYPE_IPV6))
		return OTHER_PROTOCOL;
	if (!(arrival.station & (type == bpf_htons(TYPE_IPV4) ? STATION_V4 : STATION_V6)))
		return PORT_DISABLED;
	if (context->len > LONGEST)
		return TOO_BIG;
	__u32 available = context->len - ETHERNET_LENGTH;
	arrival.table = in->table;
	const struct table *table = table_at(arrival.table);
	const __u8 *at = bytes + FRONT + ETHERNET_LENGTH;
	if (!table)
		return NO_ROUTE;
	if (type == bpf_htons(TYPE_IPV4))
		return find4(context, said, &arrival, table, at, shown - ETHERNET_LENGTH, available);
	return find6(context, said, &arrival, table, at, shown - ETHERNET_LENGTH, available);
}

SEC("socket") int hear(struct __sk_buff *context)
{
	struct said *said = LOOKUP(notes, PORT);
	if (!said)
		return 0;
	said->vlan = 0;
	enum reason reason = decide(context, said);
	said->length = context->len;
	said->reason = reason;
	return reason == REASONS ? EVERYTHING : 0;
}

SEC("tc") int take(struct __sk_buff *context)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct port_counters *row = LOOKUP(counters, cpu);
	struct said *said = LOOKUP(notes, PORT);
	struct carried *carried_here = LOOKUP(carried, cpu);
	if (!row || !said || !carried_here || PORT >= PORTS)
		return NEXT;
	struct port_counters *mine = row + PORT;
	enum reason reason = said->length == context->len ? said->reason : NO_WORKER;
	said->length = 0;

	mine->received++;
	mine->received_bytes += context->len;
	struct link_counters *vlan = said->vlan && reason != NO_WORKER ? vlan_counters_at(said->vlan - 1, cpu) : 0;
	if (vlan) {
		vlan->received++;
		vlan->received_bytes += context->len;
	}
	if (reason < REASONS) {
		mine->reasons[reason]++;
		return NEXT;
	}
	mine->forwarded++;
	mine->forwarded_bytes += context->len;
	if (vlan) {
		vlan->forwarded++;
		vlan->forwarded_bytes += context->len;
	}
	carried_here[said->next_hop].frames++;
	carried_here[said->next_hop].bytes += context->len;
	return DROP;
}
