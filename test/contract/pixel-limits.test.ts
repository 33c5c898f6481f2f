// Tests a stranger who floods the pixel with calls, on both databases. The tests check which rows remain,
// that other callers are not affected, and what the shop's people can read about the flood.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { BLOCK_REFUSALS, MAX_TARGET_LENGTH, PROGRAMME_REFUSALS } from "#core/api/inbound-log.ts";
import { createLimitedCalls } from "#core/api/limited-pixel-calls.ts";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { parseRange } from "#core/domain/address.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import type { Store } from "#core/store/store.ts";
import { createTestSite } from "#core/web/test-site.test-support.ts";
import { createApp } from "../../src/app.ts";
import { PIXEL_RATES, REFUSAL_DELAY_MS } from "../../src/concurrency/admission.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { mainlyOn } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { until } from "../support/until.ts";

const TRUSTED = [parseRange("127.0.0.1")].flatMap((range) => range ?? []);

async function openPixels(store: Store) {
	const clock = createClock(START_MS);
	let statements = 0;
	const db = store.db.withPlugin({
		transformQuery: ({ node }) => {
			statements++;
			return node;
		},
		transformResult: async ({ result }) => result,
	});
	const counted: Store = {
		...store,
		db,
		transact: (work) => {
			statements++;
			return store.transact(work);
		},
	};
	const stopping = new AbortController();
	const limitedCalls = createLimitedCalls({ store: counted, clock, log: createLog() });
	const site = createTestSite(counted, {
		change: { clock, trustedProxies: TRUSTED, stopSignal: stopping.signal, limitedCalls },
	});
	const { programme } = await makeShop(site.deps);
	const app = createApp(site.deps);
	const owner = await site.signIn(await site.addOwner(programme));
	const request = async (target: string, address: string): Promise<Response> => {
		const headers = { "x-forwarded-for": address };
		const incoming = { url: target, headers, socket: { remoteAddress: "127.0.0.1" } };
		return app.request(target, {}, { incoming });
	};
	return {
		clock,
		programme,
		/** Returns the number of statements since the previous call of this function. */
		countStatements() {
			const counted = statements;
			statements = 0;
			return counted;
		},
		/**
		 * Stops the parts in the order in which the service stops them. Delayed answers end first, and then the
		 * counts are written.
		 */
		async stop(answers: readonly Promise<Response>[]) {
			stopping.abort();
			await Promise.all(answers);
			await limitedCalls.stop();
		},
		start: (query: string, address: string) => request(`/pixel/${programme.public_id}.gif?${query}`, address),
		/** Calls the pixel, and moves the clock until a delayed answer has come. */
		async load(query: string, address: string, programmeId = programme.public_id) {
			const answering = request(`/pixel/${programmeId}.gif?${query}`, address);
			await clock.moveBy(0);
			const response = await answering;
			equal(response.status, 200);
			equal(response.headers.get("content-type"), "image/gif");
			equal((await response.arrayBuffer()).byteLength, 43);
		},
		rows: () =>
			store.db
				.selectFrom("inbound_calls")
				.select(["outcome", "detail", "target", "order_id"])
				.where("programme_id", "=", programme.id)
				.orderBy("id")
				.execute(),
		metrics: async () => (await site.deps.metrics.answer()).text(),
		open: async (path: string) =>
			(await owner.open(`/programmes/${programme.public_id}/integration/inbound${path}`)).text,
	};
}

mainlyOn("PostgreSQL", "floods of pixel calls", (database) => {
	test("a flood of pixel calls from one address block is cut at its limit, needs no queries, and leaves one row a minute", async () => {
		const setup = await openPixels(database.store);
		const { burst } = PIXEL_RATES.addressBlock;
		for (let call = 0; call < burst; call++) {
			await setup.load("orderId=flood-0&basketValue=1", `5.6.7.${call % 256}`);
		}
		equal((await setup.rows()).length, burst);
		setup.countStatements();
		const late = Array.from({ length: 200 }, (_, call) =>
			setup.start(`orderId=flood-${call}&basketValue=1`, `5.6.7.${call}`),
		);
		await setup.clock.moveBy(REFUSAL_DELAY_MS - 1);
		equal(setup.countStatements(), 0, "nothing was read or written for them");
		await setup.load("orderId=honest-1&basketValue=12.50", "9.8.7.6");
		const honest = (await setup.rows()).at(-1);
		deepEqual([honest?.outcome, honest?.order_id], ["PARKED", "honest-1"]);
		await setup.clock.moveBy(1);
		for (const answer of late) equal((await answer).headers.get("content-type"), "image/gif");
		match(await setup.metrics(), /ringback_inbound_calls_total\{kind="pixel",outcome="pixel_limited"\} 200/);

		await setup.clock.moveBy(MINUTE_MS);
		await until(async () => (await setup.rows()).length > burst + 1);
		const rows = (await setup.rows()).slice(burst + 1);
		deepEqual(
			rows.map(({ outcome, order_id, target }) => [outcome, order_id, target]),
			[["pixel_limited", null, `/pixel/${setup.programme.public_id}.gif`]],
		);
		match(
			rows[0]?.detail ?? "",
			/^200 pixel calls were not taken .* from 1 address block\. .*POST \/v1\/conversions/,
		);
		match(await setup.open("?result=refused"), /200 pixel calls were not taken/);
		match(
			await setup.open("?order=flood-7"),
			/No call has mentioned this order.*is listed without an order/s,
		);
		await setup.load("orderId=later-1&basketValue=1", "5.6.7.8");
		equal(
			(await setup.rows()).at(-1)?.outcome,
			"PARKED",
			"a minute later, calls of the block are accepted again",
		);
		equal(setup.clock.waitingTimers, 0);
	});

	test("a flood of pixel calls for an unknown programme leaves no row of a programme, and a stop writes the counted refusals", async () => {
		const setup = await openPixels(database.store);
		const before = await countRows(database.store);
		for (let call = 0; call < PIXEL_RATES.addressBlock.burst; call++) {
			await setup.load("orderId=1&basketValue=1", "5.6.7.8", "prg_NOBODY");
		}
		// The inbound log has exactly the maximum number of these refusals for one address block.
		equal((await countRows(database.store)) - before, BLOCK_REFUSALS.burst);
		const answers = [1, 2, 3].map((order) => setup.start(`orderId=${order}&basketValue=1`, "5.6.7.8"));
		await setup.clock.moveBy(0);
		await setup.stop(answers);
		deepEqual(
			(await setup.rows()).map(({ outcome, detail }) => [outcome, detail?.slice(0, 18)]),
			[["pixel_limited", "3 pixel calls were"]],
		);
		equal(setup.clock.waitingTimers, 0);
	});

	test("a flood of pixel calls that are refused for their content is limited too, and refusals of other callers still show", async () => {
		const setup = await openPixels(database.store);
		const calls = BLOCK_REFUSALS.burst + 50;
		for (let call = 0; call < calls; call++) await setup.load(`orderId=${call}`, "5.6.7.8");
		equal((await setup.rows()).length, BLOCK_REFUSALS.burst);
		await setup.load("orderId=mine&basketValue=1,50", "9.8.7.6");
		const last = (await setup.rows()).at(-1);
		deepEqual([last?.outcome, last?.order_id], ["malformed_amount", "mine"]);
		ok(PROGRAMME_REFUSALS.burst >= 5 * BLOCK_REFUSALS.burst, "one block cannot use up the programme's limit");
	});

	test("a flood of pixel calls with long queries leaves rows of a limited size that say they were cut", async () => {
		const setup = await openPixels(database.store);
		const padding = "ö€😀\u0001".repeat(1_000);
		await setup.load(
			`orderId=${"ß".repeat(128)}&basketValue=1&junk=${encodeURIComponent(padding)}`,
			"5.6.7.8",
		);
		await setup.load(`orderId=A&basketValue=${"9".repeat(3_000)}&junk=${padding}`, "5.6.7.8");
		const rows = await setup.rows();
		deepEqual(
			rows.map(({ outcome }) => outcome),
			["PARKED", "amount_too_large"],
		);
		for (const row of rows) {
			ok(row.target.length <= MAX_TARGET_LENGTH, `${row.target.length}`);
			match(row.target, /^\/pixel\/prg_.*… \(cut: \d{4,5} characters\)$/);
			ok(Buffer.byteLength(JSON.stringify(row)) <= 2_500, `${Buffer.byteLength(JSON.stringify(row))} bytes`);
		}
	});
});

async function countRows({ db }: Store): Promise<number> {
	const { rows } = await db
		.selectFrom("inbound_calls")
		.select((eb) => eb.fn.countAll<number | string>().as("rows"))
		.executeTakeFirstOrThrow();
	return Number(rows);
}
