/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast audit DIR: recovers a data directory into memory, changing nothing, and proves that
 * every total agrees with the records it is made of. What fell due since is expired, as at a start.
 *
 * Exit code: 0 if all agrees, 1 with findings, 2 if the directory cannot be read. */
#include "cli/cli.h"
#include "cli/directory.h"
#include "engine/inspect.h"

#include <stdio.h>

static void print_finding(void *context, const char *finding)
{
    (void)context;
    printf("  %s\n", finding);
}

static int audit(struct engine *engine, const char *path)
{
    struct hf_info info;
    uint64_t findings = 0;

    engine_info(engine, &info);
    printf("%s\n", path);
    printf("  live holds   %12llu  bookings, quota holds, orders, slots, locks\n",
           (unsigned long long)info.holds);
    printf("  waiting      %12llu  in line for slots and in waiting rooms\n",
           (unsigned long long)info.waiting);
    printf("  memory       %12.1f  MB\n", (double)info.memory_bytes / 1e6);
    if (engine_audit(engine, print_finding, NULL, &findings) != HF_OK) {
        return cli_usage("%s: not enough memory for the audit", path);
    }
    printf("  findings     %12llu%s\n", (unsigned long long)findings,
           findings == 0 ? "  every total agrees with its records" : "");
    return findings == 0 ? EXIT_DONE : EXIT_REFUSED;
}

int cli_audit(int argc, char **argv)
{
    char label[] = "reading";
    struct engine *engine;
    struct problem problem;

    if (!cli_arguments(argc, argv, "DIR", 1) || !cli_is_directory(argv[1])) {
        return EXIT_USAGE;
    }
    enum hf_error code = inspect_open(argv[1], cli_progress, label, &engine, &problem);
    cli_live_end();
    if (code != HF_OK) {
        return cli_usage("%s: cannot be recovered: %s", argv[1], problem.message);
    }
    int result = audit(engine, argv[1]);
    engine_close(engine);
    return result;
}
