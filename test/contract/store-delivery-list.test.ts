// Tests the deliveries, attempts, calls and health figures that the integration page shows, on both
// databases.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { readCallbackHealth } from "#core/callbacks/health.ts";
import { createPass } from "#core/callbacks/pass.ts";
import type { Cursor } from "#core/domain/cursor.ts";
import { readOrderSearch } from "#core/domain/order-id.ts";
import { HOUR_MS } from "#core/domain/time.ts";
import type { NewInboundCall } from "#core/store/batch.ts";
import { addCallbackCounts, listCallbackQuarters } from "#core/store/queries/delivery-health.ts";
import {
	type DeliveryFilter,
	findDeliveryDetail,
	listAttempts,
	listDeliveries,
	newestProgress,
} from "#core/store/queries/delivery-list.ts";
import { type InboundFilter, listInboundCalls } from "#core/store/queries/inbound-calls.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import { pruneCallbackCounts } from "#core/store/queries/prune.ts";
import type { Settlement } from "#core/store/queries/queue.ts";
import type { Store } from "#core/store/store.ts";
import { createRandom } from "../../src/outside/random.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addEngine, passInput, readAll, settle, takeDue, takeOne } from "../support/queue-rows.ts";
import {
	ATTEMPT,
	addDeliveries,
	addDelivery,
	addProgramme,
	delivered,
	failed,
	newConversion,
	newOwedEvent,
	retried,
} from "../support/rows.ts";

eachDatabase("the list of deliveries", (database) => {
	test("pages of deliveries follow each other without a gap or a repeat, the newest first", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const ids = await addDeliveries(store, programme, ...Array.from({ length: 7 }, (_, n) => START_MS + n));
		await addDelivery(store, await addProgramme(store));
		deepEqual(await walkPages(store, { ...filterOf(programme), limit: 3 }), [
			ids.slice(4).reverse(),
			ids.slice(1, 4).reverse(),
			ids.slice(0, 1),
		]);
	});

	test("the first page counts the deliveries by the index of the list, and no other page does", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDeliveries(store, programme, ...Array.from({ length: 7 }, (_, n) => START_MS + n));
		await addDelivery(store, await addProgramme(store));
		const count = async (change: Partial<DeliveryFilter>) =>
			(await listDeliveries(store.db, { ...filterOf(programme), limit: 3, isCounted: true, ...change }))
				.count;
		equal(await count({}), 7);
		equal(await count({ state: "pending" }), 7);
		equal(await count({ state: "failed" }), 0);
		const { next } = await listDeliveries(store.db, { ...filterOf(programme), limit: 3 });
		equal(await count({ after: next ?? undefined }), undefined);
		equal(await count({ isCounted: false }), undefined);
		// A count would check each row for its event, so only a list that fits on one page is counted.
		equal(await count({ event: "conversion.recorded" }), undefined);
		equal(await count({ event: "conversion.recorded", limit: 50 }), 7);
	});

	test("deliveries of each state are listed, in the order of that state", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const ids = await addDeliveries(store, programme, ...Array.from({ length: 6 }, (_, n) => START_MS + n));
		const [a, b, c, d, e] = await takeDue(store, programme.receiver_id, 5, START_MS + 10);
		if (!a || !b || !c || !d || !e) throw new Error("not everything was due");
		// The deliveries do not fail in the order in which they were created. Delivery e, the fifth, is retried
		// so late that the sixth, which was never tried, is due before it.
		await settle(store, failed(b, START_MS + 70), failed(a, START_MS + 80), failed(c, START_MS + 70));
		await settle(store, delivered(d), retried(e, START_MS + 100));
		const [first, second, third, fourth, fifth, sixth] = ids;
		const of = (state: DeliveryFilter["state"], limit = 2) =>
			walkPages(store, { ...filterOf(programme), state, limit });
		deepEqual(
			await of("failed"),
			[[first, third], [second]],
			"the last failure comes first, and of equal times the higher id",
		);
		deepEqual(await of("pending", 1), [[sixth], [fifth]], "the next due one comes first");
		deepEqual(await of("delivered"), [[fourth]]);
		deepEqual(await of("cancelled"), [[]]);
		const left = await takeDue(store, programme.receiver_id, 2, START_MS + 100);
		await settle(
			store,
			...left.map((delivery) => ({ kind: "cancelled", delivery, endedAtMs: START_MS + 100 }) as const),
		);
		deepEqual(await of("cancelled"), [[sixth, fifth]]);
	});

	test("deliveries are found by any part of the order id, in this programme alone", async () => {
		const { store } = database;
		const [programme, stranger] = [await addProgramme(store), await addProgramme(store)];
		const id = await addDelivery(store, programme);
		const { rows } = await listDeliveries(store.db, { ...filterOf(programme), limit: 5 });
		const orderId = rows[0]?.orderId ?? "";
		const found = async (filter: Partial<DeliveryFilter>) =>
			(
				await listDeliveries(store.db, {
					...filterOf(programme),
					limit: 5,
					search: readOrderSearch(orderId),
					...filter,
				})
			).rows.map((row) => row.id);
		deepEqual(await found({}), [id]);
		deepEqual(await found({ state: "delivered" }), []);
		deepEqual(await found({ event: "conversion.approved" }), []);
		deepEqual(await found(filterOf(stranger)), []);
		deepEqual(await found({ search: readOrderSearch(orderId.slice(1).toUpperCase()) }), [id]);
		deepEqual(await found({ search: readOrderSearch(`${orderId}x`) }), []);
	});

	test("a delivery that was tried but not delivered shows its newest attempt and the last received status", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const ids = await addDeliveries(store, programme, START_MS, START_MS + 1, START_MS + 2, START_MS + 3);
		const [tried, refused, done] = await takeDue(store, programme.receiver_id, 3, START_MS + 2);
		ok(tried && refused && done);
		await settle(store, retried(tried, START_MS + 2), failed(refused), delivered(done));
		const again = await takeOne(store, programme.receiver_id, START_MS + 2);
		equal(again.id, tried.id);
		const attempt = {
			...ATTEMPT,
			result: "network-error" as const,
			httpStatus: null,
			detail: "ECONNREFUSED (connect)",
		};
		await settle(store, { ...retried(again, START_MS + 60_000), attempt } as Settlement);
		const { rows } = await listDeliveries(store.db, { ...filterOf(programme), limit: 5 });
		deepEqual(
			rows.map(({ id, lastHttpStatus, lastAttempt }) => [
				ids.indexOf(id),
				lastHttpStatus,
				lastAttempt?.result ?? null,
				lastAttempt?.detail ?? null,
			]),
			[
				[3, null, null, null],
				[2, 200, null, null],
				[1, 404, "answered", null],
				[0, 503, "network-error", "ECONNREFUSED (connect)"],
			],
		);
	});

	test("a filter that matches no delivery stops after a bounded number of rows, and the next page continues there", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [first] = await addDeliveries(store, programme, START_MS);
		await addManyDeliveries(store, programme, 2_100);
		await store.db
			.updateTable("events")
			.set({ name: "conversion.approved" })
			.where("id", "=", first ?? 0)
			.execute();
		const filter = { ...filterOf(programme), event: "conversion.approved", limit: 5 } as const;
		const page = await listDeliveries(store.db, filter);
		deepEqual([page.rows, page.isPartial], [[], true]);
		ok(page.next !== null);
		const next = await listDeliveries(store.db, { ...filter, after: page.next });
		deepEqual([next.rows.map((row) => row.id), next.next], [[first], null]);
	});

	test("the progress value that open pages poll changes after a new delivery, an attempt or a call, and otherwise stays the same", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const seen = new Set<string>();
		const look = async () => {
			const progress = await newestProgress(store.db, programme.receiver_id, programme.id);
			equal(progress, await newestProgress(store.db, programme.receiver_id, programme.id));
			seen.add(progress);
		};
		await look();
		await addDelivery(store, programme);
		await look();
		await settle(store, retried(await takeOne(store, programme.receiver_id, START_MS), START_MS + 60));
		await look();
		await addCall(store, programme, {});
		await look();
		equal(seen.size, 4);
	});
});

eachDatabase("a delivery with its attempts", (database) => {
	test("attempts are listed with the newest first and with their URL, and another programme sees nothing", async () => {
		const { store } = database;
		const [programme, stranger] = [await addProgramme(store), await addProgramme(store)];
		const id = await addDelivery(store, programme);
		const endpointId = (await findProgramme(store.db, programme.public_id))?.endpoint_id ?? 0;
		const to = <S extends ReturnType<typeof failed>>(settlement: S): S =>
			"attempt" in settlement
				? { ...settlement, attempt: { ...settlement.attempt, endpointId } }
				: settlement;
		await settle(store, to(retried(await takeOne(store, programme.receiver_id, START_MS), START_MS + 1)));
		await settle(store, to(failed(await takeOne(store, programme.receiver_id, START_MS + 1))));
		const { delivery } = await readAll(store, id);
		const detail = await findDeliveryDetail(store.db, programme.receiver_id, delivery.public_id);
		deepEqual([detail?.state, detail?.attempts, detail?.dueAtMs], ["failed", 2, null]);
		equal(await findDeliveryDetail(store.db, stranger.receiver_id, delivery.public_id), undefined);
		deepEqual(
			(await listAttempts(store.db, id)).map(({ seq, http_status, url }) => [seq, http_status, url]),
			[
				[2, 404, "https://shop.example/postback"],
				[1, 503, "https://shop.example/postback"],
			],
		);
	});
});

eachDatabase("the inbound log", (database) => {
	test("the inbound log is filtered by kind and outcome and searched by order, page by page", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addCall(store, programme, { outcome: "RECORDED", order_id: "A" });
		await addCall(store, programme, { outcome: "bad_signature", http_status: 401 });
		await addCall(store, programme, { kind: "pixel", outcome: "PARKED", order_id: "B" });
		// A pixel call is always answered with status 200, so only the outcome shows that it was refused.
		await addCall(store, programme, { kind: "pixel", outcome: "malformed_amount", order_id: "A" });
		await addCall(store, await addProgramme(store), { order_id: "A" });
		const list = async (filter: Partial<InboundFilter>) =>
			(await listInboundCalls(store.db, { programmeId: programme.id, limit: 10, ...filter })).rows.map(
				(row) => row.outcome,
			);
		deepEqual(await list({}), ["malformed_amount", "PARKED", "bad_signature", "RECORDED"]);
		deepEqual(await list({ kind: "pixel" }), ["malformed_amount", "PARKED"]);
		deepEqual(await list({ result: "refused" }), ["malformed_amount", "bad_signature"]);
		deepEqual(await list({ result: "accepted", kind: "api" }), ["RECORDED"]);
		deepEqual(await list({ orderId: "A" }), ["malformed_amount", "RECORDED"]);
		const first = await listInboundCalls(store.db, { programmeId: programme.id, limit: 3 });
		deepEqual(await list({ after: first.next ?? undefined }), ["RECORDED"]);
	});
});

eachDatabase("the health of callbacks", (database) => {
	test("attempts are counted by the hour, once each, even if two engines count at the same time", async () => {
		const { store, rival } = database;
		const [programme, other] = [await addProgramme(store), await addProgramme(store)];
		const count = { receiverId: programme.receiver_id, quarterMs: START_MS, delivered: 2, failed: 1 };
		await Promise.all(
			[store, rival, store, rival].map((one) =>
				one.transact((trx) => addCallbackCounts(trx, [{ ...count, receiverId: other.receiver_id }, count])),
			),
		);
		deepEqual(
			(await listCallbackQuarters(store.db, programme.receiver_id, START_MS)).map((row) => ({ ...row })),
			[{ quarterMs: START_MS, delivered: 8, failed: 4 }],
		);
		await pruneCallbackCounts(store, START_MS + 1);
		deepEqual(await listCallbackQuarters(store.db, programme.receiver_id, 0), []);
	});

	test("the summary of callbacks covers the last 24 hours, and the chart 14 days including empty ones", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const at = (hoursAgo: number, good: number, bad: number) => ({
			receiverId: programme.receiver_id,
			quarterMs: START_MS - hoursAgo * HOUR_MS,
			delivered: good,
			failed: bad,
		});
		await addCallbackCounts(store.db, [at(0, 3, 1), at(23, 2, 0), at(24, 7, 7), at(24 * 20, 9, 9)]);
		await addDeliveries(store, programme, START_MS - 5_000, START_MS - 4_000);
		const health = await readCallbackHealth(store.db, { ...programme, endpoint_id: 1 }, START_MS);
		deepEqual([health.delivered, health.failed, health.p95Ms], [5, 1, null]);
		deepEqual(health.pending, { count: 2, oldestAtMs: START_MS - 5_000 });
		equal(health.days.length, 14);
		deepEqual(health.days.at(-1), { day: "2026-01-15", delivered: 3, failed: 1 });
		deepEqual(health.days.at(-2), { day: "2026-01-14", delivered: 9, failed: 7 });
		deepEqual(health.days.at(-3), { day: "2026-01-13", delivered: 0, failed: 0 });
		const [delivery] = await takeDue(store, programme.receiver_id, 1, START_MS);
		if (delivery) await settle(store, delivered(delivery));
		equal((await readCallbackHealth(store.db, { ...programme, endpoint_id: 1 }, START_MS)).p95Ms, 32.5);
	});

	test("a cancelled delivery is not counted as an attempt", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDeliveries(store, programme, START_MS, START_MS, START_MS);
		const [a, b, c] = await takeDue(store, programme.receiver_id, 3, START_MS);
		if (!a || !b || !c) throw new Error("not everything was due");
		const settlements: Settlement[] = [
			delivered(a),
			retried(b, START_MS),
			{ kind: "cancelled", delivery: c, endedAtMs: START_MS },
		];
		const pass = createPass(store, createRandom());
		await pass.run(passInput(await addEngine(store, START_MS), START_MS, { settlements }));
		const hours = await listCallbackQuarters(store.db, programme.receiver_id, START_MS);
		deepEqual(
			hours.map(({ quarterMs, delivered, failed }) => [quarterMs, delivered, failed]),
			[[START_MS, 1, 1]],
		);
	});
});

async function walkPages(store: Store, filter: DeliveryFilter): Promise<number[][]> {
	const pages: number[][] = [];
	let after: Cursor | undefined;
	do {
		const page = await listDeliveries(store.db, { ...filter, after });
		pages.push(page.rows.map((row) => row.id));
		after = page.next ?? undefined;
	} while (after !== undefined);
	return pages;
}

async function addManyDeliveries(store: Store, programme: Programme, count: number): Promise<void> {
	await store.transact(async (trx) => {
		for (let start = 0; start < count; start += 300) {
			const rows = Array.from({ length: Math.min(300, count - start) }, () => newConversion(programme.id));
			const made = await trx.insertInto("conversions").values(rows).returning("id").execute();
			const owed = made.map(({ id }) => newOwedEvent(programme, id));
			await store.batch.write(trx, { events: owed });
		}
	});
}

async function addCall(store: Store, programme: Programme, change: Partial<NewInboundCall>): Promise<void> {
	await store.batch.write(store.db, {
		inboundCalls: [
			{
				programme_id: programme.id,
				kind: "api",
				method: "POST",
				target: "/v1/conversions",
				outcome: "RECORDED",
				http_status: change.kind === "pixel" ? 200 : 201,
				at_ms: START_MS,
				...change,
			},
		],
	});
}

function filterOf({ id, receiver_id }: Programme) {
	return { programmeId: id, receiverId: receiver_id };
}
