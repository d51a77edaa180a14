/* What is known of the VLAN tag of the frame that this CPU is about to show to a program in generic
 * mode: 0 without a tag, its protocol when it was in the frame, TAG_TAKEN when it was beside it. */
#ifndef CORELANE_ARRIVED_H
#define CORELANE_ARRIVED_H

#include "parse.h"

#define TAG_TAKEN 1

MAP(arrived, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u32, 1, 0);

#endif
