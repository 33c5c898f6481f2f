// What arrived at the shop, held against the delivery log: no request without its row, no row without its
// request, and an event comes again only where the contract retries it or where a kill hit its delivery.

import { equal, ok } from "node:assert/strict";
import { mayGoOn, tell } from "./balance.ts";
import type { AttemptEntry, DeliveryEntry, Ledger } from "./ledger.ts";
import type { Arrival } from "./receiving-shop.ts";

export interface ArrivalCounts {
	/** Events that reached the shop. */
	reached: number;
	/** Sent again after an outcome that the contract retries. */
	retried: number;
	/** Sent again because nobody knew of the first: only around kills. */
	duplicates: number;
}

/** `kills`: by delivery, the engines that had it in hand when a process was killed. */
export function checkArrivals(
	ledger: Ledger,
	arrivals: readonly Arrival[],
	kills: ReadonlyMap<string, ReadonlySet<number>>,
): ArrivalCounts {
	const nonces = new Set(arrivals.map(({ nonce }) => nonce));
	equal(nonces.size, arrivals.length, "no nonce comes twice");
	const arrivalsOf = Map.groupBy(arrivals, ({ key }) => key);
	const counts: ArrivalCounts = { reached: 0, retried: 0, duplicates: 0 };
	const known = new Set(ledger.deliveries.map(({ key }) => key));
	for (const key of arrivalsOf.keys()) ok(known.has(key), `${key} arrived and is owed to nobody`);
	for (const delivery of ledger.deliveries) {
		checkOne(delivery, arrivalsOf.get(delivery.key) ?? [], kills.get(delivery.key)?.size ?? 0, counts);
	}
	return counts;
}

function checkOne(
	delivery: DeliveryEntry,
	arrived: readonly Arrival[],
	killCount: number,
	counts: ArrivalCounts,
): void {
	const { log, queued } = delivery;
	const rowOf = new Map(log.map((entry) => [entry.nonce, entry]));
	checkRows(delivery, arrived);
	// What is under way just now has no row yet.
	const underWay = queued !== null && queued.holder !== null ? 1 : 0;
	const unknown = arrived.filter(({ nonce }) => !rowOf.has(nonce)).length;
	ok(
		unknown <= killCount + underWay,
		`${tell(delivery)}: ${unknown} arrivals are not in its log, and ${killCount} kills hit it`,
	);
	if (arrived.length > 0) counts.reached++;
	for (const [index, before] of arrived.entries()) {
		if (index === arrived.length - 1) break;
		countRepeat(delivery, rowOf.get(before.nonce), counts);
	}
}

/** When every lease has lapsed: a request of which nobody knows how it went is shown as interrupted. */
export function checkExplained(ledger: Ledger, arrivals: readonly Arrival[]): void {
	const arrivalsOf = Map.groupBy(arrivals, ({ key }) => key);
	for (const delivery of ledger.deliveries) {
		const known = new Set(delivery.log.map(({ nonce }) => nonce));
		const unknown = (arrivalsOf.get(delivery.key) ?? []).filter(({ nonce }) => !known.has(nonce)).length;
		const interrupted = delivery.log.filter(({ result }) => result === "interrupted").length;
		ok(
			unknown <= interrupted,
			`${tell(delivery)}: ${unknown} arrivals are not in its log, and ${interrupted} are shown as interrupted`,
		);
	}
}

/** A request that was answered has the row that says so. */
function checkRows(delivery: DeliveryEntry, arrived: readonly Arrival[]): void {
	const arrivalOf = new Map(arrived.map((arrival) => [arrival.nonce, arrival]));
	for (const { result, nonce, httpStatus } of delivery.log) {
		if (result !== "answered") continue;
		const arrival = arrivalOf.get(nonce ?? "");
		ok(arrival !== undefined, `${tell(delivery)}: request ${nonce} is in its log and never arrived`);
		equal(httpStatus, arrival.httpStatus, `${tell(delivery)}: request ${nonce} was answered otherwise`);
	}
}

function countRepeat(delivery: DeliveryEntry, before: AttemptEntry | undefined, counts: ArrivalCounts): void {
	if (before === undefined) counts.duplicates++;
	else {
		ok(mayGoOn(before), `${tell(delivery)}: it came again after ${before.httpStatus}`);
		counts.retried++;
	}
}
