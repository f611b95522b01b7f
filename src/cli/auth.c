/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast auth NAME ROLE [--password]
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

static int print_line(const char *name, const char *role_text, const char *password)
{
    char line[AUTH_LINE_SIZE], token[AUTH_TOKEN_SIZE];
    struct problem problem;
    enum role role;

    if (!role_find(hf_text(role_text), &role)) {
        return cli_usage("'%s' is no role: read, write or admin", role_text);
    }
    if (auth_line(name, role, password, line, token, &problem) != HF_OK) {
        return cli_usage("%s", problem.message);
    }
    printf("%s\n", line);
    if (password == NULL) {
        fprintf(stderr, "token: %s\n", token);
    }
    OPENSSL_cleanse(token, sizeof token);
    return EXIT_DONE;
}

int cli_auth(int argc, char **argv)
{
    static const struct option options[] = {{"password", no_argument, NULL, 'p'},
                                            {NULL, 0, NULL, 0}};
    char password[AUTH_PASSWORD_MAX + 1];
    bool wants_password = false;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option != 'p') {
            return cli_bad_option("auth", argv, options);
        }
        wants_password = true;
    }
    if (argc - optind != 2) {
        return cli_usage("auth needs: NAME read|write|admin [--password]");
    }
    if (wants_password && !read_password(password)) {
        OPENSSL_cleanse(password, sizeof password);
        return cli_usage("no password of 1 to %d bytes on the first line of standard input",
                         AUTH_PASSWORD_MAX);
    }
    int code = print_line(argv[optind], argv[optind + 1], wants_password ? password : NULL);
    OPENSSL_cleanse(password, sizeof password);
    return code;
}
