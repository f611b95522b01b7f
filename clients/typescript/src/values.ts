// SPDX-License-Identifier: Apache-2.0
//
// Between the values of a program and the words of the protocol: arguments, and replies by their
// shape.
import { byCode, type HoldfastError, ServerError } from "./errors.js";

/** Milliseconds, or a text with a unit as the server takes it: "1500ms", "30s", "10m", "2h". */
export type Duration = number | string;

/** The words of a command behind its name. */
export type Words = (string | number | Buffer)[];

/** A page of a list. Only an empty cursor says that it was the last. */
export interface Page<T> {
    cursor: string;
    items: T[];
}

/** An answer as it is on the wire. */
export type Answer = number | string | Buffer | null | Answer[];

type Shape = "lead" | "list" | "number" | "fields" | "pairs" | "page";
type Kind = "number" | "text" | "bytes";

const UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** How many milliseconds a duration has. */
export function milliseconds(value: Duration): number {
    if (typeof value === "number") {
        return value;
    }
    const [, number, unit] = /^(\d+)(ms|s|m|h)?$/.exec(value) ?? [];
    if (number === undefined) {
        throw new RangeError(`"${value}" is no duration: milliseconds, or "1500ms", "30s", "10m"`);
    }
    return Number(number) * (UNITS_MS[unit ?? "s"] ?? 1000);
}

/** A duration as the server takes it. */
export function duration(value: Duration): string;
export function duration(value: Duration | undefined): string | undefined;
export function duration(value: Duration | undefined): string | undefined {
    return typeof value === "number" ? `${Math.round(value)}ms` : value;
}

export function option(keyword: string, value: string | number | Buffer | undefined): Words {
    return value === undefined ? [] : [keyword, value];
}

export function flag(keyword: string, value: boolean | undefined): Words {
    return value ? [keyword] : [];
}

/**
 * All items of a list, page by page:
 *
 *     for await (const booking of every((after) => client.seats.list({ event: "gala", after })))
 */
export async function* every<T>(
    call: (after: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<T> {
    let cursor: string | undefined;
    while (cursor !== "") {
        const page: Page<T> = await call(cursor);
        yield* page.items;
        cursor = page.cursor;
    }
}

/** A family of commands; they are carried out by the client it belongs to. */
export class Family {
    constructor(private readonly owner?: Family) {}

    /** @internal */
    execute<R>(command: Command<R>, words: Words, again: boolean, wait?: Duration): Promise<R> {
        if (this.owner === undefined) {
            throw new Error("a family without a client");
        }
        return this.owner.execute(command, words, again, wait);
    }
}

/** One command: its name, and how its reply is read. */
export class Command<R> {
    private readonly names: string[];

    constructor(
        readonly name: string,
        private readonly shape: Shape,
        private readonly fields: Record<string, Kind>,
        /** The codes that nil, and figures behind a 0 or less, stand for. */
        private readonly codes: { nil?: string; figures?: string } = {},
    ) {
        this.names = Object.keys(fields);
    }

    /** The typed reply to an answer on the wire; throws the error that it stands for. */
    read(answer: Answer): R {
        if (answer === null && this.codes.nil !== undefined) {
            throw errorOf(this.codes.nil, `${this.name}: ${this.codes.nil}`);
        }
        throwRefusal(answer);
        return this.shaped(answer) as R;
    }

    private shaped(answer: Answer): unknown {
        if (this.shape === "number") {
            return Number(answer);
        }
        const list = answer as Answer[];
        switch (this.shape) {
            case "lead":
                return this.led(list);
            case "list":
                return this.values(list);
            case "fields":
                return this.named(list);
            case "pairs":
                return list.flatMap((_, i) => (i % 2 ? [] : [this.values(list.slice(i, i + 2))]));
            case "page":
                return { cursor: text(list[0]), items: list.slice(1).map((one) => this.item(one)) };
        }
    }

    private led(list: Answer[]): unknown {
        const values = this.values(list.slice(1));
        if ((list[0] as number) <= 0) {
            const code = this.codes.figures ?? "INTERNAL";
            throw errorOf(code, `${this.name}: ${code}`, values);
        }
        return values;
    }

    private item(answer: Answer): unknown {
        return Array.isArray(answer) ? this.named(answer) : text(answer);
    }

    private values(list: Answer[]): Record<string, unknown> {
        const found = new Map(this.names.map((name, i) => [name, list[i]] as const));
        return this.filled(found);
    }

    /** Names and values in turn; a newer server may tell more than is known here. */
    private named(list: Answer[]): Record<string, unknown> {
        const found = new Map<string, Answer | undefined>();
        for (let i = 0; i + 1 < list.length; i += 2) {
            found.set(text(list[i]), list[i + 1]);
        }
        return this.filled(found);
    }

    /** All fields; one that is absent is empty. */
    private filled(found: Map<string, Answer | undefined>): Record<string, unknown> {
        const entries = Object.entries(this.fields).map(([name, kind]) => [
            camel(name), convert(found.get(name), kind),
        ]);
        return Object.fromEntries(entries);
    }
}

function camel(name: string): string {
    return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function text(value: Answer | undefined): string {
    return value === undefined || value === null ? "" : value.toString();
}

function convert(value: Answer | undefined, kind: Kind): number | string | Buffer {
    if (kind === "number") {
        return Number(value ?? 0);
    }
    return kind === "text" ? text(value) : Buffer.from((value as Buffer | undefined) ?? "");
}

/** [0, CODE, message] is a refusal, whatever the shape of the answer would have been. */
function throwRefusal(answer: Answer): void {
    if (Array.isArray(answer) && answer.length === 3 && answer[0] === 0 && byCode.has(text(answer[1]))) {
        throw errorOf(text(answer[1]), text(answer[2]));
    }
}

/** The error of a code. One of a newer server that is not known here is a plain ServerError. */
export function errorOf(
    code: string,
    message: string,
    figures: Record<string, unknown> = {},
): HoldfastError {
    const kind = byCode.get(code);
    return kind ? new kind(message, figures) : new ServerError(`${code} ${message}`, figures);
}
