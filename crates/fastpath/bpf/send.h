/* Frames that a worker of sockets has for a port, as it lays them down for a run of a program: each
 * worker has a box. */
#ifndef CORELANE_SEND_H
#define CORELANE_SEND_H

#include "common.h"

#define BOX_BYTES 65536
#define BOX_HEAD 64

/* `Box` of src/forward/send.rs knows it. The frames lie one behind the other, each at a multiple of
 * 8 bytes, behind 8 bytes that hold its length. */
struct box {
	__u32 left;    /* frames that wait */
	__u32 at;      /* where the next of them begins in `frames` */
	__u32 early;   /* copies that come before the first frame */
	__u32 given;   /* frames that the device was given */
	__u32 told;    /* those of them that the kernel has told of */
	__u32 cpu;     /* where that happens */
	__u64 refused; /* a bit for each frame in the order of the box: the device did not take it */
	__u64 reserved[4];
	__u8 frames[BOX_BYTES - BOX_HEAD];
};

MAP(boxes, BPF_MAP_TYPE_ARRAY, __u32, struct box, 1, BPF_F_MMAPABLE);
/* The box of the run on this CPU, from 1. */
MAP(sending, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 1, 0);

#endif
