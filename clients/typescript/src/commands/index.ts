// SPDX-License-Identifier: Apache-2.0
//
// All commands, a module for each family.
// Made from the command table by `make clients`; do not edit.
import { Seats } from "./seats.js";
import { Quota } from "./quota.js";
import { Sem } from "./sem.js";
import { Lock } from "./lock.js";
import { Stock } from "./stock.js";
import { Saga } from "./saga.js";
import { Webhooks } from "./webhooks.js";
import { Room } from "./room.js";
import { Idem } from "./idem.js";
import { General } from "./general.js";

export * from "./seats.js";
export * from "./quota.js";
export * from "./sem.js";
export * from "./lock.js";
export * from "./stock.js";
export * from "./saga.js";
export * from "./webhooks.js";
export * from "./room.js";
export * from "./idem.js";
export * from "./general.js";

/** Every command: those of a family as members of it, the others by themselves. */
export abstract class AllCommands extends General {
    readonly seats = new Seats(this);
    readonly quota = new Quota(this);
    readonly sem = new Sem(this);
    readonly lock = new Lock(this);
    readonly stock = new Stock(this);
    readonly saga = new Saga(this);
    readonly webhooks = new Webhooks(this);
    readonly room = new Room(this);
    readonly idem = new Idem(this);
}
