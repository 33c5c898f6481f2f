// Tests retention on both databases. Finished and old rows are removed in batches, with everything that
// belongs to them. Pending and recent rows, and notices that are open or not mailed yet, stay.

import { deepEqual, equal } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Insertable } from "kysely";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { DAY_MS, HOUR_MS, QUARTER_MS } from "#core/domain/time.ts";
import { findDeliveries, requeue } from "#core/store/queries/deliveries.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { pruneDeliveries, pruneLog, pruneNotices, pruneShortLived } from "#core/store/queries/prune.ts";
import type { Schema } from "#core/store/schema/tables.ts";
import type { Store } from "#core/store/store.ts";
import type { NoticesTable } from "#core/store/tables/notices.ts";
import { insertApplication, listApplications } from "#modules/partners/store/applications.ts";
import { addClicks, EVER, sumClicks } from "#modules/partners/store/clicks.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { pruneApplications, pruneClicks } from "#modules/partners/store/partner-prune.ts";
import { CHANGES, MODULE_CHORES, PRUNE_RULES } from "../../src/modules.ts";
import { realClock } from "../../src/outside/clock.ts";
import { createRandom } from "../../src/outside/random.ts";
import { startChores } from "../../src/watch/chores.ts";
import { MAIL_OFF } from "../support/app-deps.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { newNotice } from "../support/notices.ts";
import { addProgramme, newId, newOwedEvent } from "../support/rows.ts";

const CUTOFF_MS = START_MS;
const OLD_MS = CUTOFF_MS - DAY_MS;
const YOUNG_MS = CUTOFF_MS + DAY_MS;
/** Rows in a batch. MANY is a little more than three batches. */
const BATCH_ROWS = 500;
const MANY = 3 * BATCH_ROWS + 100;

const never = () => false;

eachDatabase("retention", (database) => {
	let programme: Programme;
	let conversions = 0;

	beforeEach(async () => {
		const { db } = database.store;
		for (const table of [
			"queue",
			"attempts",
			"undelivered",
			"events",
			"nonces",
			"inbound_calls",
			"notices",
		]) {
			await db.deleteFrom(table as keyof Schema).execute();
		}
		programme = await addProgramme(database.store);
	});

	/** Adds deliveries that were created at the same time. Finished ones have two attempts each. */
	async function add(count: number, madeAtMs: number, finishedAtMs: number | null): Promise<number[]> {
		const { store } = database;
		const owed = Array.from({ length: count }, () => newOwedEvent(programme, ++conversions, madeAtMs));
		await store.transact((trx) => store.batch.write(trx, { events: owed }));
		const made = store.db.selectFrom("deliveries").select("id").where("attempts", "=", 0);
		const ids = (await made.orderBy("id").execute()).map(({ id }) => id);
		const attempts = ids.flatMap((delivery_id) =>
			[1, 2].map((seq) => ({
				delivery_id,
				seq,
				run: 1,
				result: "answered" as const,
				started_at_ms: finishedAtMs ?? madeAtMs,
				took_ms: 0,
			})),
		);
		for (let start = 0; start < attempts.length; start += BATCH_ROWS) {
			await store.db
				.insertInto("attempts")
				.values(attempts.slice(start, start + BATCH_ROWS))
				.execute();
		}
		if (finishedAtMs !== null) {
			await store.db
				.deleteFrom("queue")
				.where("id", ">=", ids[0] ?? 0)
				.execute();
		}
		return ids;
	}

	test("a finished delivery that is older than the retention setting is removed with its attempts and its event", async () => {
		const old = await add(2, OLD_MS, CUTOFF_MS - 1);
		const atTheLimit = await add(1, OLD_MS, CUTOFF_MS);
		equal(await pruneDeliveries(database.store, realClock, CUTOFF_MS, never), old.length);
		deepEqual(await remaining(database.store), {
			deliveries: atTheLimit,
			events: atTheLimit,
			attempts: atTheLimit,
			queue: [],
		});
	});

	test("old deliveries stay if they are pending or were finished recently", async () => {
		const pending = await add(2, OLD_MS, null);
		const finishedLately = await add(1, OLD_MS, YOUNG_MS);
		await add(3, OLD_MS, OLD_MS);
		const young = await add(2, YOUNG_MS, YOUNG_MS);
		equal(
			await pruneDeliveries(database.store, realClock, CUTOFF_MS, never),
			3,
			"rows after others that stay are removed, too",
		);
		const stay = [...pending, ...finishedLately, ...young];
		deepEqual(await remaining(database.store), {
			deliveries: stay,
			events: stay,
			attempts: stay,
			queue: pending,
		});
		equal(
			await pruneDeliveries(database.store, realClock, CUTOFF_MS, never),
			0,
			"a second run finds nothing",
		);
	});

	test("thousands of deliveries are removed in batches, and a stop takes effect between them", async () => {
		await add(MANY, OLD_MS, OLD_MS);
		let asked = 0;
		const stopAfterOne = () => asked++ > 0;
		equal(await pruneDeliveries(database.store, realClock, CUTOFF_MS, stopAfterOne), BATCH_ROWS);
		equal((await remaining(database.store)).deliveries.length, MANY - BATCH_ROWS);
		equal(await pruneDeliveries(database.store, realClock, CUTOFF_MS, never), MANY - BATCH_ROWS);
		deepEqual(await remaining(database.store), { deliveries: [], events: [], attempts: [], queue: [] });
	});

	test("rows that a fast clock has dated into the future do not stop the removal of older rows after them", async () => {
		const { store } = database;
		const call = { kind: "api", method: "POST", target: "/", outcome: "RECORDED", http_status: 201 } as const;
		const times = [YOUNG_MS + 365 * DAY_MS, ...Array.from({ length: MANY }, () => OLD_MS), YOUNG_MS];
		const calls = times.map((at_ms) => ({ ...call, programme_id: programme.id, at_ms }));
		await store.transact((trx) => store.batch.write(trx, { inboundCalls: calls }));
		equal(await pruneLog("inbound_calls", store, realClock, CUTOFF_MS, never), MANY);
		const left = await store.db.selectFrom("inbound_calls").select("at_ms").orderBy("id").execute();
		deepEqual(
			left.map(({ at_ms }) => at_ms),
			[YOUNG_MS + 365 * DAY_MS, YOUNG_MS],
		);
	});

	test("a delivery that is resent during its removal stays complete", async () => {
		const { store } = database;
		const [resent = 0] = await add(3, OLD_MS, OLD_MS);
		const resend = async () => {
			const row = await store.db.selectFrom("deliveries").selectAll().where("id", "=", resent).execute();
			const [delivery] = await findDeliveries(store.db, programme.receiver_id, [row[0]?.public_id ?? ""]);
			if (delivery === undefined) throw new Error("it has just been made");
			await store.transact((trx) => requeue(trx, programme.receiver_id, [delivery], YOUNG_MS));
		};
		const interrupted: Store = {
			...store,
			async transact(work) {
				await resend();
				return store.transact(work);
			},
		};
		equal(
			await pruneDeliveries(interrupted, realClock, CUTOFF_MS, never),
			2,
			"only removed deliveries are counted",
		);
		deepEqual(await remaining(store), {
			deliveries: [resent],
			events: [resent],
			attempts: [resent],
			queue: [resent],
		});
	});

	test("nonces are removed five minutes after they expire, because another clock may be behind", async () => {
		const { store } = database;
		const nonces = [-1, 0, 1].map((offsetMs) => ({
			programme_id: programme.id,
			nonce: `nonce${offsetMs}`,
			expires_at_ms: CUTOFF_MS + offsetMs,
		}));
		await store.db.insertInto("nonces").values(nonces).execute();
		await pruneShortLived(store, CUTOFF_MS + 300_000);
		const left = await store.db.selectFrom("nonces").select("nonce").orderBy("expires_at_ms").execute();
		deepEqual(
			left.map(({ nonce }) => nonce),
			["nonce0", "nonce1"],
		);
	});

	test("old inbound calls are removed in batches, also those without a programme", async () => {
		const { store } = database;
		const call = {
			kind: "api",
			method: "POST",
			target: "/v1/conversions",
			outcome: "x",
			http_status: 401,
		} as const;
		const old = Array.from({ length: MANY }, (_, index) => ({
			...call,
			programme_id: index % 2 === 0 ? programme.id : null,
			at_ms: OLD_MS,
		}));
		for (let start = 0; start < MANY; start += BATCH_ROWS) {
			await store.batch.write(store.db, { inboundCalls: old.slice(start, start + BATCH_ROWS) });
		}
		await store.batch.write(store.db, { inboundCalls: [{ ...call, at_ms: CUTOFF_MS }] });
		let asked = 0;
		equal(await pruneLog("inbound_calls", store, realClock, CUTOFF_MS, () => asked++ > 0), BATCH_ROWS);
		equal(await pruneLog("inbound_calls", store, realClock, CUTOFF_MS, never), MANY - BATCH_ROWS);
		const left = await store.db.selectFrom("inbound_calls").select("at_ms").execute();
		deepEqual(
			left.map(({ at_ms }) => at_ms),
			[CUTOFF_MS],
		);
	});

	test("notices are removed if they have ended, were mailed and are old", async () => {
		const { store } = database;
		const add = async (name: string, change: Partial<Insertable<NoticesTable>>) => {
			// A programme can have only one open notice about failing callbacks, so each notice needs its own
			// programme.
			const { receiver_id } = await addProgramme(store);
			const notice = newNotice(receiver_id, {
				public_id: `${name} ${newId("ntc")}`,
				opened_at_ms: OLD_MS,
				...change,
			});
			await store.db.insertInto("notices").values(notice).execute();
		};
		await add("over", { ended_at_ms: OLD_MS });
		await add("works-again", { kind: "callbacks_working_again" });
		await add("open", {});
		await add("untold", { ended_at_ms: OLD_MS, mail_due_at_ms: YOUNG_MS });
		await add("young", { ended_at_ms: YOUNG_MS });
		await pruneNotices(store, CUTOFF_MS);
		const left = await store.db.selectFrom("notices").select("public_id").orderBy("id").execute();
		deepEqual(
			left.map(({ public_id }) => public_id.split(" ")[0]),
			["open", "untold", "young"],
		);
	});

	test("old counts of clicks are removed, and the total of a link stays", async () => {
		const { store } = database;
		const links = Array.from({ length: 25 }, (_, n) => ({
			code: `pruned-${n}`,
			partnership_id: 1,
			...{ name: "", target: "https://shop.example/", created_at_ms: OLD_MS },
		}));
		const made = await store.db.insertInto("partner_links").values(links).returning("id").execute();
		const cutoff = Math.floor(CUTOFF_MS / QUARTER_MS);
		const counts = made.flatMap(({ id: linkId }) =>
			[cutoff - 2, cutoff - 1, cutoff, cutoff + 1].flatMap((quarter) => [
				{ linkId, quarter, kind: "click" as const, clicks: 10 },
				{ linkId, quarter, kind: "ended" as const, clicks: 1 },
			]),
		);
		await addClicks(store.db, counts);
		let asked = 0;
		equal(
			await pruneClicks(store, realClock, CUTOFF_MS, () => asked++ > 0),
			20 * 2 * 2,
			"one batch of links",
		);
		equal(await pruneClicks(store, realClock, CUTOFF_MS, never), 5 * 2 * 2);
		const left = await store.db
			.selectFrom("click_quarters")
			.select("quarter")
			.distinct()
			.orderBy("quarter")
			.execute();
		deepEqual(
			left.map(({ quarter }) => quarter),
			[EVER, cutoff, cutoff + 1],
		);
		const [last] = made.slice(-1);
		const sums = (await sumClicks(store.db, [last?.id ?? 0], 0)).get(last?.id ?? 0);
		deepEqual(
			sums?.map(({ kind, ever, recent }) => ({ kind, ever, recent })),
			[
				{ kind: "click", ever: 40, recent: 20 },
				{ kind: "ended", ever: 4, recent: 2 },
			],
		);
	});

	test("an application that nobody answers is removed after 90 days", async () => {
		const { store } = database;
		const nowMs = CUTOFF_MS;
		for (const [email, days] of [
			["old@blog.example", 91],
			["young@blog.example", 89],
		] as const) {
			const stranger = { public_id: newId("apl"), programme_id: programme.id, name: "", email, site: "" };
			await insertApplication(store.db, {
				...stranger,
				...{ about: "", terms: "", created_at_ms: nowMs - days * DAY_MS },
			});
		}
		await pruneApplications(store, nowMs);
		const left = await listApplications(store.db, programme.id);
		deepEqual(
			left.map(({ email }) => email),
			["young@blog.example"],
		);
	});

	test("the service removes rows by itself after the number of days in its settings", async (t) => {
		const { store } = database;
		const clock = createClock(CUTOFF_MS + 7 * DAY_MS);
		await add(2, OLD_MS, CUTOFF_MS - 1);
		const stay = await add(1, OLD_MS, CUTOFF_MS + HOUR_MS / 2);
		const clicked = { partnership_id: 1, name: "", target: "", created_at_ms: OLD_MS };
		const link = await insertPartnerLink(store.db, { ...clicked, code: "by-itself" });
		const quarter = Math.floor(OLD_MS / QUARTER_MS);
		await addClicks(store.db, [{ linkId: link?.id ?? 0, quarter, kind: "click", clicks: 1 }]);
		const log = createLog();
		const chores = startChores({
			store,
			clock,
			random: createRandom(),
			changes: CHANGES,
			log,
			mails: MAIL_OFF,
			publicUrl: "https://ringback.example",
			retentionDays: 7,
			statementYears: 10,
			pruneRules: PRUNE_RULES,
			moduleChores: MODULE_CHORES,
			keyRing: createKeyRing([new Uint8Array(32)]),
		});
		t.after(() => chores.stop());
		await untilEqual(stay);
		await untilEqual([]);
		await chores.stop();
		const clicks = store.db
			.selectFrom("click_quarters")
			.select("quarter")
			.where("link_id", "=", link?.id ?? 0);
		deepEqual(
			(await clicks.execute()).map((row) => row.quarter),
			[EVER],
		);
		equal(clock.waitingTimers, 0);
		deepEqual(log.lines, []);

		async function untilEqual(expected: readonly number[]): Promise<void> {
			const deadlineMs = Date.now() + 10_000;
			while ((await remaining(store)).deliveries.length !== expected.length && Date.now() < deadlineMs) {
				await clock.moveBy(HOUR_MS / 10);
			}
			deepEqual((await remaining(store)).deliveries, expected);
		}
	});
});

/**
 * Returns the ids of the deliveries that the view `deliveries` shows, and of those that still have an event,
 * attempts or a queue row.
 */
async function remaining({ db }: Store) {
	const numbers = (rows: readonly { id: number }[]) => [...new Set(rows.map(({ id }) => id))];
	return {
		deliveries: numbers(await db.selectFrom("deliveries").select("id").orderBy("id").execute()),
		events: numbers(await db.selectFrom("events").select("id").orderBy("id").execute()),
		attempts: numbers(
			await db.selectFrom("attempts").select("delivery_id as id").orderBy("delivery_id").execute(),
		),
		queue: numbers(await db.selectFrom("queue").select("id").orderBy("id").execute()),
	};
}
