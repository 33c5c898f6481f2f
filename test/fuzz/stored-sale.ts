// Checks that a stored conversion is exactly what the shop sent, without using the service's own parsing
// code.

import { equal, ok } from "node:assert/strict";
import { type JsonField, SALE_FIELDS } from "./any-json.ts";
import type { FuzzService } from "./fuzz-service.ts";

/** Checks the stored conversion of `sent`, which was just accepted as new. */
export async function checkStoredSale(service: FuzzService, sent: readonly JsonField[]): Promise<void> {
	for (const [name] of sent) {
		const isKept = SALE_FIELDS.some((field) => field === name);
		ok(isKept, `${name} was taken, and nothing of it is kept`);
	}
	const fields = new Map(sent);
	equal(fields.size, sent.length, "a name that is there twice was taken");
	const row = await service.deps.store.db
		.selectFrom("conversions")
		.selectAll()
		.orderBy("id", "desc")
		.limit(1)
		.executeTakeFirstOrThrow();
	equal(row.order_id, fields.get("orderId"));
	equal(row.event_type, fields.get("eventType") ?? "SALE");
	equal(row.test === 1, fields.get("test") ?? false);
	equal(row.currency, fields.get("currency") ?? service.programme.currency);
	const basketValue = fields.get("basketValue");
	ok(typeof basketValue === "string", "an amount is a string");
	checkAmount(row.basket_value, basketValue);
	const occurredAt = fields.get("occurredAt");
	if (occurredAt === undefined) equal(row.occurred_at_ms, service.nowMs());
	else equal(row.occurred_at_ms, Temporal.Instant.from(String(occurredAt)).epochMilliseconds);
}

/**
 * Checks an amount in a currency with two decimals. It must have the same value as the amount that was sent,
 * in canonical form.
 */
export function checkAmount(stored: string, sent: string): void {
	equal(cents(stored), cents(sent));
	ok(/^(?:0|[1-9]\d*)\.\d\d$/.test(stored), stored);
}

function cents(amount: string): bigint {
	const [whole = "", decimals = ""] = amount.split(".");
	return BigInt(whole) * 100n + BigInt(decimals.padEnd(2, "0"));
}
