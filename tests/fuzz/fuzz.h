/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fuzzer is: libFuzzer calls this with one input after the other. It crashes, by a CHECK or
 * a sanitizer, if something is wrong. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
