# SPDX-License-Identifier: Apache-2.0
"""The TypeScript client's part of the table: a module for each family, and the errors."""

from clients.table import FAMILIES, camel, lower_camel, sentence, wrapped

HEAD = ["// SPDX-License-Identifier: Apache-2.0", "//"]
MADE = "// Made from the command table by `make clients`; do not edit."
TYPES = {"id": "string", "text": "string", "blob": "string | Buffer", "ms": "Duration",
         "count": "number", "amount": "number", "flag": "boolean"}
FIELD_TYPES = {"number": "number", "text": "string", "bytes": "Buffer"}


def files(table):
    made = {"typescript/src/errors.ts": errors(table)}
    for family, commands in table.families():
        made[f"typescript/src/commands/{module(family)}.ts"] = family_module(family, commands)
    made["typescript/src/commands/index.ts"] = index(table)
    return made


def module(family):
    return family.lower() or "general"


def base(command):
    return camel(command.name.lower())


def reply_type(command):
    if command.shape == "number":
        return "number"
    if command.names_only:
        return "Page<string>"
    name = f"{base(command)}{'Item' if command.shape in ('page', 'pairs') else 'Reply'}"
    return {"page": f"Page<{name}>", "pairs": f"{name}[]"}.get(command.shape, name)


def comment(text, indent=""):
    lines = wrapped(text, f"{indent} * ")
    if len(lines) == 1 and len(lines[0]) <= 94:
        return [f"{indent}/** {lines[0].strip()[2:]} */"]
    return [f"{indent}/**", *lines, f"{indent} */"]


def argument_lines(command):
    yield from comment(f"What {command.name} is asked for.")
    yield f"export interface {base(command)}Args {{"
    for a in command.arguments:
        kind = " | ".join(f'"{choice}"' for choice in a.choices) if a.choices else TYPES[a.type]
        yield from comment(sentence(a.meaning), "    ")
        yield f"    {lower_camel(a.name)}{'?' if a.keyword else ''}: {kind};"
    yield "}"


def reply_lines(command):
    kind = "An item of the answer" if command.shape in ("page", "pairs") else "The answer"
    note = f" {sentence(command.note)}" if command.note else ""
    name = reply_type(command).removeprefix("Page<").removesuffix(">").removesuffix("[]")
    yield from comment(f"{kind} to {command.name}.{note}")
    yield f"export interface {name} {{"
    for field, kind in command.fields:
        yield f"    {lower_camel(field)}: {FIELD_TYPES[kind]};"
    yield "}"


def constant_lines(command):
    fields = ", ".join(f'{field}:\0"{kind}"' for field, kind in command.fields)
    lines = wrapped(fields + ",", "        ")
    yield f"const {constant(command)} = new Command<{reply_type(command)}>("
    yield f'    "{command.name}", "{command.shape}",'
    if len(fields) <= 80:
        yield f"    {{ {fields} }},".replace("\0", " ")
    else:
        yield from ["    {", *[line.replace("\0", " ") for line in lines], "    },"]
    codes = {"nil": command.nil, "figures": command.figures}
    if any(codes.values()):
        given = ", ".join(f'{name}: "{code}"' for name, code in codes.items() if code)
        yield f"    {{ {given} }},"
    yield ");"


def constant(command):
    return "_".join(command.words).upper()


def value(a):
    name = f"args.{lower_camel(a.name)}"
    return f"duration({name})" if a.type == "ms" else name


def method_lines(command):
    about = sentence(command.help)
    if command.refusals:
        about += " Throws: " + ", ".join(camel(code.lower()) for code in command.refusals) + "."
    yield from comment(about, "    ")
    optional_only = not command.required
    yield (f"    {command.words[-1]}(args: {base(command)}Args{' = {}' if optional_only else ''}): "
           f"Promise<{reply_type(command)}> {{")
    words = ", ".join(value(a) for a in command.required)
    if len(words) <= 68:
        yield f"        const words: Words = [{words}];"
    else:
        yield from ["        const words: Words = [", *wrapped(f"{words},", " " * 12), "        ];"]
    for a in command.optional:
        if not a.is_wait:
            call = "flag" if a.type == "flag" else "option"
            yield f'        words.push(...{call}("{a.keyword}", {value(a)}));'
    repeats = command.repeats
    again = str(repeats).lower() if isinstance(repeats, bool) else (
        f"args.{lower_camel(repeats.name)} !== undefined")
    wait = ", args.wait" if command.wait else ""
    yield f"        return this.execute({constant(command)}, words, {again}{wait});"
    yield "    }"


def family_module(family, commands):
    body = []
    for command in commands:
        body += ["", *argument_lines(command)]
        if command.shape != "number" and not command.names_only:
            body += ["", *reply_lines(command)]
        body += ["", *constant_lines(command)]
    body += ["", *comment(FAMILIES[family]), f"export class {camel(module(family))} extends Family {{"]
    for number, command in enumerate(commands):
        body += ([""] if number else []) + list(method_lines(command))
    body.append("}")
    text = "\n".join(body)
    names = ["Command", *["Duration"] * (": Duration" in text), "Family",
             *["Page"] * ("Page<" in text), "Words",
             *[name for name in ("duration", "flag", "option") if f"{name}(" in text]]
    names = [f"type {name}" if name in ("Duration", "Page", "Words") else name for name in names]
    imported = f'import {{ {", ".join(names)} }} from "../values.js";'
    if len(imported) > 100:
        listed = wrapped(", ".join(names).replace("type ", "type\0") + ",", "    ")
        imported = "\n".join(["import {", *listed, '} from "../values.js";']).replace("\0", " ")
    head = [*HEAD, f"// {FAMILIES[family]}", MADE, imported]
    return "\n".join(head) + "\n" + text + "\n"


def index(table):
    families = [family for family, _ in table.families()]
    lines = [*HEAD, "// All commands, a module for each family.", MADE]
    lines += [f'import {{ {camel(module(family))} }} from "./{module(family)}.js";' for family in families]
    lines += ["", *[f'export * from "./{module(family)}.js";' for family in families], "",
              *comment("Every command: those of a family as members of it, the others by themselves."),
              f"export abstract class AllCommands extends {camel(module(''))} {{"]
    lines += [f"    readonly {module(family)} = new {camel(module(family))}(this);"
              for family in families if family]
    return "\n".join([*lines, "}"]) + "\n"


ERRORS_HEAD = """//
// What can go wrong, a class for each code of the server.
{made}

/** Anything that is not the answer that was hoped for. */
export class HoldfastError extends Error {{
    /** The server's code. */
    readonly code: string = "";
    /** Milliseconds after which the same may succeed; 0: trying later does not help. */
    readonly retryAfter: number = 0;
    /** The server was busy and did nothing: any command may be repeated. */
    readonly nothingChanged: boolean = false;

    /** The figures are what a refusal told besides: used and limit of a quota. */
    constructor(
        message: string,
        readonly figures: Record<string, unknown> = {{}},
    ) {{
        super(message);
        this.name = new.target.name;
    }}

    get retryable(): boolean {{
        return this.retryAfter > 0;
    }}
}}

/** The command was understood and refused; nothing has changed. */
export class Refused extends HoldfastError {{}}

/** The request or the state of the server is at fault, not the state of what was asked for. */
export class ServerError extends HoldfastError {{}}

/** No server was reached: the command was not sent, and nothing has changed. */
export class Unavailable extends ServerError {{
    override readonly code = "UNAVAILABLE";
    override readonly retryAfter = 1000;
    override readonly nothingChanged = true;
}}

/**
 * The command was sent and its answer is not known: it may have happened. The same with the same id
 * again finds out; the client has tried that already where it is safe.
 */
export class OutcomeUnknown extends ServerError {{
    override readonly code = "OUTCOME_UNKNOWN";
    override readonly retryAfter = 1000;
}}

/** A slot, a lock or a hold is, or may be, no longer ours. */
export class LeaseLost extends HoldfastError {{
    override readonly code = "LEASE_LOST";
}}
"""


def errors(table):
    lines = [HEAD[0], ERRORS_HEAD.format(made=MADE).rstrip("\n")]
    for error in table.errors:
        lines += ["", *comment(sentence(error.text)),
                  f"export class {error.class_name} extends "
                  f"{'Refused' if error.is_refusal else 'ServerError'} {{",
                  f'    override readonly code = "{error.code}";']
        if error.retry_s:
            lines.append(f"    override readonly retryAfter = {error.retry_s * 1000};")
        if error.nothing_changed:
            lines.append("    override readonly nothingChanged = true;")
        lines.append("}")
    lines += ["", "type ErrorClass = new (message: string, figures?: Record<string, unknown>) => "
              "HoldfastError;", "", "/** The class of each code. */",
              "export const byCode: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>(["]
    lines += [f'    ["{error.code}", {error.class_name}],' for error in table.errors]
    return "\n".join([*lines, "]);"]) + "\n"
