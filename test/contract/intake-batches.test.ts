// Tests calls that are stored in one transaction, on both databases. Each call is answered as if the calls
// had arrived one after the other, and a problem with one of them does not affect the others.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import type { Store } from "#core/store/store.ts";
import { createApp } from "../../src/app.ts";
import { createRandom } from "../../src/outside/random.ts";
import { makeAppDeps } from "../support/app-deps.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { createIntakeSetup, word } from "./intake-setup.ts";

const POISON = "poison";

eachDatabase("calls stored together", (database) => {
	const { clock, openShop, sendTo, post, sale, approval, pixel, logged, eventsOf } =
		createIntakeSetup(database);

	test("if an order comes twice, the first call is recorded, the second is a duplicate, and one event is owed", async () => {
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

	test("a pixel and a sale report of one order have the same result in either order", async () => {
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

	test("an approval after its sale succeeds, and an approval before its sale finds no order", async () => {
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

	test("each refused call of a batch gets its own answer, and the valid calls are stored", async () => {
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
		deepEqual((await eventsOf(programme.id)).map(({ order_id }) => order_id).sort(), ["A-1", "A-6"]);
	});

	test("a call that the database refuses fails alone, and its nonce is not spent", async () => {
		const { programme, credentials, other, watched, send, sendTogether } = await openShop();
		const poisoned = sale(credentials, POISON);
		const again = poisoned.clone();
		const requests = [
			sale(credentials, "A-1"),
			sale(other.credentials, "B-1"),
			poisoned,
			sale(other.credentials, "B-2"),
			sale(credentials, "A-2"),
		];
		await plantPoison(database.store);
		try {
			const answers = await sendTogether(requests);
			deepEqual(answers.map(word), ["RECORDED", "RECORDED", "internal", "RECORDED", "RECORDED"]);
			equal(watched.transactions, 1 + requests.length, "once together, and then each alone");
		} finally {
			await removePoison(database.store);
		}
		const stored = (await eventsOf(programme.id)).map(({ order_id }) => order_id);
		deepEqual(stored, ["A-1", "A-2"]);
		equal(word(await send(again)), "RECORDED");
	});

	test("a batch that the database aborts because of a deadlock is retried before any call is answered", async () => {
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

	test("while the database is away each call is answered at once, and no call is retried alone", async () => {
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

	test("a batch whose commit is not acknowledged is not retried, and a repeated call finds its conversion", async () => {
		const { programme, credentials, watched, send } = await openShop();
		watched.after = async () => {
			watched.after = async () => undefined;
			// This is the error of PostgreSQL's driver after a timeout. It has no error code.
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

	test("two processes with the same orders at once record and decide each of them once", async () => {
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

/** Makes the database refuse one order, as it would refuse a row that breaks a constraint. */
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
