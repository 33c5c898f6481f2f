// Calls that are stored in one transaction, on both databases: each is answered as if they had come one after the other,
// and what is wrong with one of them is nobody else's trouble.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import {
	HELD_MS,
	MAX_BATCH_REQUESTS,
	MAX_WAIT_MS,
	MAX_WAIT_WHILE_STOPPING_MS,
	WAITING_ROOM,
} from "../../src/api/intake.ts";
import { LATE_MS } from "../../src/api/pixel-limits.ts";
import { type Answered, makeShop, read } from "../../src/api/test-shop.test-support.ts";
import { type AllDeps, createApp } from "../../src/app.ts";
import { createRandom } from "../../src/outside/random.ts";
import { LOCK_WAITS_MS, type Store } from "../../src/store/store.ts";
import { makeAppDeps } from "../support/app-deps.ts";
import { createClock, settle } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";

const POISON = "poison";
/** Until a call in process waits to be stored. */
const YIELDS = 10;
const [FIRST_WAIT_MS] = LOCK_WAITS_MS;
const nothing = async (): Promise<void> => undefined;

eachDatabase("calls stored together", (database) => {
	const clock = createClock();

	/** Counts its transactions, and does what is planted instead of one or after it. */
	function watch(store: Store) {
		const watched = { transactions: 0, before: nothing, after: nothing };
		const transact: Store["transact"] = async (work, options) => {
			watched.transactions++;
			// What is tried again waits for locks less long, and for nothing here.
			if (options?.maxLockWaitMs === FIRST_WAIT_MS) await watched.before();
			const done = await store.transact(work, options);
			await watched.after();
			return done;
		};
		return { watched, store: { ...store, transact } };
	}

	async function openShop(options: { parksPixels?: boolean; over?: Store; stopSignal?: AbortSignal } = {}) {
		const { watched, store } = watch(options.over ?? database.store);
		const parts = makeAppDeps({ store, clock, random: createRandom(), log: createLog() });
		const deps: AllDeps = { ...parts, stopSignal: options.stopSignal };
		const { programme, credentials } = await makeShop(deps, options);
		const other = await makeShop(deps);
		const app = createApp(deps);
		const send = (request: Request) => sendTo(app, request);
		await identify();
		await send(pixel(programme.public_id, ""));
		await database.store.db.deleteFrom("inbound_calls").execute();
		watched.transactions = 0;

		/** Who they are is read now: from here on no call waits for that. */
		async function identify(): Promise<void> {
			for (const known of [credentials, other.credentials]) {
				await send(signedRequest("GET", "/v1/conversions", known, { nowMs: clock.nowMs() }));
			}
		}

		/** Both lines are busy while these come, one after the other: then they are one batch, in this order. */
		async function sendTogether(requests: readonly Request[]): Promise<Answered[]> {
			const lines = await makeBusy();
			const sent = await oneByOne(requests);
			await lines.setFree();
			return Promise.all(sent.map((answer) => answer()));
		}

		/** From now on whoever comes has to wait, until both lines are free; `before` is for the transactions that follow. */
		async function makeBusy() {
			const gate = Promise.withResolvers<void>();
			watched.before = () => gate.promise;
			watched.transactions = 0;
			const busy = await oneByOne(["busy-1", "busy-2"].map((orderId) => sale(other.credentials, orderId)));
			equal(watched.transactions, 2);
			return {
				async setFree(before = nothing): Promise<Answered[]> {
					watched.before = before;
					watched.transactions = 0;
					gate.resolve();
					return Promise.all(busy.map((answer) => answer()));
				},
			};
		}

		async function oneByOne(requests: readonly Request[]): Promise<(() => Promise<Answered>)[]> {
			const sent: (() => Promise<Answered>)[] = [];
			for (const request of requests) {
				const answer = send(request);
				sent.push(() => answer);
				for (let yields = 0; yields < YIELDS; yields++) await clock.yieldLoop();
			}
			return sent;
		}

		return { programme, credentials, other, watched, send, identify, sendTogether, makeBusy, oneByOne };
	}

	async function sendTo(app: ReturnType<typeof createApp>, request: Request): Promise<Answered> {
		const response = await app.request(request);
		if (response.headers.get("content-type") !== "image/gif") return read(response);
		return { status: response.status, headers: response.headers, json: {} };
	}

	function post(credentials: Credentials, target: string, body: object, nonce?: string): Request {
		const named = nonce === undefined ? {} : { nonce };
		return signedRequest("POST", target, credentials, { body, nowMs: clock.nowMs(), ...named });
	}

	const sale = (credentials: Credentials, orderId: string, basketValue = "100.00") =>
		post(credentials, "/v1/conversions", { orderId, basketValue });
	const approval = (credentials: Credentials, orderId: string) =>
		post(credentials, "/v1/approvals", { orderId });
	const bulk = (credentials: Credentials, name: string, items: number) =>
		post(credentials, "/v1/conversions/batch", {
			items: Array.from({ length: items }, (_, n) => ({ orderId: `${name}-${n}`, basketValue: "1.00" })),
		});
	const pixel = (programId: string, orderId: string) =>
		new Request(`http://localhost/pixel/${programId}.gif?orderId=${orderId}&basketValue=90.00`);

	const word = ({ json }: Answered) => json.outcome ?? json.code;

	async function logged(programmeId: number) {
		const rows = database.store.db.selectFrom("inbound_calls").selectAll();
		return rows.where("programme_id", "=", programmeId).orderBy("id").execute();
	}

	async function eventsOf(programmeId: number) {
		const events = database.store.db
			.selectFrom("events")
			.innerJoin("conversions", "conversions.id", "events.conversion_id")
			.select(["conversions.order_id", "events.name"]);
		return events.where("conversions.programme_id", "=", programmeId).orderBy("events.id").execute();
	}

	test("the same order twice: the first is recorded, the second is told so, and one event is owed", async () => {
		const { programme, credentials, watched, sendTogether } = await openShop();
		const answers = await sendTogether(
			["1.00", "2.00", "3.00"].map((value) => sale(credentials, "A-1", value)),
		);
		equal(watched.transactions, 1);
		deepEqual(answers.map(word), ["RECORDED", "DUPLICATE", "DUPLICATE"]);
		deepEqual(
			answers.map(({ json }) => [json.conversion?.id, json.conversion?.basketValue]),
			answers.map(() => [answers[0]?.json.conversion?.id, "1.00"]),
		);
		deepEqual(
			(await eventsOf(programme.id)).map(({ order_id, name }) => `${order_id} ${name}`),
			["A-1 conversion.recorded"],
		);
		deepEqual(
			(await logged(programme.id)).map(({ outcome, order_id }) => [outcome, order_id]),
			[
				["RECORDED", "A-1"],
				["DUPLICATE", "A-1"],
				["DUPLICATE", "A-1"],
			],
		);
	});

	test("pixel and postback of one order, whichever comes first", async () => {
		for (const isPixelFirst of [true, false]) {
			const { programme, credentials, watched, sendTogether } = await openShop({ parksPixels: true });
			const both = [pixel(programme.public_id, "A-1"), sale(credentials, "A-1")];
			const answers = await sendTogether(isPixelFirst ? both : both.toReversed());
			equal(watched.transactions, 1);
			const postback = answers.find(({ json }) => json.conversion !== undefined);
			equal(postback?.json.outcome, isPixelFirst ? "CONFIRMED" : "RECORDED");
			equal(postback?.json.conversion?.basketValue, "100.00");
			equal(postback?.json.conversion?.pixelBasketValue, isPixelFirst ? "90.00" : null);
			const outcomes = (await logged(programme.id)).map(({ outcome }) => outcome);
			deepEqual(outcomes, isPixelFirst ? ["PARKED", "CONFIRMED"] : ["RECORDED", "DUPLICATE"]);
			const events = await eventsOf(programme.id);
			equal(events.length, isPixelFirst ? 0 : 1);
		}
	});

	test("a sale and its approval: in this order both, in the other the order is not known yet", async () => {
		const { programme, credentials, watched, sendTogether } = await openShop();
		const answers = await sendTogether([
			approval(credentials, "A-2"),
			sale(credentials, "A-1"),
			approval(credentials, "A-1"),
			approval(credentials, "A-1"),
			sale(credentials, "A-2"),
		]);
		equal(watched.transactions, 1);
		deepEqual(answers.map(word), ["unknown_order", "RECORDED", "APPROVED", "APPROVED", "RECORDED"]);
		deepEqual((await eventsOf(programme.id)).map(({ order_id, name }) => `${order_id} ${name}`).sort(), [
			"A-1 conversion.approved",
			"A-1 conversion.recorded",
			"A-2 conversion.recorded",
		]);
	});

	test("each of a batch has its own refusal, and the good ones are stored", async () => {
		const { programme, credentials, watched, sendTogether } = await openShop();
		const nonce = "0123456789abcdef";
		const good = { orderId: "A-1", basketValue: "1.00" };
		const answers = await sendTogether([
			post(credentials, "/v1/conversions", good, nonce),
			post(credentials, "/v1/conversions", { ...good, orderId: "A-2" }, nonce),
			post(credentials, "/v1/conversions", { orderId: "A-3", basketValue: "1,50" }),
			post({ ...credentials, secret: "wrong" }, "/v1/conversions", { ...good, orderId: "A-4" }),
			post(credentials, "/v1/reversals", { orderId: "A-5", reason: "RETURN" }),
			sale(credentials, "A-6"),
		]);
		equal(watched.transactions, 1);
		deepEqual(answers.map(word), [
			"RECORDED",
			"replayed_nonce",
			"malformed_amount",
			"bad_signature",
			"unknown_order",
			"RECORDED",
		]);
		deepEqual((await logged(programme.id)).map(({ outcome, order_id }) => `${outcome} ${order_id}`).sort(), [
			"RECORDED A-1",
			"RECORDED A-6",
			"bad_signature null",
			"malformed_amount A-3",
			"replayed_nonce null",
			"unknown_order A-5",
		]);
		deepEqual(
			(await eventsOf(programme.id)).map(({ order_id }) => order_id),
			["A-1", "A-6"],
		);
	});

	test("a call that the database will not store fails alone, and has not spent its nonce", async () => {
		const { programme, credentials, watched, send, sendTogether } = await openShop();
		const orders = ["A-1", POISON, "A-2", "A-3"];
		const requests = orders.map((orderId) => sale(credentials, orderId));
		const again = requests[1]?.clone();
		await plantPoison(database.store);
		try {
			const answers = await sendTogether(requests);
			deepEqual(answers.map(word), ["RECORDED", "internal", "RECORDED", "RECORDED"]);
			equal(watched.transactions, 1 + orders.length, "together, then each alone");
		} finally {
			await removePoison(database.store);
		}
		const stored = (await eventsOf(programme.id)).map(({ order_id }) => order_id);
		deepEqual(stored, ["A-1", "A-2", "A-3"]);
		ok(again !== undefined);
		equal(word(await send(again)), "RECORDED");
	});

	test("a batch that the database ends in favour of others is tried again before anybody hears of it", async () => {
		for (const calls of [1, 3]) {
			const { credentials, watched, send } = await openShop();
			watched.before = async () => {
				if (watched.transactions === 1) throw Object.assign(new Error("deadlock"), { code: "40P01" });
			};
			const answers = await Promise.all(
				Array.from({ length: calls }, (_, n) => send(sale(credentials, `A-${n}`))),
			);
			deepEqual(
				answers.map(word),
				answers.map(() => "RECORDED"),
			);
			equal(watched.transactions, 1 + calls);
		}
	});

	test("while the database is away each call hears so at once, and none is tried alone", async () => {
		const { credentials, watched, send } = await openShop();
		watched.before = async () => {
			throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
		};
		const answers = await Promise.all(Array.from({ length: 5 }, (_, n) => send(sale(credentials, `A-${n}`))));
		deepEqual(
			answers.map(({ status, headers }) => [status, headers.get("retry-after")]),
			answers.map(() => [503, "5"]),
		);
		equal(watched.transactions, 1);
	});

	test("a batch whose commit is not answered is not tried again: whoever repeats a call meets its conversion", async () => {
		const { programme, credentials, watched, send } = await openShop();
		watched.after = async () => {
			watched.after = nothing;
			// As the driver says it when it has waited for an answer in vain: without a code.
			throw new Error("Query read timeout");
		};
		const orders = ["A-1", "A-2"];
		const answers = await Promise.all(orders.map((orderId) => send(sale(credentials, orderId))));
		deepEqual(answers.map(word), ["internal", "internal"]);
		equal(watched.transactions, 1);
		const repeated = await Promise.all(orders.map((orderId) => send(sale(credentials, orderId))));
		deepEqual(repeated.map(word), ["DUPLICATE", "DUPLICATE"]);
		equal((await eventsOf(programme.id)).length, 2);
	});

	test("a call of one shop that cannot be stored leaves the others' together", async () => {
		const { credentials, other, watched, sendTogether } = await openShop();
		await plantPoison(database.store);
		try {
			const answers = await sendTogether([
				sale(credentials, "A-1"),
				sale(other.credentials, "B-1"),
				sale(credentials, POISON),
				sale(other.credentials, "B-2"),
				sale(credentials, "A-2"),
				sale(other.credentials, "B-3"),
			]);
			deepEqual(answers.map(word), ["RECORDED", "RECORDED", "internal", "RECORDED", "RECORDED", "RECORDED"]);
			equal(watched.transactions, 1 + 2 + 3, "together, each shop, and one shop's calls alone");
		} finally {
			await removePoison(database.store);
		}
	});

	test("a shop that fills all places it may have leaves room for the others, and what was answered is stored", async () => {
		const { programme, credentials, other, send, makeBusy } = await openShop();
		const lines = await makeBusy();
		const surplus = 7;
		const calls = Array.from({ length: WAITING_ROOM.single.ofProgramme + surplus }, (_, n) =>
			send(sale(credentials, `A-${n}`)),
		);
		const refused = await Promise.race(calls);
		deepEqual([refused.status, word(refused), refused.headers.get("retry-after")], [503, "unavailable", "5"]);
		const another = send(sale(other.credentials, "B-1"));
		await settle();
		await lines.setFree();
		equal(word(await another), "RECORDED");
		const answers = await Promise.all(calls);
		const taken = answers.filter((answer) => word(answer) === "RECORDED").length;
		equal(taken, WAITING_ROOM.single.ofProgramme);
		equal(answers.filter((answer) => word(answer) === "unavailable").length, surplus);
		equal((await eventsOf(programme.id)).length, taken);
	});

	test("shops take turns: whoever has much waiting keeps nobody out of the next batch", async () => {
		const { credentials, other, watched, makeBusy, oneByOne } = await openShop();
		const lines = await makeBusy();
		const many = await oneByOne(
			Array.from({ length: MAX_BATCH_REQUESTS + 10 }, (_, n) => sale(credentials, `A-${n}`)),
		);
		const [one = nobody] = await oneByOne([sale(other.credentials, "B-1")]);
		const gate = Promise.withResolvers<void>();
		await lines.setFree(async () => {
			if (watched.transactions > 1) await gate.promise;
		});
		// Of both shops what came first is in the first batch, and the rest is held.
		equal(word((await many[0]?.()) ?? (await nobody())), "RECORDED");
		equal(word(await one()), "RECORDED");
		equal(await isAnswered(many.at(-1)), false);
		gate.resolve();
		deepEqual([...new Set((await Promise.all(many.map((answer) => answer()))).map(word))], ["RECORDED"]);
	});

	test("of a shop one bulk call is at work and few wait; the calls of others go with it", async () => {
		const { credentials, other, watched, makeBusy, oneByOne } = await openShop();
		const items = Math.floor(WAITING_ROOM.bulk.ofProgramme / 2);
		const lines = await makeBusy();
		const [first, second, third] = await oneByOne(
			["K", "L", "M"].map((name) => bulk(credentials, name, items)),
		);
		const others = await oneByOne(["B-1", "B-2"].map((orderId) => sale(other.credentials, orderId)));
		await clock.moveBy(LATE_MS);
		equal((await third?.())?.status, 503);
		const gate = Promise.withResolvers<void>();
		await lines.setFree(() => gate.promise);
		await settle();
		equal(watched.transactions, 1, "the second is not at work beside the first");
		gate.resolve();
		for (const answer of others) equal(word(await answer()), "RECORDED");
		for (const answer of [first, second]) equal((await answer?.())?.status, 200);
		equal(watched.transactions, 2, "and not in its batch, as the calls of others are");
	});

	test("whoever waits for too long is told to come again, and nothing of it is stored", async () => {
		const { programme, credentials, send, makeBusy, oneByOne } = await openShop();
		const lines = await makeBusy();
		const request = sale(credentials, "A-1");
		const again = request.clone();
		const [waiting = nobody] = await oneByOne([request]);
		await clock.moveBy(MAX_WAIT_MS - 1);
		equal(await isAnswered(waiting), false);
		const [later = nobody] = await oneByOne([sale(credentials, "A-2")]);
		await clock.moveBy(1);
		await lines.setFree();
		const { status, headers } = await waiting();
		deepEqual([status, headers.get("retry-after")], [503, "5"]);
		equal(word(await later()), "RECORDED");
		equal((await eventsOf(programme.id)).length, 1);
		equal(word(await send(again)), "RECORDED", "its nonce is not spent");
	});

	test("a service that stops stores what is at work and tells those who wait to come again", async () => {
		const stopping = new AbortController();
		const { credentials, makeBusy, oneByOne } = await openShop({ stopSignal: stopping.signal });
		const lines = await makeBusy();
		const waiting = await oneByOne(["A-1", "A-2"].map((orderId) => sale(credentials, orderId)));
		stopping.abort();
		await settle();
		equal(await isAnswered(waiting[0]), false, "they have a moment to get their turn");
		await clock.moveBy(MAX_WAIT_WHILE_STOPPING_MS);
		const atWork = await lines.setFree();
		deepEqual(atWork.map(word), ["RECORDED", "RECORDED"]);
		const told = await Promise.all(waiting.map((answer) => answer()));
		deepEqual(
			told.map(({ status }) => status),
			[503, 503],
		);
	});

	if (database.kind === "PostgreSQL") {
		test("a row that somebody holds costs others a moment, and then nothing", async () => {
			const { credentials, other, watched, send, identify, ...shop } = await openShop();
			const { sendTogether, makeBusy, oneByOne } = shop;
			for (const known of [credentials, other.credentials]) await send(sale(known, "known"));
			await send(sale(credentials, "held"));
			await identify();
			const free = Promise.withResolvers<void>();
			const isHeld = Promise.withResolvers<void>();
			const holding = database.rival.transact(async (trx) => {
				await sql`select 1 from conversions where order_id = 'held' for update`.execute(trx);
				isHeld.resolve();
				await free.promise;
			});
			await isHeld.promise;
			try {
				const answers = await sendTogether([
					...Array.from({ length: 3 }, () => approval(credentials, "held")),
					sale(other.credentials, "B-1"),
					approval(other.credentials, "known"),
				]);
				deepEqual(answers.map(word), [...Array(3).fill("unavailable"), "RECORDED", "APPROVED"]);
				equal(answers[0]?.headers.get("retry-after"), "5");
				equal(watched.transactions, 1 + 2 + 1, "together, each shop, one call alone");

				// For a while that shop goes by itself, and takes one line at most.
				const lines = await makeBusy();
				const [again = nobody] = await oneByOne([approval(credentials, "held")]);
				const [another = nobody] = await oneByOne([sale(other.credentials, "B-2")]);
				await lines.setFree();
				equal(word(await another()), "RECORDED");
				equal(await isAnswered(again), false);
				equal(word(await again()), "unavailable");
			} finally {
				free.resolve();
				await holding;
			}
			await clock.moveBy(HELD_MS);
			equal(word(await send(approval(credentials, "held"))), "APPROVED");
		});
	}

	test("two processes that take the same orders at once: each is recorded and decided once", async () => {
		const here = await openShop();
		const { programme, credentials } = here;
		const rivalDeps = makeAppDeps({
			store: database.rival,
			clock,
			random: createRandom(),
			log: createLog(),
		});
		const rival = createApp(rivalDeps);
		const orders = Array.from({ length: 60 }, (_, n) => `A-${n}`);
		for (const requestFor of [sale, approval]) {
			const [ours, theirs] = await Promise.all([
				Promise.all(orders.map((orderId) => here.send(requestFor(credentials, orderId)))),
				Promise.all(orders.toReversed().map((orderId) => sendTo(rival, requestFor(credentials, orderId)))),
			]);
			const byOrder = Map.groupBy([...ours, ...theirs], ({ json }) => json.conversion?.orderId);
			equal(byOrder.size, orders.length);
			for (const answers of byOrder.values()) {
				const words = answers.map(word).sort();
				deepEqual(words, requestFor === sale ? ["DUPLICATE", "RECORDED"] : ["APPROVED", "APPROVED"]);
				equal(answers[0]?.json.conversion?.id, answers[1]?.json.conversion?.id);
			}
		}
		const events = await eventsOf(programme.id);
		equal(events.length, 2 * orders.length);
		equal(new Set(events.map(({ order_id, name }) => `${order_id} ${name}`)).size, 2 * orders.length);
	});
});

async function nobody(): Promise<Answered> {
	throw new Error("a call that was never sent");
}

async function isAnswered(answer: (() => Promise<Answered>) | undefined): Promise<boolean> {
	const not = Symbol();
	await settle();
	return (await Promise.race([answer?.(), not])) !== not;
}

/** From now on this database refuses that order, as it would a row that breaks a constraint. */
async function plantPoison({ kind, db }: Store): Promise<void> {
	if (kind === "sqlite") {
		await sql`create trigger refuse_poison before insert on conversions when new.order_id = ${sql.lit(POISON)}
			begin select raise(abort, 'poison'); end`.execute(db);
		return;
	}
	await sql`create function refuse_poison() returns trigger language plpgsql as
		$$ begin raise exception 'poison'; end $$`.execute(db);
	await sql`create trigger refuse_poison before insert on conversions for each row
		when (new.order_id = ${sql.lit(POISON)}) execute function refuse_poison()`.execute(db);
}

async function removePoison({ kind, db }: Store): Promise<void> {
	if (kind === "sqlite") await sql`drop trigger refuse_poison`.execute(db);
	else await sql`drop function refuse_poison cascade`.execute(db);
}
