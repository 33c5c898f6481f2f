// What arrived at the shop, held against the delivery log: no request without its row, no row without its request, and
// an event comes again only where the contract retries it, or where it was in flight or not yet stored when the process
// that had sent it was killed.

import { equal, ok } from "node:assert/strict";
import { mayGoOn } from "../support/auditor.ts";
import { tell } from "./balance.ts";
import type { DeliveryEntry, Ledger } from "./ledger.ts";
import type { Arrival } from "./receiving-shop.ts";

export interface ArrivalCounts {
	/** Events that reached the shop. */
	reached: number;
	/** Sent again after an outcome that the contract retries. */
	retried: number;
	/** Sent again because nobody knew of the first: only around kills. */
	duplicates: number;
}

/** A process was killed, or several at once. */
export interface Kill {
	/** By the monotonic clock, when they were dead for sure and nobody had taken over. */
	atMs: number;
	/** The deliveries that were due in their slots: what may have been in flight, or not yet stored. */
	keys: ReadonlySet<string>;
}

export function checkArrivals(
	ledger: Ledger,
	arrivals: readonly Arrival[],
	kills: readonly Kill[],
): ArrivalCounts {
	const nonces = new Set(arrivals.map(({ nonce }) => nonce));
	equal(nonces.size, arrivals.length, "no nonce comes twice");
	const arrivalsOf = Map.groupBy(arrivals, ({ key }) => key);
	const counts: ArrivalCounts = { reached: 0, retried: 0, duplicates: 0 };
	const known = new Set(ledger.deliveries.map(({ key }) => key));
	for (const key of arrivalsOf.keys()) ok(known.has(key), `${key} arrived and is owed to nobody`);
	for (const delivery of ledger.deliveries) {
		const arrived = arrivalsOf.get(delivery.key) ?? [];
		const rowOf = new Map(delivery.log.map((entry) => [entry.nonce, entry]));
		checkRows(delivery, arrived);
		checkUnknown(
			delivery,
			arrived.filter(({ nonce }) => !rowOf.has(nonce)),
			kills,
		);
		if (arrived.length > 0) counts.reached++;
		for (const before of arrived.slice(0, -1)) countRepeat(delivery, rowOf.get(before.nonce), counts);
	}
	return counts;
}

/** A request that was answered has the row that says so. */
function checkRows(delivery: DeliveryEntry, arrived: readonly Arrival[]): void {
	const arrivalOf = new Map(arrived.map((arrival) => [arrival.nonce, arrival]));
	for (const { result, nonce, http_status } of delivery.log) {
		if (result !== "answered") continue;
		const arrival = arrivalOf.get(nonce ?? "");
		ok(arrival !== undefined, `${tell(delivery)}: request ${nonce} is in its log and never arrived`);
		equal(http_status, arrival.httpStatus, `${tell(delivery)}: request ${nonce} was answered otherwise`);
	}
}

/** Each request that is not in the log has a kill of its own behind it, of the engine that alone may have sent it. */
function checkUnknown(delivery: DeliveryEntry, unknown: readonly Arrival[], kills: readonly Kill[]): void {
	const left = kills.filter(({ keys }) => keys.has(delivery.key));
	const hits = left.length;
	for (const { atMs } of unknown) {
		const kill = left.findIndex((candidate) => atMs <= candidate.atMs);
		ok(
			kill >= 0,
			`${tell(delivery)}: ${unknown.length} arrivals are not in its log, and ${hits} kills hit it, not all behind them`,
		);
		left.splice(kill, 1);
	}
}

function countRepeat(
	delivery: DeliveryEntry,
	before: DeliveryEntry["log"][number] | undefined,
	counts: ArrivalCounts,
): void {
	if (before === undefined) counts.duplicates++;
	else {
		ok(mayGoOn(before), `${tell(delivery)}: it came again after ${before.http_status}`);
		counts.retried++;
	}
}
