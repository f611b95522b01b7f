// SPDX-License-Identifier: Apache-2.0
//
// The client: what a command is carried out by, and when it is repeated.
import { setTimeout as pause } from "node:timers/promises";
import { AllCommands } from "./commands/index.js";
import { Connections, type SocketSettings } from "./connections.js";
import { HoldfastError, Refused } from "./errors.js";
import { type Command, type Duration, milliseconds, type Words } from "./values.js";

const DEFAULT_URL = "holdfast://127.0.0.1:4653";
const BACKOFF_FIRST_MS = 20;
const BACKOFF_MOST_MS = 1000;

export interface ClientOptions {
    /** Milliseconds for an answer, besides what a command itself waits for; 5000 if not given. */
    timeout?: number;
    /** Milliseconds for which a command is repeated where that is safe; 0: never; 10000 if not given. */
    retryFor?: number;
    /** Settings of the socket that are passed on to node-redis, such as `ca`. */
    socket?: SocketSettings;
}

/** A client of one server. */
export class Client extends AllCommands {
    readonly timeout: number;
    readonly retryFor: number;
    private readonly connections: Connections;

    /** Without a URL it is HOLDFAST_URL, or else the server of this machine. */
    constructor(url?: string, options: ClientOptions = {}, connections?: Connections) {
        super();
        this.timeout = options.timeout ?? 5000;
        this.retryFor = options.retryFor ?? 10_000;
        const where = url ?? process.env["HOLDFAST_URL"] ?? DEFAULT_URL;
        this.connections =
            connections ?? new Connections(where, this.timeout, options.socket ?? {});
    }

    /** Closes the connections. Leases that are still held are left to their deadlines. */
    close(): void {
        this.connections.close();
    }

    /** The same client on the same connections, with so many milliseconds for a command in all. */
    within(limit: number): Client {
        return new Client(undefined, { timeout: limit, retryFor: 0 }, this.connections);
    }

    /**
     * The answer, after repeating the command where that is safe: when nothing has changed, any
     * command; when it is not known whether it happened, one that `again` says has an id.
     *
     * @internal
     */
    override async execute<R>(
        command: Command<R>,
        words: Words,
        again: boolean,
        wait?: Duration,
    ): Promise<R> {
        const start = performance.now();
        const waitMs = wait === undefined ? 0 : milliseconds(wait);
        for (let backoff = BACKOFF_FIRST_MS; ; backoff = Math.min(backoff * 2, BACKOFF_MOST_MS)) {
            const left = Math.round(Math.max(0, start + waitMs - performance.now()));
            const all = wait === undefined ? words : [...words, "WAIT", `${left}ms`];
            try {
                const answer = await this.connections.send(
                    command.name, all, this.timeout + left, waitMs > 0,
                );
                return command.read(answer);
            } catch (error) {
                const pauseMs = backoff * (0.5 + Math.random() / 2);
                const spent = performance.now() - start + pauseMs;
                if (!mayRepeat(error, again) || spent > waitMs + this.retryFor) {
                    throw error;
                }
                await pause(pauseMs);
            }
        }
    }
}

function mayRepeat(error: unknown, again: boolean): boolean {
    return (
        error instanceof HoldfastError &&
        (error.nothingChanged || (again && error.retryable && !(error instanceof Refused)))
    );
}
