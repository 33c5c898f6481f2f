// kill -9 in the middle of the work, again and again: nothing that was answered is lost, nothing that was final
// moves, and a shop sees an event twice only where a kill hit its delivery.

import { deepEqual, equal, ok } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createShopClient } from "../../demo/shop-client.ts";
import { CLAIM_LAPSE_MS } from "../../src/store/queue.ts";
import { openHome, type Settings, until } from "../command/command-home.ts";
import { prepareDatabase } from "../command/shop-account.ts";
import { type ShopRequest, startShop } from "../support/shop.ts";

const ROUNDS = 5;
const ORDERS_A_ROUND = 40;
const SENDERS = 4;
/** Answers to the shop and callbacks from us, counted together, until the kill. */
const KILL_AFTER: readonly [least: number, most: number] = [10, 60];
const MAX_ANSWER_DELAY_MS = 20;

test("five kills lose nothing, repeat only what they interrupted, and leave final states alone", async (t) => {
	const seed = Number(process.env["RINGBACK_TEST_KILL_SEED"] ?? randomInt(2 ** 31));
	t.diagnostic(`RINGBACK_TEST_KILL_SEED=${seed}`);
	const random = seededRandom(seed);

	const home = openHome(t);
	const arrivals = new Map<string, number>();
	let onHappening = (): void => undefined;
	const shop = await startShop({
		answer: (request) => {
			const orderId = orderOf(request);
			arrivals.set(orderId, (arrivals.get(orderId) ?? 0) + 1);
			onHappening();
			return { status: statusFor(orderId), delayMs: random(0, MAX_ANSWER_DELAY_MS) };
		},
	});
	t.after(() => shop.close());
	writeFileSync(join(home.folder, "ca.pem"), shop.caPem);
	const settings: Settings = {
		PORT: "0",
		DATABASE_URL: `sqlite:${home.databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
	};
	const { apiKey, secret } = await prepareDatabase(settings, { postbackUrl: shop.url() });

	/** By order, the conversion's id that the service answered with. */
	const answered = new Map<string, string>();
	const unanswered: string[] = [];
	const kills: Snapshot[] = [];

	async function start() {
		const running = home.start(["serve"], settings);
		const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
		const client = createShopClient(url, apiKey, secret, Date.now);
		/** As a shop's server: what was not answered is asked again, later. */
		const send = async (): Promise<void> => {
			for (let order = unanswered.shift(); order !== undefined; order = unanswered.shift()) {
				const sale = { orderId: order, basketValue: "10.00", currency: "EUR" };
				try {
					const { conversion } = await client.post("/v1/conversions", sale);
					equal(answered.get(order) ?? conversion.id, conversion.id, "a repeat meets the same conversion");
					answered.set(order, conversion.id);
					onHappening();
				} catch (error) {
					unanswered.push(order);
					if (running.isRunning && / answered \d/.test(String(error))) throw error;
					return;
				}
			}
		};
		return { running, sendAll: () => Promise.all(Array.from({ length: SENDERS }, send)) };
	}

	for (let round = 0; round < ROUNDS; round++) {
		for (let order = 0; order < ORDERS_A_ROUND; order++) unanswered.push(`${round}-${order}`);
		const { running, sendAll } = await start();
		let left = random(...KILL_AFTER);
		onHappening = () => {
			left--;
			if (left === 0) running.kill("SIGKILL");
		};
		await sendAll();
		equal((await running.ended()).signal, "SIGKILL");
		onHappening = () => undefined;
		kills.push(takeSnapshot(home.databasePath));
		letClaimsLapse(home.databasePath);
	}

	const { running, sendAll } = await start();
	await sendAll();
	deepEqual(unanswered, []);
	await until(() => takeSnapshot(home.databasePath).dueNow === 0);
	running.kill("SIGTERM");
	equal((await running.ended()).code, 0);

	const end = takeSnapshot(home.databasePath);
	equal(answered.size, ROUNDS * ORDERS_A_ROUND);
	for (const [order, conversionId] of answered) {
		equal(end.conversions.get(order), conversionId, `order ${order} was answered, so it is stored`);
	}
	equal(end.conversions.size, answered.size, "and nothing else is");
	checkDeliveries(end, arrivals, kills);
	for (const [index, { finished }] of kills.entries()) {
		for (const [order, row] of finished) {
			deepEqual(end.finished.get(order), row, `order ${order} was final at kill ${index + 1}`);
		}
	}
	ok(
		kills.some(({ claimed }) => claimed.size > 0),
		"no kill hit a delivery: the test proves too little",
	);
});

/** Mostly well; some refuse for good; some are out of order, and their retry comes after this test. */
function statusFor(orderId: string): number {
	if (orderId.endsWith("7")) return 404;
	return orderId.endsWith("3") ? 503 : 204;
}

interface DeliveryRow {
	order: string;
	state: string;
	attempts: number;
	finished_at_ms: number | null;
	/** Null without a row in the queue. */
	due_at_ms: number | null;
	claim: number | null;
	interrupted: number;
	/** What became of its attempts, to be read when a test fails. */
	outcomes: string | null;
}

interface Snapshot {
	conversions: ReadonlyMap<string, string>;
	deliveries: readonly DeliveryRow[];
	/** Orders whose delivery was in somebody's hands, and the claim's number. */
	claimed: ReadonlyMap<string, number>;
	finished: ReadonlyMap<string, DeliveryRow>;
	/** Under way, or with nothing to wait for. */
	dueNow: number;
}

function takeSnapshot(path: string): Snapshot {
	using database = new DatabaseSync(path, { timeout: 5_000 });
	const conversions = database.prepare("select order_id as [order], public_id as id from conversions").all();
	const deliveries = database
		.prepare(
			`select c.order_id as [order], d.state, d.attempts, d.finished_at_ms, q.due_at_ms, q.claim,
				(select count(*) from attempts a where a.delivery_id = d.id and a.result = 'interrupted') as interrupted,
				(select group_concat(coalesce(a.http_status, a.result) || coalesce(' ' || a.detail, ''), ', ')
					from attempts a where a.delivery_id = d.id) as outcomes
				from conversions c join events e on e.conversion_id = c.id join deliveries d on d.id = e.id
				left join queue q on q.id = d.id`,
		)
		.all() as unknown as DeliveryRow[];
	equal(
		deliveries.length,
		conversions.length,
		"one event for each conversion, and one delivery for each event",
	);
	for (const { order, state, due_at_ms } of deliveries) {
		equal(due_at_ms !== null, state === "pending", `order ${order} is ${state}, due at ${due_at_ms}`);
	}
	const strays = database.prepare("select id from queue where id not in (select id from deliveries)").all();
	deepEqual(strays, []);
	const nowMs = Date.now();
	return {
		conversions: new Map(conversions.map(({ order, id }) => [String(order), String(id)])),
		deliveries,
		claimed: new Map(deliveries.flatMap(({ order, claim }) => (claim === null ? [] : [[order, claim]]))),
		finished: new Map(deliveries.filter(({ state }) => state !== "pending").map((row) => [row.order, row])),
		dueNow: deliveries.filter((row) => row.claim !== null || (row.due_at_ms ?? Infinity) <= nowMs).length,
	};
}

function checkDeliveries(
	end: Snapshot,
	arrivals: ReadonlyMap<string, number>,
	kills: readonly Snapshot[],
): void {
	for (const { order, state, attempts, interrupted, outcomes } of end.deliveries) {
		const story = `order ${order} is ${state} after ${outcomes}`;
		// The shop lives in this process: on a machine that stalls for five seconds its answers are late, too.
		const isRetried = /503|timeout|network-error/.test(outcomes ?? "");
		const final = { 204: "delivered", 404: "failed" }[statusFor(order)];
		ok(state === final || (state === "pending" && isRetried), story);
		const arrived = arrivals.get(order) ?? 0;
		ok(arrived >= 1 || state === "pending", `${story} and never arrived`);
		// By the claim: a process that is killed early may not have come to what an earlier one left.
		const hits = new Set(kills.flatMap(({ claimed }) => claimed.get(order) ?? [])).size;
		equal(interrupted, hits, `${story}; each kill that hit it is shown as interrupted, and nothing else`);
		const ended = attempts - interrupted;
		ok(isRetried ? ended >= 1 : ended === 1, `${story}; ${ended} attempts ended`);
		ok(arrived <= ended + hits, `${story}; it arrived ${arrived} times and was hit by ${hits} kills`);
	}
}

/** Moves time in the stopped file instead of waiting for it. */
function letClaimsLapse(path: string): void {
	using database = new DatabaseSync(path);
	database.prepare("update queue set due_at_ms = due_at_ms - ? where claim is not null").run(CLAIM_LAPSE_MS);
}

function orderOf({ body }: ShopRequest): string {
	return (JSON.parse(body.toString()) as { orderId: string }).orderId;
}

/** Mulberry32: small, and the same on every machine. */
function seededRandom(seed: number): (least: number, most: number) => number {
	let state = seed;
	return (least, most) => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		const fraction = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
		return least + Math.floor(fraction * (most - least + 1));
	};
}
