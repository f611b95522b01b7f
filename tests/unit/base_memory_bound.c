/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory a process can have, as the files of the system tell it: here files of a
 * directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory_bound.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char root[64];

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/memory-bound-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file, and makes the directories above it. */
static void put(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void without_groups_the_machine_counts(void **state)
{
    (void)state;
    size_t machine = memory_bound(root);
    assert_true(machine > 1 << 20);
    put("/proc/self/cgroup", "0::/\n");
    assert_true(memory_bound(root) == machine);
    put("/sys/fs/cgroup/memory.max", "max\n");
    assert_true(memory_bound(root) == machine);
    put("/proc/self/cgroup", "rubbish\n:\n::\n\n0:");
    assert_true(memory_bound(root) == machine);
}

static void a_group_counts_and_those_above_it(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "1:name=systemd:/x\n0::/system.slice/holdfast.service\n");
    put("/sys/fs/cgroup/system.slice/holdfast.service/memory.max", "9000000\n");
    assert_int_equal(memory_bound(root), 9000000);
    put("/sys/fs/cgroup/system.slice/memory.max", "8000000\n");
    assert_int_equal(memory_bound(root), 8000000);
    put("/sys/fs/cgroup/memory.max", "7000000\n");
    assert_int_equal(memory_bound(root), 7000000);
    put("/sys/fs/cgroup/system.slice/holdfast.service/memory.max", "6000000\n");
    assert_int_equal(memory_bound(root), 6000000);
}

static void so_does_one_of_the_former_version(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "5:cpu:/a\n4:memory:/docker/0815\n0::/\n");
    put("/sys/fs/cgroup/memory/docker/0815/memory.limit_in_bytes", "5000000\n");
    assert_int_equal(memory_bound(root), 5000000);
}

/* In a container the path is the host's, and what is mounted is the container's own group. */
static void a_path_that_is_not_there_is_passed_over(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "4:memory:/docker/of/the/host\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4000000\n");
    assert_int_equal(memory_bound(root), 4000000);
}

static void a_limit_of_the_process_counts(void **state)
{
    struct rlimit before, small;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)300 << 20;
    assert_int_equal(setrlimit(RLIMIT_DATA, &small), 0);
    size_t bound = memory_bound(root);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    assert_true(bound <= (size_t)300 << 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_groups_the_machine_counts), TEST(a_group_counts_and_those_above_it),
        TEST(so_does_one_of_the_former_version), TEST(a_path_that_is_not_there_is_passed_over),
        TEST(a_limit_of_the_process_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
