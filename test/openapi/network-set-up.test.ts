// Sets up a network over the API: two shops and three partners, or 100 shops and 300 partners in the long form.

import { equal } from "node:assert/strict";
import { test } from "node:test";
import { setUpNetwork } from "./network-story.ts";
import { countOf, openTokenSite } from "./token-site.ts";

const SIZE =
	process.env["RINGBACK_TEST"] === "long" ? { shops: 100, partners: 300 } : { shops: 2, partners: 3 };

test(`a network of ${SIZE.shops} shops and ${SIZE.partners} partners is set up over the API`, async (t) => {
	const { call, site } = await openTokenSite(t);
	// The rate limit refills with the clock, which stands still in this test.
	const paced: typeof call = (...input) => {
		site.moveClock(50);
		return call(...input);
	};
	const { programIds, partnerIds } = await setUpNetwork(paced, SIZE.shops, SIZE.partners);
	equal(new Set(programIds).size, SIZE.shops);
	equal(new Set(partnerIds).size, SIZE.partners);
	equal(countOf(await paced("GET", "/v1/network/programmes?limit=200")), Math.min(SIZE.shops, 200));
	const counts = await site.store.db
		.selectFrom("partnerships")
		.select(({ fn }) => fn.countAll<number>().as("all"))
		.executeTakeFirstOrThrow();
	equal(Number(counts.all), SIZE.partners);
});
