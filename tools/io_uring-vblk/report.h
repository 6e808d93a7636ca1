/* SPDX-License-Identifier: MIT */
#ifndef VBLK_REPORT_H
#define VBLK_REPORT_H

#include <stdio.h>

#include "job.h"

/* All jobs together, over the measured window. */
struct totals {
	double seconds;
	uint64_t ios, reads, writes, errors;
	uint64_t enters, cqes;
	uint64_t submit_ns, submit_calls;
	uint64_t clock_ns;		/* cost of one look at the clock, in submit_ns */
	double submit_net;		/* ns in one submit call, without the clock */
	uint64_t user_ns, system_ns;	/* the process */
	uint64_t job_ns;		/* its I/O threads alone */
	uint64_t checked, mismatches;	/* --verify, read-back included */
	struct hist slat, clat;
};

void totals_make(struct totals *t, const struct control *c, struct job *jobs);

void report_live(FILE *out, const struct control *c, struct job *jobs, double seconds);
void report_text(FILE *out, const struct control *c, const struct totals *t);
void report_json(FILE *out, const struct control *c, const struct totals *t,
		 const struct job *jobs, const struct fail *fail);

#endif /* VBLK_REPORT_H */
