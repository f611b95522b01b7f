# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of holdfast for bash. The commands come from the program itself;
# tests/e2e/test_packaging.py compares the other lists with it.

_holdfast_subcommands='
    serve call exec load bench top audit reconcile sync-quotas webhooks journal backup restore auth demo help version
'
_holdfast_serve_flags='
    --config --dir --memory --fsync --bind --resp-port --http-port --engine --auth-file
    --ledger --ledger-inventory --ledger-connections --ledger-timeout --servers --fallback-rate
    --breaker-window --breaker-failures --breaker-open-for --reconcile-every --admission-every
    --quota-sync-at --quota-sync-query --quota-sync-db --quota-sync-missing --quota-sync-margin
    --webhook-url --outgoing-allow --outgoing-ca
    --payment-url --payment-timeout --payment-retries --late-payment --currency --saga-lease
    --tls-cert --tls-key --cors-origin --allowed-hosts --log-level --log-format --audit-log
    --min-free-disk --max-memory --max-connections --threads --sign-in-timeout --max-strangers
    --max-strangers-per-address
    --client-memory --request-timeout --http-idle-timeout --max-body --drain-timeout
    --slow-threshold --check-config
'

# _holdfast_words LIST...: offers what begins as the word at hand does.
_holdfast_words() {
    mapfile -t COMPREPLY < <(compgen -W "$*" -- "$word")
}

_holdfast_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

# The commands of the program that is being completed, as its help lists them.
_holdfast_commands() {
    "${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^    \([A-Z][A-Z.]*\) .*/\1/p'
}

_holdfast_commands_in_any_case() {
    local list
    list=$(_holdfast_commands)
    [[ $word = *[a-z]* ]] && list=${list,,}
    # shellcheck disable=SC2086
    _holdfast_words $list "$@"
}

# The value of the flag before the word.
_holdfast_value() {
    case $1 in
    --config | --auth-file | --audit-log | --outgoing-ca | --tls-cert | --tls-key | --dir) _holdfast_files ;;
    --fsync) _holdfast_words always everysec no ;;
    --late-payment) _holdfast_words rebook refund ;;
    --log-level) _holdfast_words debug info warning error ;;
    --log-format) _holdfast_words text json ;;
    --engine) _holdfast_words embedded ;;
    --load) _holdfast_words reserve refuse cycle ;;
    --bind) _holdfast_words 127.0.0.1 ::1 0.0.0.0 :: ;;
    --resp-port | --http-port | --cors-origin | --allowed-hosts | --m??-* | --client-memory) ;;
    --ledger | --ledger-* | --servers | --fallback-rate | --breaker-* | --reconcile-every | \
        --admission-every) ;;
    --payment-url | --payment-* | --currency | --saga-lease) ;;
    --*-timeout | --slow-threshold | --seconds | --threads | --limit | --from) ;;
    --semaphore | --slots | --lock | --id | --heartbeat | --ttl | --wait | --kill-after) ;;
    --quota-sync-missing) _holdfast_words report zero ;;
    --quota-sync-* | --db | --query) ;;
    --webhook-url | --outgoing-allow | --since | --type | --key) ;;
    --url | --connections | --pipeline | --interval) ;;
    *) return 1 ;;
    esac
}

_holdfast() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        # shellcheck disable=SC2086
        _holdfast_words $_holdfast_subcommands
        return
    fi
    [[ $before = --* ]] && _holdfast_value "$before" && return
    case ${COMP_WORDS[1]} in
    serve)
        # shellcheck disable=SC2086
        _holdfast_words $_holdfast_serve_flags --help
        ;;
    call) _holdfast_commands_in_any_case --url --engine --ledger --json ;;
    reconcile) _holdfast_words --dry-run --url --engine --ledger ;;
    sync-quotas) _holdfast_words --dry-run --url --engine --db --query ;;
    webhooks) _holdfast_words replay --since --type --key --url ;;
    demo) _holdfast_words --serve --resp-port --http-port --stay ;;
    help) _holdfast_commands_in_any_case --markdown ;;
    exec)
        _holdfast_words --semaphore --limit --slots --lock --id --heartbeat --ttl --wait \
            --kill-after --url --engine --
        ;;
    top) _holdfast_words --url --interval --once ;;
    bench)
        _holdfast_words --engine --url --seconds --threads --load --connections --pipeline
        ;;
    auth)
        case $COMP_CWORD in
        3) _holdfast_words read write admin --password --scopes --families --rate --burst ;;
        *) _holdfast_words --password --scopes --families --rate --burst ;;
        esac
        ;;
    journal)
        if [ "$COMP_CWORD" = 2 ]; then
            _holdfast_words verify dump
        elif [[ $word = -* ]]; then
            _holdfast_words --from --json
        else
            _holdfast_files
        fi
        ;;
    load)
        if [[ $word = -* ]]; then
            _holdfast_words --url --engine
        else
            _holdfast_files
        fi
        ;;
    audit)
        if [[ $word = -* ]]; then
            _holdfast_words --ledger
        else
            _holdfast_files
        fi
        ;;
    backup | restore) _holdfast_files ;;
    esac
}

complete -F _holdfast holdfast
