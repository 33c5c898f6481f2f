// Checks that every receiver must pass, whatever it is built with. They send real requests and expect the
// exact status for each.

import { equal } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
	sampleDelivery,
	sampleEvent,
	sampleSecret,
} from "../../receiver/src/sample-delivery.test-support.ts";
import { PATIENCE_MS } from "../support/patience.ts";
import type { RunningProgram } from "../support/run-program.ts";

/** Settings of the programs under test, by the names that shops use. */
export const SECRET = { RINGBACK_SIGNING_SECRET: sampleSecret };

export type Delivery = ReturnType<typeof sampleDelivery>;

const TOO_LARGE_BYTES = 65_537;

/** Returns a delivery that is signed with the current time and its own nonce. */
export function freshDelivery(changes: Parameters<typeof sampleDelivery>[0] = {}): Delivery {
	return sampleDelivery({
		timestamp: String(nowSeconds()),
		nonce: randomBytes(16).toString("hex"),
		...changes,
	});
}

/** Returns the next attempt at the same event. Only the time of sending differs in its body. */
export function repeatDelivery(path?: string): Delivery {
	const rawBody = JSON.stringify({ ...sampleEvent, sentAt: new Date().toISOString() });
	return freshDelivery({ rawBody, ...(path === undefined ? {} : { path }) });
}

export async function sendDelivery(
	origin: string,
	{ path, headers, rawBody }: Delivery,
	method = "POST",
): Promise<number> {
	const response = await fetch(origin + path, {
		method,
		// Each request closes its connection, because the receiver may close an idle one just when a slow machine
		// is about to use it.
		headers: { ...headers, connection: "close" },
		...(method === "POST" ? { body: Buffer.from(rawBody) } : {}),
		redirect: "manual",
		signal: AbortSignal.timeout(PATIENCE_MS),
	});
	await response.arrayBuffer();
	return response.status;
}

/** Checks a program that prints one line for each event it processes. */
export async function checkReceiver(program: RunningProgram, origin: string, path: string): Promise<void> {
	const good = freshDelivery({ path });
	equal(await sendDelivery(origin, good), 204, "good");
	await program.said(lineOf(sampleEvent.event));
	equal(await sendDelivery(origin, good), 401, "the same request once more: its nonce was seen");
	equal(await sendDelivery(origin, repeatDelivery(path)), 204, "the same event, sent again");

	for (const [condition, delivery, status] of refusedDeliveries(path)) {
		equal(await sendDelivery(origin, delivery), status, condition);
	}
	equal(await sendDelivery(origin, good, "GET"), 405, "a person's browser");

	// If an earlier request had been processed wrongly, its line would have come before this one.
	const approved = { ...sampleEvent, event: "conversion.approved", status: "APPROVED", reason: null };
	const next = freshDelivery({ path, rawBody: JSON.stringify(approved), eventName: approved.event });
	equal(await sendDelivery(origin, next), 204, "another event of the same conversion");
	await program.said(lineOf(approved.event));
	equal(program.output.match(/^conversion\..* for order A-1001,.*$/gm)?.length, 2, program.output);
}

function refusedDeliveries(path: string): [condition: string, delivery: Delivery, status: number][] {
	const good = freshDelivery({ path });
	const otherAmount = JSON.stringify({ ...sampleEvent, commission: "99.39" });
	return [
		["400 s old", freshDelivery({ path, timestamp: String(nowSeconds() - 400) }), 401],
		["400 s ahead", freshDelivery({ path, timestamp: String(nowSeconds() + 400) }), 401],
		["a timestamp that is none", freshDelivery({ path, timestamp: "1e9" }), 401],
		["another secret", freshDelivery({ path, secret: "other" }), 401],
		["another brand", freshDelivery({ path, brand: "Acme" }), 401],
		["tampered body", { ...good, rawBody: otherAmount }, 401],
		["re-serialised body", { ...good, rawBody: JSON.stringify(sampleEvent, null, 2) }, 401],
		["another query", { ...good, path: `${path}&more=1` }, 401],
		["genuine, but no event", freshDelivery({ path, rawBody: "{}" }), 400],
		["too large", freshDelivery({ path, rawBody: " ".repeat(TOO_LARGE_BYTES) }), 413],
	];
}

function lineOf(eventName: string): RegExp {
	return new RegExp(`^${eventName.replace(".", "\\.")} for order A-1001`, "m");
}

function nowSeconds(): number {
	return Math.floor(Date.now() / 1000);
}
