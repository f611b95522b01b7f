// SPDX-License-Identifier: Apache-2.0
//
// Connections by node-redis. Commands share one, on which they are pipelined; one that waits in line
// has a connection to itself, for the server answers nothing else on it meanwhile.
import { createClient, ErrorReply, RESP_TYPES } from "redis";
import { byCode, type HoldfastError, OutcomeUnknown, Unavailable } from "./errors.js";
import { type Answer, errorOf, type Words } from "./values.js";

const DEFAULT_PORT = 4653;
const IDLE_MOST = 8; // connections of waiting commands that are kept for the next

// What Redis calls by another name.
const REDIS_NAMES: Record<string, string> = { NOAUTH: "UNAUTHORIZED", NOPERM: "FORBIDDEN" };

// Before a command is sent, node-redis has these.
const NOT_SENT = new Set(["ClientOfflineError", "ClientClosedError"]);

type Link = ReturnType<typeof createClient>;

/** Settings of the socket that node-redis passes on, such as `ca`. */
export type SocketSettings = Record<string, unknown>;

export class Connections {
    private shared: Promise<Link> | undefined;
    private readonly idle: Link[] = [];
    private readonly links = new Set<Link>();
    private readonly settings: Parameters<typeof createClient>[0];

    constructor(url: string, timeout: number, socket: SocketSettings) {
        this.settings = { ...settingsOf(url, timeout, socket), RESP: 2, disableOfflineQueue: true };
    }

    /** Sends a command once and gives its answer. */
    async send(name: string, words: Words, timeout: number, waits: boolean): Promise<Answer> {
        const link = await this.take(waits);
        const args = [name, ...words.map((word) => (typeof word === "number" ? `${word}` : word))];
        const options = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
        let timer: NodeJS.Timeout | undefined;
        try {
            const late = new Promise<never>((_, reject) => {
                timer = setTimeout(() => {
                    this.drop(link); // an answer that comes later is nobody's
                    reject(new OutcomeUnknown(`no answer within ${timeout} ms`));
                }, timeout);
            });
            const answer = await Promise.race([link.sendCommand<Answer>(args, options), late]);
            if (waits && this.idle.length < IDLE_MOST && link.isReady) {
                this.idle.push(link);
            } else if (waits) {
                this.drop(link);
            }
            return answer;
        } catch (error) {
            if (waits || !(error instanceof ErrorReply)) {
                this.drop(link);
            }
            throw translated(error, OutcomeUnknown);
        } finally {
            clearTimeout(timer);
        }
    }

    close(): void {
        for (const link of this.links) {
            this.drop(link);
        }
    }

    private async take(waits: boolean): Promise<Link> {
        try {
            if (!waits) {
                this.shared ??= this.connect();
                const link = await this.shared;
                if (link.isReady) {
                    return link;
                }
                this.shared = this.connect();
                return await this.shared;
            }
            for (let link = this.idle.pop(); link !== undefined; link = this.idle.pop()) {
                if (link.isReady) {
                    return link;
                }
            }
            return await this.connect();
        } catch (error) {
            if (!waits) {
                this.shared = undefined;
            }
            throw translated(error, Unavailable);
        }
    }

    private async connect(): Promise<Link> {
        const link = createClient(this.settings);
        this.links.add(link);
        link.on("error", () => this.drop(link)); // the command that was in flight has the reason
        try {
            await link.connect();
        } catch (error) {
            this.drop(link);
            throw error;
        }
        return link;
    }

    private drop(link: Link): void {
        this.links.delete(link);
        if (link.isOpen) {
            link.destroy();
        }
    }
}

/** An error of node-redis as one of ours. */
function translated(error: unknown, otherwise: new (text: string) => HoldfastError): Error {
    if (!(error instanceof Error) || error instanceof OutcomeUnknown) {
        return error as Error;
    }
    if (!(error instanceof ErrorReply)) {
        const kind = NOT_SENT.has(error.constructor.name) ? Unavailable : otherwise;
        return new kind(error.message || error.constructor.name);
    }
    const [, word = "", message = ""] = /^(\S+) ?([^]*)$/.exec(error.message) ?? [];
    const code = REDIS_NAMES[word] ?? word;
    if (code === "TIMEOUT") {
        return new OutcomeUnknown(message); // of the engine or the ledger: it may have happened
    }
    return byCode.has(code) ? errorOf(code, message) : errorOf("ERR", error.message);
}

/** holdfast://token@host:port and the like, as node-redis takes it. */
function settingsOf(
    url: string,
    timeout: number,
    socket: SocketSettings,
): Parameters<typeof createClient>[0] {
    const [, scheme, rest = ""] = /^(holdfast|holdfast\+tls):\/\/(.+)$/.exec(url) ?? [];
    if (scheme === undefined) {
        throw new TypeError(
            "a server's URL is holdfast://[user:password@|token@]host[:port], or holdfast+tls://",
        );
    }
    const parts = new URL(`http://${rest}`);
    const [user, password] = [parts.username, parts.password].map(decodeURIComponent);
    return {
        ...(password ? { username: user || "default", password } : user ? { password: user } : {}),
        socket: {
            host: parts.hostname.replace(/^\[|\]$/g, ""),
            port: Number(parts.port || DEFAULT_PORT),
            connectTimeout: timeout,
            reconnectStrategy: false,
            ...(scheme === "holdfast+tls" ? { tls: true } : {}),
            ...socket,
        } as NonNullable<NonNullable<Parameters<typeof createClient>[0]>["socket"]>,
    };
}
