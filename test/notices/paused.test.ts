// Tests callbacks that staff hold while the service runs. Sales and decisions are accepted, nothing is sent,
// and nobody is mailed that callbacks fail. When callbacks are released, all are sent, and the pause itself
// raises no notice.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeHold } from "#core/programmes/callback-hold.ts";
import { WATCH_INTERVAL_MS } from "../../src/watch/installation-watch.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { type Setup, startSetup } from "./notice-setup.ts";

for (const kind of DATABASE_KINDS) {
	describe(`callbacks that are held (${kind})`, { concurrency: 2 }, () => {
		test("held callbacks wait while conversions and decisions are accepted and windows end, and are all sent after the release", async (t) => {
			const setup = await startSetup(t, kind, { hasMetrics: true });
			setup.shop.answer = () => ({ status: 204 });
			const shop = await setup.addShop({ approvalDays: 0 });
			await hold(setup);
			await setup.sell(shop, 2);
			const { url, metricsUrl } = setup.service();
			equal((await fetch(`${url}/readyz`)).status, 200);
			// The pending callbacks are those of two sales and of two approvals at the end of their windows,
			// because periodic work continues.
			await setup.untilLater(async () => (await pending(setup)).length === 4);
			await setup.clock.moveBy(WATCH_INTERVAL_MS);
			const told =
				/"kind":"delivery_paused","title":"All callbacks have been held since [^"]* by `ringback hold`, and 4 wait"/;
			await setup.until(async () => told.test(await (await fetch(`${metricsUrl}/health`)).text()));
			const numbers = await metrics(metricsUrl);
			match(numbers, /^ringback_delivery_paused 1$/m);
			match(numbers, /^ringback_slots 0$/m);
			ok(warned(setup).some((line) => /^All callbacks have been held since /.test(line)));

			deepEqual([setup.shop.requests.length, setup.mail.mails.length], [0, 0]);
			deepEqual(await pending(setup), [0, 0, 0, 0], "no attempt was made");

			await setup.stop();
			await setup.start();
			await setup.clock.moveBy(MINUTE_MS);
			equal(setup.shop.requests.length, 0, "a restart releases nothing");
			await release(setup);
			await setup.until(() => setup.shop.requests.length === 4);
			await setup.until(async () => (await pending(setup)).length === 0);
			equal(setup.mail.mails.length, 0);
			ok(setup.log.lines.some(({ message }) => message === "callbacks are sent again"));
		});

		// The next test runs on SQLite only, because test/contract/store-owed.test.ts covers both databases.
		if (kind !== "SQLite") return;
		test("time on hold does not count towards the age of a failure that was only watched before the hold", async (t) => {
			const setup = await startSetup(t, kind);
			setup.shop.answer = () => ({ status: 503 });
			const shop = await setup.addShop();
			await setup.sell(shop);
			await setup.until(async () => (await setup.notices(shop)).length === 1);
			await hold(setup);
			await setup.clock.moveBy(12 * MINUTE_MS);
			const [watched] = await setup.notices(shop);
			equal(watched?.told_at_ms, null, "the notice stays hidden during the hold");
			// The callback is sent and fails again. If the pause had counted, this second failure would be mailed
			// at once.
			await release(setup);
			await setup.until(async () => (await setup.notices(shop))[0]?.failed_attempts === 2);
			deepEqual([(await setup.notices(shop))[0]?.told_at_ms, setup.mail.mails.length], [null, 0]);
			setup.shop.answer = () => ({ status: 204 });
			await setup.untilLater(async () => (await pending(setup)).length === 0);
			deepEqual(await setup.notices(shop), [], "the success removed the watched notice");
			equal(setup.mail.mails.length, 0);
		});
	});
}

/** Holds callbacks as the command does in another process, and waits until the engine has seen it. */
async function hold({ store, clock }: Setup): Promise<void> {
	ok((await changeHold({ store, clock }, COMMAND_LINE, "held")).ok);
	await clock.moveBy(SECOND_MS);
}

async function release({ store, clock }: Setup): Promise<void> {
	ok((await changeHold({ store, clock }, COMMAND_LINE, "released")).ok);
	await clock.moveBy(SECOND_MS);
}

async function metrics(url: string | null): Promise<string> {
	return (await fetch(`${url}/metrics`)).text();
}

/** Returns the number of attempts of each waiting delivery. */
async function pending({ store }: Setup): Promise<number[]> {
	const rows = await store.db
		.selectFrom("deliveries")
		.select("attempts")
		.where("state", "=", "pending")
		.execute();
	return rows.map(({ attempts }) => attempts);
}

function warned({ log }: Setup): string[] {
	return log.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
}
