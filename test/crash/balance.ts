// Compares the stored rows with the answers to the shop's server and with the requests that arrived at the
// shop. Throws at the first row that does not agree, and shows its history.

import { deepEqual, equal, ok } from "node:assert/strict";
import { auditDelivery, tellDelivery } from "../support/auditor.ts";
import { auditMoney, type StatementCopies } from "../support/money-auditor.ts";
import type { AnsweredOrder } from "./intake.ts";
import type { ConversionEntry, DeliveryEntry, Ledger } from "./ledger.ts";
import { BASKET_VALUE, REFUNDED } from "./orders.ts";

/** Everything that the round itself observed. */
export interface Witnessed {
	answered: ReadonlyMap<string, AnsweredOrder>;
	/** The ledger at the previous check, or null before the first one. */
	earlier: Ledger | null;
	/** The statements at earlier checks. */
	copies: StatementCopies;
}

/** Event that each move creates (contract section 6). Parking a conversion and confirming it create none. */
const ANNOUNCED_BY: Readonly<Record<string, string>> = {
	record: "conversion.recorded",
	approve: "conversion.approved",
	reject: "conversion.rejected",
	reverse: "conversion.reversed",
};

const NO_MINIMUMS: ReadonlyMap<string, bigint> = new Map();

export function checkBalance(ledger: Ledger, witnessed: Witnessed): void {
	deepEqual(ledger.strays, [], "nothing is stored that breaks a rule or belongs to nothing");
	checkAnswers(ledger, witnessed.answered);
	for (const conversion of ledger.conversions) checkOwed(conversion);
	for (const delivery of ledger.deliveries) {
		auditDelivery(delivery.key, delivery, delivery.log);
	}
	if (witnessed.earlier !== null) checkFinals(witnessed.earlier, ledger);
	auditMoney(ledger.money, NO_MINIMUMS, witnessed.copies);
}

/**
 * Checks the ledger after all services have stopped. `quietAtMs` is the time at which, seen from outside,
 * nothing was due or in flight.
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
	for (const [orderId, { conversionId, status, nextStatus, isRefunded }] of answered) {
		const conversion = stored.get(orderId);
		ok(conversion !== undefined, `order ${orderId} was answered with ${conversionId} and is not stored`);
		equal(conversion.publicId, conversionId, `order ${orderId} has the id that was answered`);
		ok(
			[status, nextStatus].includes(conversion.status),
			`order ${orderId} was answered as ${status} and is stored as ${conversion.status}`,
		);
		const value = isRefunded === true ? REFUNDED.left : BASKET_VALUE;
		ok(
			conversion.basketValue === value || (isRefunded === null && conversion.basketValue === REFUNDED.left),
			`order ${orderId} was answered with the value ${value} and is stored with ${conversion.basketValue}`,
		);
	}
}

/** Throws unless every move that creates an event has exactly one event, and there are no other events. */
function checkOwed({ orderId, moves, events, partnerEvents }: ConversionEntry): void {
	const owed = moves.flatMap((move) => ANNOUNCED_BY[move] ?? []);
	// A repeated report credits the partner. From then on the partner is told of the sale.
	const creditedAt = moves.indexOf("credit");
	const later = creditedAt < 0 ? [] : moves.slice(creditedAt + 1).flatMap((move) => ANNOUNCED_BY[move] ?? []);
	const toldPartner = creditedAt < 0 ? [] : ["conversion.recorded", ...later];
	deepEqual([...partnerEvents].sort(), toldPartner.sort(), `order ${orderId} owes the partner its events`);
	deepEqual([...events].sort(), owed.sort(), `order ${orderId} owes an event for each of its moves`);
	equal(new Set(events).size, events.length, `order ${orderId} has an event twice`);
}

/** Throws unless every final delivery of the earlier ledger still exists and has not changed. */
function checkFinals(earlier: Ledger, ledger: Ledger): void {
	const now = new Map(ledger.deliveries.map((delivery) => [delivery.key, delivery]));
	for (const before of earlier.deliveries) {
		const after = now.get(before.key);
		ok(after !== undefined, `${tell(before)}: it has vanished`);
		if (before.state !== "pending") deepEqual(after, before, `${tell(before)}: it was final and has changed`);
	}
	const storedIds = new Set(ledger.conversions.map(({ publicId }) => publicId));
	for (const { publicId } of earlier.conversions) ok(storedIds.has(publicId), `${publicId} has vanished`);
}

export function tell(delivery: DeliveryEntry): string {
	return tellDelivery(delivery.key, delivery, delivery.log);
}
