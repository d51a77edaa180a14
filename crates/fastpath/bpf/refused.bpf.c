/* Frames that the forwarder has redirected and that the device they were to leave by did not take:
 * its ring was full, it was down, or they were not to its liking. Nobody tells the program, which
 * has ended by then; the kernel says so at two tracepoints, once for a burst.
 *
 * They run on the CPU that has run the program, before it runs again, so what it has counted as
 * forwarded is taken back in the same row. */
#include "ports.h"

CONSTANT(NAMESPACE); /* number of our network namespace */
CONSTANT(IFINDEX);   /* where it is in `struct net_device` */
CONSTANT(NET);       /* where `nd_net.net` is there */
CONSTANT(NUMBER);    /* where `ns.inum` is in `struct net` */

/* Our place for a device of the kernel's; PORTS when it is not ours. */
INLINE __u32 place_of(__u64 device)
{
	__u64 net = 0;
	__u32 namespace = 0, ifindex = 0;
	if (!device || bpf_probe_read_kernel(&net, sizeof(net), (void *)(device + NET)) ||
	    bpf_probe_read_kernel(&namespace, sizeof(namespace), (void *)(net + NUMBER)) || namespace != NAMESPACE ||
	    bpf_probe_read_kernel(&ifindex, sizeof(ifindex), (void *)(device + IFINDEX)))
		return PORTS;
	__u32 place = 0;
	for (__u32 number = 0; number < PORTS; number++) {
		const struct port *port = port_at(number);
		/* Without a branch, of which the verifier would follow both ways to the end. */
		if (port)
			place |= (number + 1) * (__u32)(((__u64)(port->ifindex ^ ifindex) - 1) >> 63);
	}
	return place ? place - 1 : PORTS;
}

INLINE void take_back(__u32 from, __u32 to, __u32 frames)
{
	struct port_counters *row = LOOKUP(counters, bpf_get_smp_processor_id());
	if (!row || from >= PORTS || to >= PORTS)
		return;
	/* The verifier forgets the bounds on the way. */
	OPAQUE(from);
	OPAQUE(to);
	from &= PORTS - 1;
	to &= PORTS - 1;
	row[from].forwarded -= frames;
	row[from].reasons[EGRESS_REFUSED] += frames;
	row[to].refused += frames;
}

/* const struct net_device *from, *to; int sent, drops, error */
SEC("raw_tp/xdp_devmap_xmit") int refused(struct bpf_raw_tracepoint_args *context)
{
	__s32 drops = context->args[3];
	if (drops > 0)
		take_back(place_of(context->args[0]), place_of(context->args[1]), drops);
	return 0;
}

/* const struct net_device *from; const struct bpf_prog *; const void *target; int error; enum
 * bpf_map_type; u32 map, index: our place for a port. */
SEC("raw_tp/xdp_redirect_err") int not_queued(struct bpf_raw_tracepoint_args *context)
{
	if ((__u32)context->args[4] == BPF_MAP_TYPE_DEVMAP)
		take_back(place_of(context->args[0]), context->args[6], 1);
	return 0;
}
