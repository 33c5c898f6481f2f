// What a service that is stopped has still to write down, on both databases.

import { deepEqual, equal, match } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { BLOCK_BUDGET } from "../../src/api/pixel-budgets.ts";
import { makeShop } from "../../src/api/test-shop.test-support.ts";
import { readConfig } from "../../src/config.ts";
import { startService } from "../../src/service.ts";
import { createClock } from "../support/clock.ts";
import { createTestDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { DATABASE_KINDS } from "../support/open-store.ts";
import { until } from "../support/until.ts";

const LIMITED = 3;

for (const kind of DATABASE_KINDS) {
	describe(kind, () => {
		test("pixel calls that were not taken are in the inbound log after a stop", async (t) => {
			const database = await createTestDatabase(kind);
			t.after(() => database.remove());
			const read = readConfig({
				DATABASE_URL: kind === "SQLite" ? `sqlite:${database.location}` : database.location,
				PORT: "0",
				RINGBACK_METRICS_ADDRESS: "off",
				RINGBACK_SECRET_KEY: randomBytes(32).toString("hex"),
				RINGBACK_TRUSTED_PROXIES: "127.0.0.1",
			});
			if (!read.ok) throw new Error(read.problems.join(" "));
			const [clock, log] = [createClock(), createLog()];
			const service = await startService(read.config, { clock, log });
			const { programme } = await makeShop(service);
			const call = (name: string) =>
				fetch(`${service.url}/pixel/${name}.gif?orderId=1&basketValue=1`, {
					headers: { "x-forwarded-for": "5.6.7.8" },
				}).then((response) => response.bytes());
			await Promise.all(Array.from({ length: BLOCK_BUDGET.burst }, () => call("prg_NOBODY")));
			const timers = clock.waitingTimers;
			const answers = Array.from({ length: LIMITED }, () => call(programme.public_id));
			// Each waits for its late answer, and all for the end of the minute.
			await until(() => clock.waitingTimers === timers + LIMITED + 1);
			await service.stop();
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
			deepEqual(
				log.lines.filter(({ level }) => level === "error"),
				[],
			);
			equal(clock.waitingTimers, 0);
		});
	});
}
