// A shop's page stores the click ID of a partner's link in its own cookie, and reads it at the checkout.

import { equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ExampleFolder } from "./example-folder.ts";

const TOKEN = `AV-_${"a1".repeat(96)}`;

export async function checkClicks(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test(
		"a shop's page stores the click ID of a partner's link in a cookie, and no text that is not a click ID",
		async () => {
			const open = await examples.openShop();
			const clicked = await open(`/shoes?size=42&rbclick=${TOKEN}&x=1`, "");
			equal(clicked.body.trim(), `clickId: ${TOKEN}`, "also on the page that sets the cookie");
			const [pair, ...attributes] = (clicked.cookie ?? "").split(/; */);
			equal(pair, `rbclick=${TOKEN}`);
			const known = new Set(attributes.map((attribute) => attribute.toLowerCase()));
			for (const wanted of ["path=/", "max-age=2592000", "httponly", "secure", "samesite=lax"]) {
				equal(known.has(wanted), true, `${wanted} in ${clicked.cookie}`);
			}
			const checkout = await open("/checkout", `a=b; rbclick=${TOKEN}; c=d`);
			equal(checkout.body.trim(), `clickId: ${TOKEN}`);
			equal(checkout.cookie, null);
			const again = await open(`/?rbclick=${TOKEN}`, "rbclick=older");
			equal(again.body.trim(), `clickId: ${TOKEN}`, "the newest click");
			for (const value of ["", "a%0d%0aSet-Cookie:%20x=y", "a%3b%20Domain=x", "a".repeat(401), "%3Cb%3E"]) {
				equal((await open(`/?rbclick=${value}`, "")).cookie, null, value);
			}
			equal((await open("/", "myrbclick=x")).body.trim(), "clickId: none");
		},
	);
}
