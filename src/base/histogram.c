/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations in buckets of a fixed width relative to their value: adding one is a few instructions
 * and no allocation. */
#include "base/histogram.h"

#include <stddef.h>

/* Small values have a bucket each; then the leading bit chooses the doubling and the next five bits
 * the bucket in it. */
static size_t bucket_of(uint64_t value)
{
    if (value < HISTOGRAM_STEPS) {
        return (size_t)value;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - 5;
    size_t bucket = (size_t)shift * HISTOGRAM_STEPS + (size_t)(value >> shift);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t bucket_top(size_t bucket)
{
    if (bucket < HISTOGRAM_STEPS) {
        return bucket;
    }
    unsigned shift = (unsigned)(bucket / HISTOGRAM_STEPS) - 1;
    uint64_t lead = bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS;
    return ((lead + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t nanoseconds)
{
    histogram->buckets[bucket_of(nanoseconds)]++;
    histogram->count++;
    if (nanoseconds > histogram->max) {
        histogram->max = nanoseconds;
    }
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        into->buckets[i] += from->buckets[i];
    }
    into->count += from->count;
    into->max = from->max > into->max ? from->max : into->max;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen > 0 && (double)seen >= share * (double)histogram->count) {
            uint64_t top = bucket_top(i);
            return top < histogram->max ? top : histogram->max;
        }
    }
    return histogram->max;
}

uint64_t histogram_below(const struct histogram *histogram, uint64_t nanoseconds)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < bucket_of(nanoseconds); i++) {
        seen += histogram->buckets[i];
    }
    return seen;
}
