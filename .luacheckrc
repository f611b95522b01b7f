-- SPDX-License-Identifier: Apache-2.0
-- What luacheck has to know of the Lua inside Redis. tools/check-lua runs it on assembled scripts.

-- The globals that scripts may read; Redis has neither files nor modules. A script sets none.
stds.redis = {
    read_globals = {
        'ARGV', 'KEYS', 'assert', 'error', 'ipairs', 'math', 'next', 'pairs', 'pcall', 'redis',
        'select', 'string', 'table', 'tonumber', 'tostring', 'type', 'unpack',
    },
}
std = 'redis'
max_line_length = 100
-- `not (x >= 1)` is true of what is not a number at all, `x < 1` is not.
ignore = {'581'}
