// The steps of the demo: every status change and its callback, a test conversion, and a delivery that fails
// first and is retried. Every step uses the real interfaces, with signed requests to the service and signed
// callbacks to the shop.

import type { Client } from "@ringback/receiver";
import type { DemoClock } from "./demo-clock.ts";
import type { SampleShop } from "./sample-shop.ts";

/** Time to skip, which is the first retry delay of contract section 8 plus a second. */
const FIRST_RETRY_MS = 61_000;

export async function tellStory(
	client: Client,
	shop: SampleShop,
	clock: DemoClock,
	clickLink: () => Promise<string>,
	retryIsPlanned: () => Promise<void>,
	say: (line: string) => void,
): Promise<void> {
	let expected = 0;
	/** Makes one call of the shop's server and waits for the callback that it causes. */
	const act = async (title: string, call: () => Promise<CallResult>): Promise<void> => {
		say(title);
		const result = await call();
		if (!result.ok) throw new Error(result.detail);
		await shop.waitFor(++expected);
	};
	say("A visitor clicks on a partner's link, and the shop keeps the click ID.");
	const clickId = await clickLink();
	const sell = (orderId: string, basketValue: string, test = false) =>
		client.record({ orderId, basketValue, currency: "EUR", test, clickId });

	await act("Order 1001 is sold, and credited to the partner …", () => sell("1001", "129.90"));
	await act("… and the shop approves it.", () => client.approve({ orderId: "1001" }));
	await act("Order 1002 is sold …", () => sell("1002", "49.00"));
	await act("… and rejected: the payment failed.", () =>
		client.reject({ orderId: "1002", reason: "PAYMENT_FAILED" }),
	);
	await act("Order 1003 is sold …", () => sell("1003", "310.25"));
	await act("… approved …", () => client.approve({ orderId: "1003" }));
	await act("… and sent back by the customer.", () => client.reverse({ orderId: "1003", reason: "RETURN" }));
	await act("The shop's developer sends a test conversion.", () => sell("TEST-1", "1.00", true));

	shop.failNext("1004");
	await act("Order 1004 is sold while the shop's server is out of order …", () => sell("1004", "75.50"));
	await retryIsPlanned();
	say("… the first retry comes after one minute; the demo's clock skips it.");
	clock.skip(FIRST_RETRY_MS);
	await shop.waitFor(++expected);
}

type CallResult = { readonly ok: true } | { readonly ok: false; readonly detail: string };
