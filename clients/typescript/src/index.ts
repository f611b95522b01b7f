// SPDX-License-Identifier: Apache-2.0
//
// A typed client of Holdfast, which hands out scarce things under heavy concurrency.
export { Client, type ClientOptions } from "./client.js";
export * from "./commands/index.js";
export * from "./errors.js";
export { HeldLock, Lease, QuotaHold, SeatHold, Slot, StockHold } from "./leases.js";
export { type Duration, every, type Page } from "./values.js";
