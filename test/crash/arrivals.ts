// Compares the requests that arrived at the shop with the delivery log. Every request must have its row and
// every row its request. An event may be sent again only if the contract retries it, or if it was in flight
// or not yet stored when its process was killed.

import { equal, ok } from "node:assert/strict";
import { mayGoOn } from "../support/auditor.ts";
import { tell } from "./balance.ts";
import type { DeliveryEntry, Ledger } from "./ledger.ts";
import type { Arrival } from "./receiving-shop.ts";

export interface ArrivalCounts {
	/** Number of events that reached the shop. */
	reached: number;
	/** Number of events that were sent again after an outcome that the contract retries. */
	retried: number;
	/**
	 * Number of events that were sent again because the first result was lost. This happens only around kills.
	 */
	duplicates: number;
}

/** One or more processes that were killed together. */
export interface Kill {
	/** Monotonic time at which the processes were certainly dead and no other process had taken over. */
	atMs: number;
	/**
	 * Deliveries that were due in the slots of the killed processes. Their requests may have been in flight or
	 * not yet stored.
	 */
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
	const storedKeys = new Set(ledger.deliveries.map(({ key }) => key));
	for (const key of arrivalsOf.keys()) ok(storedKeys.has(key), `${key} arrived and is owed to nobody`);
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

/** Throws unless every answered request has a row with that answer. */
function checkRows(delivery: DeliveryEntry, arrived: readonly Arrival[]): void {
	const arrivalOf = new Map(arrived.map((arrival) => [arrival.nonce, arrival]));
	for (const { result, nonce, http_status } of delivery.log) {
		if (result !== "answered") continue;
		const arrival = arrivalOf.get(nonce ?? "");
		ok(arrival !== undefined, `${tell(delivery)}: request ${nonce} is in its log and never arrived`);
		equal(http_status, arrival.httpStatus, `${tell(delivery)}: request ${nonce} was answered otherwise`);
	}
}

/**
 * Throws unless each request without a row is explained by a kill of the only engine that may have sent it.
 */
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
