import assert from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "../../../test/support/clock.ts";
import { createLog } from "../../../test/support/log.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { createLimitedCalls } from "./limited-pixel-calls.ts";
import { makeShop, openTestShop } from "./test-shop.test-support.ts";

test("a flood for thousands of programmes from thousands of address blocks leaves a row for each existing programme", async (t) => {
	const shop = await openTestShop(t);
	const { programme: other } = await makeShop(shop.deps);
	const clock = createClock(shop.deps.clock.nowMs());
	const log = createLog();
	const limited = createLimitedCalls({ store: shop.store, clock, log });
	for (let call = 0; call < 5_000; call++) {
		limited.note(shop.programme.public_id, `5.${call}.1`);
		if (call < 1) limited.note(other.public_id, null);
		limited.note(`prg_${call}`, "5.6.7");
	}
	await clock.moveBy(MINUTE_MS);
	// The rows are sorted here, because a single statement inserts them in no defined order.
	const rows = (await shop.inbound()).sort((one, two) => (one.programme_id ?? 0) - (two.programme_id ?? 0));
	assert.deepEqual(
		rows.map(({ programme_id, outcome }) => [programme_id, outcome]),
		[
			[shop.programme.id, "pixel_limited"],
			[other.id, "pixel_limited"],
		],
	);
	const [flooded, once] = rows.map(({ detail }) => detail ?? "");
	assert.match(
		flooded ?? "",
		/^5,000 pixel calls were not taken .* came from 1,000 address blocks or more\./,
	);
	assert.match(once ?? "", /^1 pixel call was not taken /);
	assert.doesNotMatch(once ?? "", /address block/, "the address of an unknown proxy says nothing");
	assert.deepEqual(log.lines[0]?.fields, { calls: 10_001, programmes: 100 });
	assert.equal(clock.waitingTimers, 0);
});
