/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast auth NAME ROLE [--password] [--scopes LIST] [--families LIST] [--rate N/s] [--burst N]
 *
 * Prints a line for the file of users on standard output, so that it can be appended to the file.
 * The token that goes with it is printed once, on standard error; with --password the secret is a
 * password instead, the first line of standard input. */
#include "cli/cli.h"
#include "server/auth.h"

#include <getopt.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Turns off what is typed being seen, and ^C, which would leave the terminal so. False where there
 * is no terminal. */
static bool hide_typing(struct termios *before)
{
    if (tcgetattr(STDIN_FILENO, before) != 0) {
        return false;
    }
    struct termios hidden = *before;
    hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    return tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0;
}

/* The first line of standard input without its end, in `out`; false if there is none that is good
 * for a password. */
static bool read_password(char out[AUTH_PASSWORD_MAX + 1])
{
    struct termios before;
    bool hidden = hide_typing(&before);
    size_t size = 0;
    ssize_t got;
    char c;

    if (hidden) {
        fputs("password: ", stderr);
    }
    /* Byte by byte and unbuffered: nothing of it stays behind in a buffer of stdio. */
    while ((got = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n' && c != '\0' &&
           size < AUTH_PASSWORD_MAX) {
        out[size++] = c;
    }
    if (hidden) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    bool whole = got == 0 || (got == 1 && c == '\n');
    size -= size > 0 && out[size - 1] == '\r';
    out[size] = '\0';
    return whole && size > 0;
}

/* What the line has behind the secret, in the order of the options below. */
enum { LIMITS = 4, LIMIT_SIZE = 4096 };
static const char *const limit_names[LIMITS] = {"scopes", "families", "rate", "burst"};

/* Writes " scopes=… rate=…" to `out`, which is empty without options. False if the server would
 * refuse it, and the problem says why. */
static bool write_limits(const char *const values[LIMITS], char out[LIMIT_SIZE],
                         struct problem *problem)
{
    struct access *access = access_new();
    bool fits = access != NULL;
    size_t size = 0;

    out[0] = '\0';
    problem_set(problem, HF_BUSY, "no memory");
    for (size_t i = 0; fits && i < LIMITS; i++) {
        if (values[i] == NULL) {
            continue;
        }
        size_t start = size + 1;
        int wrote = snprintf(out + size, LIMIT_SIZE - size, " %s=%s", limit_names[i], values[i]);
        size += (size_t)wrote;
        fits = size < LIMIT_SIZE && strpbrk(values[i], " \t\r\n") == NULL;
        if (!fits) {
            problem_set(problem, HF_INVALID_ARGUMENT, "--%s is too long or has a space in it",
                        limit_names[i]);
            break;
        }
        struct hf_bytes word = {out + start, size - start};
        fits = access_read(access, word, problem) == HF_OK;
    }
    fits = fits && access_complete(access, 0, problem) == HF_OK;
    access_free(access);
    return fits;
}

static int print_line(const char *name, const char *role_text, const char *password,
                      const char *const limits[LIMITS])
{
    char line[AUTH_LINE_SIZE], token[AUTH_TOKEN_SIZE], more[LIMIT_SIZE];
    struct problem problem;
    enum role role;

    if (!role_find(hf_text(role_text), &role)) {
        return cli_usage("'%s' is no role: read, write or admin", role_text);
    }
    if (!write_limits(limits, more, &problem) ||
        auth_line(name, role, password, line, token, &problem) != HF_OK) {
        return cli_usage("%s", problem.message);
    }
    printf("%s%s\n", line, more);
    if (password == NULL) {
        fprintf(stderr, "token: %s\n", token);
    }
    OPENSSL_cleanse(token, sizeof token);
    return EXIT_DONE;
}

int cli_auth(int argc, char **argv)
{
    static const struct option options[] = {
        {"password", no_argument, NULL, 'p'},     {"scopes", required_argument, NULL, 0},
        {"families", required_argument, NULL, 1}, {"rate", required_argument, NULL, 2},
        {"burst", required_argument, NULL, 3},    {NULL, 0, NULL, 0}};
    const char *limits[LIMITS] = {NULL};
    char password[AUTH_PASSWORD_MAX + 1];
    bool wants_password = false;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'p') {
            wants_password = true;
        } else if (option >= 0 && option < LIMITS) {
            limits[option] = optarg;
        } else {
            return cli_bad_option("auth", argv, options);
        }
    }
    if (argc - optind != 2) {
        return cli_usage("auth needs: NAME read|write|admin [--password] [--scopes LIST] "
                         "[--families LIST] [--rate N/s] [--burst N]");
    }
    if (wants_password && !read_password(password)) {
        OPENSSL_cleanse(password, sizeof password);
        return cli_usage("no password of 1 to %d bytes on the first line of standard input",
                         AUTH_PASSWORD_MAX);
    }
    int code = print_line(argv[optind], argv[optind + 1], wants_password ? password : NULL, limits);
    OPENSSL_cleanse(password, sizeof password);
    return code;
}
