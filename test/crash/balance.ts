// Compares the stored rows with the answers to the shop's server and with the arrivals at the shop. Throws at the
// first row that does not agree, with its history.

import { deepEqual, equal, ok } from "node:assert/strict";
import { auditDelivery, tellDelivery } from "../support/auditor.ts";
import type { AnsweredOrder } from "./intake.ts";
import type { ConversionEntry, DeliveryEntry, Ledger } from "./ledger.ts";

/** Observations of the round itself. */
export interface Witnessed {
	answered: ReadonlyMap<string, AnsweredOrder>;
	/** The ledger at the previous look. */
	earlier: Ledger | null;
}

/** Events of each move (contract section 6). A parked conversion and its confirmation create none. */
const ANNOUNCED_BY: Readonly<Record<string, string>> = {
	record: "conversion.recorded",
	approve: "conversion.approved",
	reject: "conversion.rejected",
	reverse: "conversion.reversed",
};

export function checkBalance(ledger: Ledger, witnessed: Witnessed): void {
	deepEqual(ledger.strays, [], "nothing is stored that breaks a rule or belongs to nothing");
	checkAnswers(ledger, witnessed.answered);
	for (const conversion of ledger.conversions) checkOwed(conversion);
	for (const delivery of ledger.deliveries) {
		auditDelivery(delivery.key, delivery, delivery.log);
	}
	if (witnessed.earlier !== null) checkFinals(witnessed.earlier, ledger);
}

/**
 * Checks the ledger after all services have stopped. `quietAtMs` is the time at which nothing was due or in flight,
 * as seen from outside.
 */
export function checkEnd(ledger: Ledger, witnessed: Witnessed, quietAtMs: number): void {
	checkBalance(ledger, witnessed);
	equal(ledger.conversions.length, witnessed.answered.size, "stored is what was answered, and nothing else");
	for (const delivery of ledger.deliveries) {
		const { queued } = delivery;
		if (queued === null) continue;
		ok(queued.due_at_ms > quietAtMs, `${tell(delivery)}: it is due and was not sent`);
		ok(queued.counted > 0, `${tell(delivery)}: it waits, and nothing was tried`);
	}
}

function checkAnswers(ledger: Ledger, answered: ReadonlyMap<string, AnsweredOrder>): void {
	const stored = new Map(ledger.conversions.map((conversion) => [conversion.orderId, conversion]));
	equal(stored.size, ledger.conversions.length, "one conversion for each order");
	for (const [orderId, { conversionId, status, nextStatus }] of answered) {
		const conversion = stored.get(orderId);
		ok(conversion !== undefined, `order ${orderId} was answered with ${conversionId} and is not stored`);
		equal(conversion.publicId, conversionId, `order ${orderId} has the id that was answered`);
		ok(
			[status, nextStatus].includes(conversion.status),
			`order ${orderId} was answered as ${status} and is stored as ${conversion.status}`,
		);
	}
}

/** Demands exactly one event for every move that creates one, and no other events. */
function checkOwed({ orderId, moves, events }: ConversionEntry): void {
	const owed = moves.flatMap((move) => ANNOUNCED_BY[move] ?? []);
	deepEqual([...events].sort(), owed.sort(), `order ${orderId} owes an event for each of its moves`);
	equal(new Set(events).size, events.length, `order ${orderId} has an event twice`);
}

/** Demands that a final delivery still exists and has not changed. */
function checkFinals(earlier: Ledger, ledger: Ledger): void {
	const now = new Map(ledger.deliveries.map((delivery) => [delivery.key, delivery]));
	for (const before of earlier.deliveries) {
		const after = now.get(before.key);
		ok(after !== undefined, `${tell(before)}: it has vanished`);
		if (before.state !== "pending") deepEqual(after, before, `${tell(before)}: it was final and has changed`);
	}
	const kept = new Set(ledger.conversions.map(({ publicId }) => publicId));
	for (const { publicId } of earlier.conversions) ok(kept.has(publicId), `${publicId} has vanished`);
}

export function tell(delivery: DeliveryEntry): string {
	return tellDelivery(delivery.key, delivery, delivery.log);
}
