# SPDX-License-Identifier: Apache-2.0
"""Does a value fit a schema of an OpenAPI document? As much of the language as ours uses."""

import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
TOLD_ONLY = {"format", "default", "description", "nullable"}


def size(text):
    return len(text.encode())


# Each word of a schema that says something: does the value fit it?
WORDS = {
    "type": lambda given, value: isinstance(value, TYPES[given])
    and isinstance(value, bool) == (given == "boolean"),
    "enum": lambda given, value: value in given,
    "minimum": lambda given, value: value >= given,
    "maximum": lambda given, value: value <= given,
    "minLength": lambda given, value: size(value) >= given,
    "maxLength": lambda given, value: size(value) <= given,
    "pattern": lambda given, value: re.search(given, value) is not None,
    "required": lambda given, value: set(given) <= set(value),
    "oneOf": lambda given, value: sum(fits(one, value) for one in given) == 1,
    "additionalProperties": lambda given, value: given is False,  # what we hold all objects to
}


def check(schema, value, where="the value"):
    """Fails, and says where, if the value does not fit."""
    if value is None and schema.get("nullable"):
        return
    for word, given in schema.items():
        if word == "properties":
            assert set(value) <= set(given), f"{where}: unknown members in {value!r}"
            for name, inner in value.items():
                check(given[name], inner, f"{where}.{name}")
        elif word == "items":
            for item in value:
                check(given, item, f"{where}[]")
        elif word not in TOLD_ONLY:
            assert WORDS[word](given, value), f"{where}: {value!r} does not fit {word} {given!r}"


def fits(schema, value):
    try:
        check(schema, value)
    except AssertionError:
        return False
    return True
