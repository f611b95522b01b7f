/* SPDX-License-Identifier: Apache-2.0
 *
 * A histogram of durations in nanoseconds: 32 buckets for each doubling, so within about 3 % of the
 * truth, in constant room. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 32 /* buckets for each doubling */
#define HISTOGRAM_BUCKETS (HISTOGRAM_STEPS * 40)

struct histogram {
    uint64_t count;
    uint64_t max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t nanoseconds);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The value that `share` of all are at or below: 0.99 for the 99th percentile. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/* How many are below this value, within the width of a bucket. */
uint64_t histogram_below(const struct histogram *histogram, uint64_t nanoseconds);

#endif
