# SPDX-License-Identifier: Apache-2.0
"""The Python client's part of the table: a module for each family, and the errors."""

import keyword

from clients.table import FAMILIES, camel, sentence, wrapped

MADE = "Made from the command table by `make clients`; do not edit."
TYPES = {"id": "str", "text": "str", "choice": "str", "blob": "bytes", "ms": "Duration",
         "count": "int", "amount": "int", "flag": "bool"}
FIELD_TYPES = {"number": "int", "text": "str", "bytes": "bytes"}


def files(table):
    made = {"python/holdfast/errors.py": errors(table)}
    for family, commands in table.families():
        made[f"python/holdfast/commands/{module(family)}.py"] = family_module(family, commands)
    made["python/holdfast/commands/__init__.py"] = index(table)
    return made


def module(family):
    return family.lower() or "general"


def class_name(family):
    return camel(module(family))


def safe(name):
    return f"{name}_" if keyword.iskeyword(name) else name


def reply_class(command):
    return camel(command.name.lower()) + ("Item" if command.shape in ("page", "pairs") else "Reply")


def has_class(command):
    return command.shape != "number" and not command.names_only


def reply_type(command):
    if command.shape == "number":
        return "int"
    if command.shape == "page":
        return f"Page[{'str' if command.names_only else reply_class(command)}]"
    if command.shape == "pairs":
        return f"Tuple[{reply_class(command)}, ...]"
    return reply_class(command)


def reply_lines(command):
    kind = "An item of the answer" if command.shape in ("page", "pairs") else "The answer"
    yield f"class {reply_class(command)}(NamedTuple):"
    yield from docstring([f"{kind} to {command.name}." + (f" {sentence(command.note)}"
                                                          if command.note else "")], "    ")
    yield ""
    defaults = command.shape in ("fields", "page")  # what is absent is empty, as in holdfast.h
    for i, (name, kind) in enumerate(command.fields):
        empty = {"number": " = 0", "text": ' = ""', "bytes": ' = b""'}[kind]
        optional = defaults or kind == "bytes" or i >= command.certain
        yield f"    {safe(name)}: {FIELD_TYPES[kind]}{empty if optional else ''}"


def docstring(paragraphs, indent):
    text = [line for paragraph in paragraphs for line in wrapped(paragraph, indent, 97)]
    text[0] = text[0].replace(indent, indent + '"""', 1)
    if len(text) == 1 and len(text[0]) <= 97:
        return [text[0] + '"""']
    return [*text, f'{indent}"""']


def signature(command):
    name = safe(command.words[-1])
    parts = ["self", *[f"{safe(a.name)}: {TYPES[a.type]}" for a in command.required]]
    if command.optional:
        parts.append("*")
    for a in command.optional:
        parts.append(f"{safe(a.name)}: bool = False" if a.type == "flag"
                     else f"{safe(a.name)}: Optional[{TYPES[a.type]}] = None")
    parts[-1] += f") -> {reply_type(command)}:"
    head = f"    def {name}("
    whole = head + ", ".join(parts)
    if len(whole) <= 100:
        return [whole]
    # Lines end behind a comma, never within an argument.
    glued = ", ".join(part.replace(" ", "\0") for part in parts)
    return [head, *[line.replace("\0", " ") for line in wrapped(glued, " " * 12)]]


def value(argument):
    name = safe(argument.name)
    return f"duration({name})" if argument.type == "ms" else name


def method_lines(command):
    yield from signature(command)
    about = [sentence(command.help)]
    about += [f"{safe(a.name)}: {a.meaning}" +
              (f" ({', '.join(a.choices)})" if a.choices else "") for a in command.arguments]
    if command.refusals:
        names = ", ".join(camel(code.lower()) for code in command.refusals)
        about.append(f"Raises: {names}")
    doc = docstring(about[:1], " " * 8)
    doc[-1] = doc[-1].removesuffix('"""') if doc[-1].strip() != '"""' else None
    doc = [line for line in doc if line is not None]
    yield from doc
    yield ""
    for line in about[1:]:
        yield from hanging(line)
    yield '        """'
    yield f"        words: Words = [{', '.join(value(a) for a in command.required)}]"
    for a in command.optional:
        if a.is_wait:
            continue
        if a.type == "flag":
            yield f'        words += flag("{a.keyword}", {safe(a.name)})'
        else:
            yield f'        words += option("{a.keyword}", {value(a)})'
    again = repeat(command)
    wait = ", wait=wait" if command.wait else ""
    yield f"        return self._execute({constant(command)}, words, again={again}{wait})"


def hanging(line):
    lines = wrapped(line, " " * 12)
    return [lines[0][4:], *lines[1:]]


def repeat(command):
    repeats = command.repeats
    return repeats if isinstance(repeats, bool) else f"{safe(repeats.name)} is not None"


def constant(command):
    return "_" + command.words[-1].upper()


def command_lines(command):
    reply = "str" if command.names_only else "int" if command.shape == "number" else reply_class(command)
    extra = f', nil="{command.nil}"' if command.nil else ""
    extra += f', figures="{command.figures}"' if command.figures else ""
    kind = f"Command[{reply_type(command)}]"
    line = f'{constant(command)}: {kind} = Command("{command.name}", "{command.shape}", {reply}{extra})'
    if len(line) <= 100:
        return [line]
    return [f"{constant(command)}: {kind} = Command(",
            f'    "{command.name}", "{command.shape}", {reply}{extra})']


def family_module(family, commands):
    lines = ["# SPDX-License-Identifier: Apache-2.0", f'"""{FAMILIES[family]}', "", MADE, '"""', "",
             "from __future__ import annotations", ""]
    uses = "\n".join(line for command in commands for line in method_lines(command))
    classes = [command for command in commands if has_class(command)]
    typing = ["NamedTuple"] * bool(classes)
    typing += [name for name in ("Optional", "Tuple") if f"{name}[" in uses]
    if typing:
        lines += [f"from typing import {', '.join(typing)}", ""]
    names = ["Command", *["Duration"] * ("Duration" in uses), "Family", *["Page"] * ("Page[" in uses),
             "Words", *[name for name in ("duration", "flag", "option") if f"{name}(" in uses]]
    lines += [f"from ..values import {', '.join(names)}"]
    for command in classes:
        lines += ["", "", *reply_lines(command)]
    lines += ["", ""]
    for command in commands:
        lines += command_lines(command)
    lines += ["", "", f"class {class_name(family)}(Family):", f'    """{FAMILIES[family]}"""']
    for command in commands:
        lines += ["", *method_lines(command)]
    return "\n".join(lines) + "\n"


def index(table):
    families = [family for family, _ in table.families()]
    lines = ["# SPDX-License-Identifier: Apache-2.0", '"""All commands, a module for each family.', "",
             MADE, '"""', ""]
    for family in families:
        lines.append(f"from .{module(family)} import {class_name(family)}")
    for family, commands in table.families():
        for command in commands:
            if has_class(command):
                lines.append(f"from .{module(family)} import {reply_class(command)}")
    lines += ["", "", f"class AllCommands({class_name('')}):",
              '    """Every command: those of a family as members of it, the others by themselves."""', "",
              "    def __init__(self) -> None:"]
    lines += [f"        self.{module(family)} = {class_name(family)}(self)" for family in families if family]
    lines += ["", "", "__all__ = [", '    "AllCommands",']
    lines += [f'    "{class_name(family)}",' for family in families]
    lines += [f'    "{reply_class(command)}",' for _, commands in table.families()
              for command in commands if has_class(command)]
    return "\n".join([*lines, "]"]) + "\n"


ERRORS_HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, a class for each code of the server.

{made}
"""

from __future__ import annotations

from typing import Dict, Type


class HoldfastError(Exception):
    """Anything that is not the answer that was hoped for."""

    code = ""
    # Seconds after which the same may succeed; 0: trying later does not help.
    retry_after: float = 0.0
    # The server was busy and did nothing: any command may be repeated.
    nothing_changed = False

    def __init__(self, message: str, **figures: object) -> None:
        super().__init__(message)
        self.message = message
        self.figures = figures  # what a refusal told besides: used and limit of a quota

    @property
    def retryable(self) -> bool:
        return self.retry_after > 0


class Refused(HoldfastError):
    """The command was understood and refused; nothing has changed."""


class ServerError(HoldfastError):
    """The request or the state of the server is at fault, not the state of what was asked for."""


class Unavailable(ServerError):
    """No server was reached: the command was not sent, and nothing has changed."""

    code = "UNAVAILABLE"
    retry_after = 1.0
    nothing_changed = True


class OutcomeUnknown(ServerError):
    """The command was sent and its answer is not known: it may have happened. The same with the
    same id again finds out; the client has tried that already where it is safe.
    """

    code = "OUTCOME_UNKNOWN"
    retry_after = 1.0


class LeaseLost(HoldfastError):
    """A slot, a lock or a hold is, or may be, no longer ours."""

    code = "LEASE_LOST"
'''


def errors(table):
    lines = [ERRORS_HEAD.format(made=MADE).rstrip("\n")]
    for error in table.errors:
        base = "Refused" if error.is_refusal else "ServerError"
        lines += ["", "", f"class {error.class_name}({base}):",
                  *docstring([sentence(error.text)], "    "), "", f'    code = "{error.code}"']
        if error.retry_s:
            lines.append(f"    retry_after = {error.retry_s}.0")
        if error.nothing_changed:
            lines.append("    nothing_changed = True")
    lines += ["", "", "BY_CODE: Dict[str, Type[HoldfastError]] = {"]
    lines += [f'    "{error.code}": {error.class_name},' for error in table.errors]
    return "\n".join([*lines, "}"]) + "\n"
