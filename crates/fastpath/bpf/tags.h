/* VLAN tags that a device has taken out of a frame before the program sees it (VLAN offload), as far
 * as somebody tells of them. */
#ifndef CORELANE_TAGS_H
#define CORELANE_TAGS_H

#include "arrived.h"

CONSTANT(TELLER); /* who tells: `enum teller` */

/* As in `way`: a tag that names no VLAN, so that the frame is the kernel's. */
#define TAG_UNTOLD 0x10000

/* `Teller` of src/forward/tags.rs. */
enum teller { TELLER_NOBODY, TELLER_DRIVER, TELLER_STACK };

/* Stands for the kernel's `bpf_xdp_metadata_rx_vlan_tag`; the loader puts its number here. */
static int (*ask_driver)(const struct xdp_md *context, __u16 *protocol, __u16 *tag) = (void *)0x74616700;
#define ENODATA 61

/* The tag that was taken out of this frame, as in `way`; 0 when none was. */
INLINE __u32 taken_tag(struct xdp_md *context, __u16 type)
{
	if (TELLER == TELLER_STACK) {
		const __u32 *seen = LOOKUP(arrived, 0);
		return !seen || (*seen && *seen != type) ? TAG_UNTOLD : 0;
	}
	if (TELLER != TELLER_DRIVER)
		return 0;
	__u16 protocol = 0, tag = 0;
	int error = ask_driver(context, &protocol, &tag);
	if (error == -ENODATA)
		return 0;
	return error || protocol != bpf_htons(TYPE_VLAN) ? TAG_UNTOLD : 0x10000 | tag;
}

#endif
