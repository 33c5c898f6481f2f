// The steps of the demo: every status change and its callback, a test conversion, and a delivery that fails
// first and is retried. Every step uses the real interfaces, with signed requests to the service and signed
// callbacks to the shop and to the partners.

import type { Client } from "@ringback/receiver";
import type { DemoClock } from "./demo-clock.ts";
import type { SamplePartners } from "./sample-partners.ts";
import type { SampleShop } from "./sample-shop.ts";

/** Time to skip, which is the first retry delay of contract section 8 plus a second. */
const FIRST_RETRY_MS = 61_000;

export async function tellStory(
	client: Client,
	shop: SampleShop,
	partners: Pick<SamplePartners, "waitFor">,
	clock: DemoClock,
	clickLink: (whose: "blog" | "tracker") => Promise<string>,
	retryIsPlanned: () => Promise<void>,
	say: (line: string) => void,
): Promise<void> {
	let expected = 0;
	let expectedOfPartners = 0;
	/** Makes one call of the shop's server and waits for the callbacks that it causes, to the shop and to a partner. */
	const act = async (title: string, call: () => Promise<CallResult>): Promise<void> => {
		say(title);
		const result = await call();
		if (!result.ok) throw new Error(result.detail);
		await shop.waitFor(++expected);
		await partners.waitFor(++expectedOfPartners);
	};
	say(
		"A visitor clicks on the link of a blog, another one on that of a campaign, and the shop keeps the click IDs.",
	);
	const clickId = await clickLink("blog");
	const trackedClickId = await clickLink("tracker");
	const sell = (orderId: string, basketValue: string, test = false) =>
		client.record({ orderId, basketValue, currency: "EUR", test, clickId });

	await act("Order 1001 is sold, and credited to the partner …", () => sell("1001", "129.90"));
	await act("… and the shop approves it.", () => client.approve({ orderId: "1001" }));
	await act("Order 1002 is sold …", () => sell("1002", "49.00"));
	await act("… and rejected: the payment failed.", () =>
		client.reject({ orderId: "1002", reason: "PAYMENT_FAILED" }),
	);
	await act("Order 1003 is sold by the campaign, whose partner has a tracker …", () =>
		client.record({ orderId: "1003", basketValue: "310.25", currency: "EUR", clickId: trackedClickId }),
	);
	say("… a part is refunded, which is no event: the next one has the amounts that are left …");
	const refund = { orderId: "1003", refundId: "1003-1", amount: "110.25", reason: "RETURN" } as const;
	const refunded = await client.refund(refund);
	if (!refunded.ok) throw new Error(refunded.detail);
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
