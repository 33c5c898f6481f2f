// What the demo shows: every status change and its callback, a test conversion, and a delivery that fails
// first and is retried. Everything goes the real way: signed requests in, signed callbacks out.

import type { DemoClock } from "./demo-clock.ts";
import type { SampleShop } from "./sample-shop.ts";
import type { ShopClient } from "./shop-client.ts";

/** The first delay of contract section 8, and a little. */
const FIRST_RETRY_MS = 61_000;

export async function tellStory(
	client: ShopClient,
	shop: SampleShop,
	clock: DemoClock,
	retryIsPlanned: () => Promise<void>,
	say: (line: string) => void,
): Promise<void> {
	let expected = 0;
	/** One call of the shop's server, and the callbacks it must lead to. */
	const act = async (title: string, path: string, body: object): Promise<void> => {
		say(title);
		await client.post(path, body);
		await shop.waitFor(++expected);
	};
	const sale = (orderId: string, basketValue: string) => ({ orderId, basketValue, currency: "EUR" });

	await act("Order 1001 is sold …", "/v1/conversions", sale("1001", "129.90"));
	await act("… and the shop approves it.", "/v1/approvals", { orderId: "1001" });
	await act("Order 1002 is sold …", "/v1/conversions", sale("1002", "49.00"));
	await act("… and rejected: the payment failed.", "/v1/rejections", {
		orderId: "1002",
		reason: "PAYMENT_FAILED",
	});
	await act("Order 1003 is sold …", "/v1/conversions", sale("1003", "310.25"));
	await act("… approved …", "/v1/approvals", { orderId: "1003" });
	await act("… and sent back by the customer.", "/v1/reversals", { orderId: "1003", reason: "RETURN" });
	await act("The shop's developer sends a test conversion.", "/v1/conversions", {
		...sale("TEST-1", "1.00"),
		test: true,
	});

	shop.failNext("1004");
	await act(
		"Order 1004 is sold while the shop's server is out of order …",
		"/v1/conversions",
		sale("1004", "75.50"),
	);
	await retryIsPlanned();
	say("… the first retry comes after one minute; the demo's clock skips it.");
	clock.skip(FIRST_RETRY_MS);
	await shop.waitFor(++expected);
}
