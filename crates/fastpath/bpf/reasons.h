/* Why a frame was not forwarded: one reason each, in the order of the packet's way. The same names
 * and fates as in src/forward/reason.rs, which a test compares with this file. */
#ifndef CORELANE_REASONS_H
#define CORELANE_REASONS_H

enum reason {
	PORT_DISABLED,
	STALE,
	RUNT,
	LINK_GROUP,
	OTHER_STATION,
	UNKNOWN_VLAN,
	OTHER_PROTOCOL,
	IPV4_TRUNCATED,
	IPV4_VERSION,
	IPV4_HEADER_LENGTH,
	IPV4_CHECKSUM,
	IPV4_TOTAL_LENGTH,
	IPV4_OVERRUN,
	IPV4_SOURCE_MARTIAN,
	IPV4_DESTINATION_MARTIAN,
	IPV4_GROUP,
	IPV4_OPTIONS,
	IPV4_TIME_TO_LIVE,
	IPV6_TRUNCATED,
	IPV6_VERSION,
	IPV6_OVERRUN,
	IPV6_SOURCE_MARTIAN,
	IPV6_DESTINATION_MARTIAN,
	IPV6_GROUP,
	IPV6_HOP_BY_HOP,
	IPV6_HOP_LIMIT,
	IPV6_DISCOVERY,
	PARTIAL_CHECKSUM,
	SEGMENTS,
	NO_ROUTE,
	LOCAL,
	UNRESOLVED,
	PUNT,
	BLACKHOLE,
	UNREACHABLE,
	PROHIBIT,
	EMPTY_GROUP,
	UNKNOWN_PORT,
	NO_REDIRECT,
	NO_WORKER,
	TOO_BIG,
	UNVERIFIED_SOURCE,
	HAIRPIN,
	POLICED_ROUTING,
	POLICED_NEIGHBOUR,
	POLICED_LOCAL,
	POLICED_GROUP,
	POLICED_EXPIRED,
	POLICED_NO_ROUTE,
	POLICED_UNRESOLVED,
	POLICED_OPTIONS,
	POLICED_TOO_BIG,
	NO_HEADROOM,
	TRANSMIT_FULL,
	EGRESS_REFUSED,
	REASONS
};

/* Frames that no host may see again, and those that a route says to lose, are dropped. All others
 * are the kernel's: it delivers, answers, fragments or drops them as it would without us. */
#define IS_DROPPED(reason)                                                                                                         \
	((reason) == RUNT || ((reason) >= IPV4_TRUNCATED && (reason) <= IPV4_OVERRUN) ||                                           \
	 ((reason) >= IPV6_TRUNCATED && (reason) <= IPV6_OVERRUN) || (reason) == BLACKHOLE || (reason) == EMPTY_GROUP ||           \
	 ((reason) >= POLICED_ROUTING && (reason) <= POLICED_TOO_BIG) || (reason) == NO_HEADROOM || (reason) == TRANSMIT_FULL || (reason) == EGRESS_REFUSED)

#endif
