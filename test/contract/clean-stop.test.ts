// Tests that a stopping service still writes the rows that it must, on both databases.

import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { PIXEL_RATES, REFUSAL_DELAY_MS } from "../../src/concurrency/admission.ts";
import { createClock } from "../support/clock.ts";
import { assertNoErrors, openService } from "../support/open-service.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { until } from "../support/until.ts";

const LIMITED = 3;

for (const kind of DATABASE_KINDS) {
	describe(kind, () => {
		test("pixel calls that exceeded the rate limit are in the inbound log after a stop", async (t) => {
			const clock = createClock();
			const settings = { RINGBACK_TRUSTED_PROXIES: "127.0.0.1" };
			const { service, database, log, stop, close } = await openService({ database: kind, clock, settings });
			t.after(close);
			const { programme } = await makeShop(service);
			const call = (name: string) =>
				fetch(`${service.url}/pixel/${name}.gif?orderId=1&basketValue=1`, {
					headers: { "x-forwarded-for": "5.6.7.8" },
				}).then((response) => response.bytes());
			await Promise.all(Array.from({ length: PIXEL_RATES.addressBlock.burst }, () => call("prg_NOBODY")));
			const before = clock.timersDueIn(REFUSAL_DELAY_MS);
			const answers = Array.from({ length: LIMITED }, () => call(programme.public_id));
			await until(() => clock.timersDueIn(REFUSAL_DELAY_MS) === before + LIMITED);
			await stop();
			await Promise.all(answers);
			const rows = await database
				.open()
				.db.selectFrom("inbound_calls")
				.select(["outcome", "detail"])
				.where("programme_id", "=", programme.id)
				.execute();
			deepEqual(
				rows.map(({ outcome }) => outcome),
				["pixel_limited"],
			);
			match(rows[0]?.detail ?? "", /^3 pixel calls were not taken /);
			assertNoErrors(log);
			equal(clock.waitingTimers, 0);
		});
	});
}
