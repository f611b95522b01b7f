# SPDX-License-Identifier: Apache-2.0
"""The Go client's part of the table: a file for each family, and the errors."""

import subprocess

from clients.table import FAMILIES, sentence, wrapped

HEAD = "// SPDX-License-Identifier: Apache-2.0\n//"
MADE = "// Made from the command table by `make clients`; do not edit."
TYPES = {"id": "string", "text": "string", "choice": "string", "blob": "[]byte",
         "ms": "time.Duration", "count": "int64", "amount": "int64", "flag": "bool"}
FIELD_TYPES = {"number": "int64", "text": "string", "bytes": "[]byte"}
KINDS = {"number": "number", "text": "text", "bytes": "blob"}
# Words that Go writes in capitals.
INITIALS = {"Id": "ID", "Ttl": "TTL"}


def files(table):
    made = {"go/errors.go": errors(table)}
    for family, commands in table.families():
        made[f"go/{module(family)}_commands.go"] = family_file(family, commands)
    return {name: formatted(text) for name, text in made.items()}


def formatted(text):
    return subprocess.run(["gofmt"], input=text, check=True, stdout=subprocess.PIPE, text=True).stdout


def module(family):
    return family.lower() or "general"


def exported(words):
    return "".join(INITIALS.get(part.capitalize(), part.capitalize())
                   for part in words.replace(".", "_").split("_"))


def base(command):
    return exported(command.name.lower())


def reply_struct(command):
    return f"{base(command)}{'Item' if command.shape in ('page', 'pairs') else 'Reply'}"


def reply_type(command):
    if command.shape == "number":
        return "int64"
    if command.names_only:
        return "Page[string]"
    name = reply_struct(command)
    return {"page": f"Page[{name}]", "pairs": f"[]{name}"}.get(command.shape, name)


def argument_type(a):
    return "*int64" if a.zero_counts and a.is_number else TYPES[a.type]


def struct_lines(command):
    yield f"// {base(command)} is what {command.name} is asked for. What is zero and optional is not sent."
    yield f"type {base(command)} struct {{"
    for a in command.arguments:
        choices = f": {', '.join(a.choices)}" if a.choices else ""
        optional = " Optional." if a.keyword else ""
        yield from wrapped(sentence(a.meaning + choices) + optional, "\t// ", 96)
        yield f"\t{exported(a.name)} {argument_type(a)}"
    yield "}"


def reply_lines(command):
    kind = "an item of the answer" if command.shape in ("page", "pairs") else "the answer"
    note = f" {sentence(command.note)}" if command.note else ""
    yield from wrapped(f"{reply_struct(command)} is {kind} to {command.name}.{note}", "// ")
    yield f"type {reply_struct(command)} struct {{"
    for name, kind in command.fields:
        yield f"\t{exported(name)} {FIELD_TYPES[kind]}"
    yield "}"


def word(a):
    name = f"ask.{exported(a.name)}"
    if a.type == "ms":
        return f"milliseconds({name})"
    return f"number({name})" if a.is_number else f"string({name})" if a.type == "blob" else name


def option_line(a):
    name, key = f"ask.{exported(a.name)}", f'"{a.keyword}"'
    if a.type == "flag":
        return f"\twords = flag(words, {key}, {name})"
    if a.zero_counts and a.is_number:
        return f"\tif {name} != nil {{\nwords = append(words, {key}, number(*{name}))\n}}"
    if a.type == "ms":
        return f"\tif {name} != 0 {{\nwords = append(words, {key}, milliseconds({name}))\n}}"
    if a.is_number:
        return f"\tif {name} != 0 {{\nwords = append(words, {key}, number({name}))\n}}"
    return f'\tif {name} != "" {{\nwords = append(words, {key}, {name})\n}}'


def method_lines(command):
    about = f"{base(command)} carries out {command.name}: {command.help[:1].lower()}{command.help[1:]}."
    if command.refusals:
        about += f" Refusals: {', '.join('Err' + exported(code.lower()) for code in command.refusals)}."
    yield from wrapped(about, "// ")
    yield (f"func (c *Client) {base(command)}(ctx context.Context, ask {base(command)}) "
           f"({reply_type(command)}, error) {{")
    yield f"\twords := []string{{{', '.join(word(a) for a in command.required)}}}"
    for a in command.optional:
        if not a.is_wait:
            yield option_line(a)
    repeats = command.repeats
    again = str(repeats).lower() if isinstance(repeats, bool) else f'ask.{exported(repeats.name)} != ""'
    wait = "ask.Wait" if command.wait else "noWait"
    yield f"\tvar reply {reply_type(command)}"
    yield f"\terr := c.execute(ctx, &{constant(command)}, words, {again}, {wait}, func(a answer) error {{"
    yield from reader_lines(command)
    yield "\t})"
    yield "\treturn reply, err"
    yield "}"


def reader_lines(command):
    if command.shape == "number":
        yield "\t\treturn a.number(&reply)"
    elif command.names_only:
        yield "\t\treturn readNames(a, &reply)"
    elif command.shape == "page":
        yield (f"\t\treturn readPage(a, &reply, func(item *{reply_struct(command)}) fields "
               f"{{ return {fields(command, 'item')} }})")
    elif command.shape == "pairs":
        yield (f"\t\treturn readPairs(a, &reply, func(item *{reply_struct(command)}) fields "
               f"{{ return {fields(command, 'item')} }})")
    else:
        yield f"\t\treturn a.read({fields(command, 'reply')})"


def fields(command, where):
    listed = ", ".join(f'{{"{name}", &{where}.{exported(name)}}}' for name, _ in command.fields)
    lines = wrapped(listed.replace('", &', '",\0&') + ",", "\t\t\t", 96)
    return "fields{\n" + "\n".join(lines).replace("\0", " ") + "\n\t\t}"


def constant(command):
    first, *rest = command.words
    return f"{first}{''.join(part.capitalize() for part in rest)}Command"


def command_lines(command):
    return [f'var {constant(command)} = command{{"{command.name}", "{command.shape}", '
            f'"{command.nil or ""}", "{command.figures or ""}"}}']


def family_file(family, commands):
    body = []
    for command in commands:
        body += ["", *struct_lines(command)]
        if command.shape != "number" and not command.names_only:
            body += ["", *reply_lines(command)]
        body += ["", *command_lines(command), "", *method_lines(command)]
    text = "\n".join(body)
    imports = ['"context"', *['"time"'] * ("time.Duration" in text)]
    head = [HEAD, f"// {FAMILIES[family]}", MADE, "", "package holdfast", "", "import (", *imports, ")"]
    return "\n".join(head) + "\n" + text + "\n"


def errors(table):
    lines = [HEAD, "// The errors of the server, by their codes.", MADE, "", "package holdfast", "",
             'import "time"', "",
             "// What errors.Is(err, …) tells apart; errors.As(err, &holdfastError) gives the message.",
             "var ("]
    for error in table.errors:
        lines += wrapped(f"Err{exported(error.code.lower())}: {error.text}.", "\t// ")
        lines.append(f'\tErr{exported(error.code.lower())} = &Error{{Code: "{error.code}"}}')
    lines += [")", "", "// What is known of each code: whether it is a refusal, when to try again, whether "
              "nothing was done.", "var codes = map[string]codeFacts{"]
    for error in table.errors:
        after = f"{error.retry_s} * time.Second" if error.retry_s else "0"
        lines.append(f'\t"{error.code}": {{{str(error.is_refusal).lower()}, {after}, '
                     f"{str(error.nothing_changed).lower()}}},")
    return "\n".join([*lines, "}"]) + "\n"
