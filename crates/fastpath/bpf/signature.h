/* The last 16 bytes of every generated frame: who sent it, as which, and when. Host byte order:
 * sender and receiver are one machine. It lies at any address: the machines that we run on load and
 * store unaligned. */
#ifndef CORELANE_SIGNATURE_H
#define CORELANE_SIGNATURE_H

#include "common.h"

#define SIGNATURE_MAGIC 0xC07E

struct signature {
	__u16 magic;
	__u16 stream;
	__u32 sequence; /* counts from 1 within the stream */
	__u64 sent_ns;  /* CLOCK_MONOTONIC at departure; 0: not stamped */
};

#endif
