/* Run by hand, by whoever follows the kernel's routes, some times a second: as of now they are
 * right, on all ports.
 *
 * The clock is the kernel's own count of ticks, because reading it costs a forwarding program one
 * load. User space does not see it, so this program reads it on its behalf. The "frame" says for
 * how many ticks the word holds. */
#include "ports.h"

SEC("xdp") int vouch(struct xdp_md *context)
{
	__u8 *data = packet_start(context);
	if (data + sizeof(__u64) > (__u8 *)packet_end(context))
		return XDP_ABORTED;
	__u64 until = bpf_jiffies64() + *(__u64 *)data;
	for (__u32 number = 0; number < PORTS; number++) {
		struct port *port = port_at(number);
		if (port)
			*(volatile __u64 *)&port->until = until;
	}
	return XDP_PASS;
}
