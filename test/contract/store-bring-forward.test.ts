// Tests the button that sends pending deliveries now, on both databases. It moves only deliveries that are
// pending as the page showed them, and leaves those that are due or almost due to the engine. Transactions
// that change the same rows at the same moment must still store correct results.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Result } from "#core/domain/fault.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Clock } from "#core/ports.ts";
import { removePostbackUrl } from "#core/programmes/postback-url.ts";
import type { CalledReceiver } from "#core/programmes/receivers.ts";
import {
	resendFailed,
	sendAllWaiting,
	sendSeen,
	setFailedAside,
	type Worked,
} from "#core/programmes/resend.ts";
import { bringForward, bringRemovedForward } from "#core/store/queries/bring-forward.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { holdsSomebodyUp } from "../support/between-statements.ts";
import { removeUrl, setUrl } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addPending, demandNoLimbo } from "../support/pending-rows.ts";
import { readAll, settle, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, failed, retried } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";
import { addPerson, signInAs } from "../support/signed-in.ts";
import { failDeliveries } from "../support/undelivered.ts";
import { until } from "../support/until.ts";

const NOW_MS = START_MS + 5_000;
const LATER_MS = START_MS + 60_000;

const asked = (receiver: CalledReceiver) => ({ receiver, actor: COMMAND_LINE });

eachDatabase("sending pending deliveries now", (database) => {
	test("sending now makes a pending delivery due at once and keeps its number of attempts", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addWaiting(store, programme);
		const other = await addWaiting(store, programme);
		deepEqual(await transactBringForward(store, programme.receiver_id, [{ id, seq: 1 }]), [id]);
		const { delivery, queued } = await readAll(store, id);
		deepEqual([queued?.due_at_ms, queued?.counted, queued?.seq], [NOW_MS, 1, 1]);
		deepEqual([delivery.state, delivery.run, delivery.attempts], ["pending", 1, 1]);
		equal((await readAll(store, other)).queued?.due_at_ms, LATER_MS);
		const taken = await takeOne(store, programme.receiver_id, NOW_MS);
		deepEqual([taken.id, taken.counted], [id, 1], "the next attempt is the second of the seven");
	});

	test("sending now changes no delivery that is due, was tried since, has ended, or belongs to another shop", async () => {
		const { store } = database;
		const [programme, stranger] = [await addProgramme(store), await addProgramme(store)];
		const due = await addDelivery(store, programme, NOW_MS);
		const tried = await addWaiting(store, programme);
		const theirs = await addDelivery(store, stranger, LATER_MS);
		const rows = [
			{ id: due, seq: 0 },
			{ id: tried, seq: 0 },
			{ id: theirs, seq: 0 },
			{ id: 999_999_999, seq: 0 },
		];
		deepEqual(await transactBringForward(store, programme.receiver_id, rows), []);
		equal((await readAll(store, tried)).queued?.due_at_ms, LATER_MS);
		equal((await readAll(store, theirs)).queued?.due_at_ms, LATER_MS);
	});

	test("sending now leaves alone a delivery that is due within five seconds, because it may be in progress", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const soonMs = NOW_MS + 5 * SECOND_MS;
		const [inProgress = 0, soon = 0, later = 0] = await addDeliveries(
			store,
			programme,
			NOW_MS + 1,
			soonMs,
			soonMs + 1,
		);
		const delivery = await takeOne(store, programme.receiver_id, NOW_MS + 1);
		const rows = [inProgress, soon, later].map((id) => ({ id, seq: 0 }));
		deepEqual(await transactBringForward(store, programme.receiver_id, rows), [later]);
		equal((await readAll(store, soon)).queued?.due_at_ms, soonMs);
		// The engine stores its result under the due time that it has read, so the row must still have that due time.
		deepEqual(await settle(store, retried(delivery, LATER_MS)), new Set([inProgress]));
		await demandNoLimbo(store, programme);
	});

	test("sending now changes nothing without a URL, and no delivery of a URL that was removed", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme, LATER_MS);
		const empty = await addProgramme(store);
		await store.transact((trx) => removeUrl(trx, programme.id, NOW_MS));
		equal(await transactBringForward(store, programme.receiver_id, [{ id, seq: 0 }]), null);
		await store.transact((trx) => setUrl(trx, programme.id, "https://shop.example/new", NOW_MS));
		deepEqual(await transactBringForward(store, programme.receiver_id, [{ id, seq: 0 }]), []);
		equal((await readAll(store, id)).queued?.due_at_ms, LATER_MS);
		deepEqual(await transactBringForward(store, empty.receiver_id, [{ id, seq: 0 }]), []);
	});

	if (database.kind === "PostgreSQL") {
		test("sending now does not move a row that another transaction has just moved, because it may be in progress", async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const id = await addWaiting(store, programme);
			let second: Promise<number[] | null> | undefined;
			await store.transact(async (trx) => {
				deepEqual(await bringForward(trx, programme.receiver_id, [{ id, seq: 1 }], NOW_MS), [id]);
				second = transactBringForward(rival, programme.receiver_id, [{ id, seq: 1 }], NOW_MS + 1);
				await until(() => holdsSomebodyUp(trx));
			});
			deepEqual(await second, []);
			const sent = await takeOne(store, programme.receiver_id, NOW_MS);
			deepEqual(
				await settle(store, retried(sent, LATER_MS)),
				new Set([id]),
				"the result of the attempt is stored",
			);
		});
	}

	test("sending all now moves pending deliveries in batches, and none that is due or was tried meanwhile", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addPending(store, programme, 1_100);
		const due = await addDelivery(store, programme, NOW_MS);
		const tried = await addWaiting(store, programme);
		const triedAtMs = { started_at_ms: NOW_MS + 1 };
		await store.db.updateTable("attempts").set(triedAtMs).where("delivery_id", "=", tried).execute();
		const deps = { store, clock: createClock(NOW_MS) };
		equal(expectValue(await sendAllWaiting(deps, asked(programme))).count, 1_100);
		const later = store.db.selectFrom("queue").select("id").where("due_at_ms", ">", NOW_MS);
		deepEqual(
			(await later.where("receiver_id", "=", programme.receiver_id).execute()).map((row) => row.id),
			[tried],
		);
		equal((await readAll(store, due)).queued?.due_at_ms, NOW_MS);
		equal(expectValue(await sendAllWaiting(deps, asked(programme))).count, 0);
	});

	test("after a URL is removed, its pending deliveries become due unless they may be in progress, and those of a newer URL do not", async () => {
		const { store } = database;
		const [programme, other] = [await addProgramme(store), await addProgramme(store)];
		await addPending(store, programme, 1_100);
		const soonMs = NOW_MS + 5 * SECOND_MS;
		const soon = await addDelivery(store, programme, soonMs);
		const theirs = await addDelivery(store, other, LATER_MS);
		await store.transact((trx) => removeUrl(trx, programme.id, NOW_MS));
		await store.transact((trx) => setUrl(trx, programme.id, "https://shop.example/new", NOW_MS));
		const fresh = await addDelivery(store, programme, LATER_MS);
		await store.db.updateTable("queue").set({ endpoint_epoch: 1 }).where("id", "=", fresh).execute();
		equal(await bringRemovedForward(store, createClock(NOW_MS), programme.receiver_id, () => true), true);
		const later = store.db.selectFrom("queue").select(["id", "due_at_ms"]).where("due_at_ms", ">", NOW_MS);
		deepEqual(
			(
				await later
					.where("receiver_id", "in", [programme.receiver_id, other.receiver_id])
					.orderBy("id")
					.execute()
			).map(Object.values),
			[
				[soon, soonMs],
				[theirs, LATER_MS],
				[fresh, LATER_MS],
			],
		);
	});

	test("a button for all deliveries changes no more at once than a page can wait for, and the rest when it is pressed again", async () => {
		const { store } = database;
		const actor = await signInAs(store, await addPerson(store, "staff"));
		const programme = await addProgramme(store);
		const who = { receiver: programme, actor };
		const untilMs = NOW_MS + 60_000;
		const ways: Record<string, (deps: { store: Store; clock: Clock }) => Promise<Result<Worked>>> = {
			"failed, sent again": (deps) => resendFailed(deps, { receivers: [programme], actor }),
			"failed, set aside": (deps) => setFailedAside(deps, who, untilMs),
			"waiting, sent now": (deps) => sendAllWaiting(deps, who),
		};
		for (const [what, press] of Object.entries(ways)) {
			await addPending(store, programme, 4_000);
			if (what.startsWith("failed")) await failAll(store, programme);
			const clock = slowClock();
			const pressed = async () => expectValue(await press({ store, clock }));
			deepEqual(await pressed(), { count: 2_500, isAll: false }, what);
			deepEqual(await pressed(), { count: 1_500, isAll: true }, what);
			deepEqual(await pressed(), { count: 0, isAll: true }, what);
			await demandNoLimbo(store, programme);
			await clear(store, programme);
		}
		await addPending(store, programme, 4_000);
		await failAll(store, programme);
		const command = { receivers: [programme], actor: COMMAND_LINE };
		deepEqual(expectValue(await resendFailed({ store, clock: slowClock() }, command)), {
			count: 4_000,
			isAll: true,
		});
	});

	test("removing a URL brings forward no more deliveries at once than the page can wait for, and the soonest ones first", async () => {
		const { store } = database;
		const actor = await signInAs(store, await addPerson(store, "staff"));
		const programme = await addProgramme(store);
		await addPending(store, programme, 4_000);
		const last = await addDelivery(store, programme, LATER_MS + 5_000);
		const removed = await removePostbackUrl({ store, clock: slowClock() }, programme.public_id, actor);
		deepEqual(expectValue(removed), { count: 1_000, isAll: false }, "pages count up to a thousand");
		const later = store.db
			.selectFrom("queue")
			.select("id")
			.where("due_at_ms", ">", NOW_MS + 10_000);
		const left = await later.where("receiver_id", "=", programme.receiver_id).orderBy("due_at_ms").execute();
		deepEqual([left.length, left.at(-1)?.id], [1_501, last]);
	});

	test("of the selected deliveries, finished ones start a new run, pending ones become due, and changed ones stay as they are", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const ended = await addDelivery(store, programme);
		await settle(store, failed(await takeOne(store, programme.receiver_id, START_MS)));
		const waits = await addWaiting(store, programme);
		const changed = await addWaiting(store, programme);
		const { delivery: theirs } = await readAll(store, await addWaiting(store, await addProgramme(store)));
		const seen = await Promise.all(
			[ended, waits, changed].map(async (id) => {
				const { delivery } = await readAll(store, id);
				return { publicId: delivery.public_id, run: delivery.run, seq: delivery.attempts };
			}),
		);
		const selected = [
			...seen.map((one, index) => (index === 2 ? { ...one, seq: 0 } : one)),
			{ publicId: theirs.public_id, run: 1, seq: 1 },
		];
		const press = () => sendSeen({ store, clock: createClock(NOW_MS) }, asked(programme), selected);
		deepEqual(expectValue(await press()), { resent: 1, sentNow: 1, leftAlone: 2 });
		deepEqual(
			expectValue(await press()),
			{ resent: 0, sentNow: 0, leftAlone: 4 },
			"the second press changes nothing",
		);
		const { delivery, queued } = await readAll(store, ended);
		deepEqual([delivery.state, delivery.run, queued?.due_at_ms], ["pending", 2, NOW_MS]);
		equal((await readAll(store, waits)).queued?.due_at_ms, NOW_MS);
		equal((await readAll(store, changed)).queued?.due_at_ms, LATER_MS);
	});

	test("nothing is sent for a person who was signed out after their request came", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const ended = await addDelivery(store, programme);
		await settle(store, failed(await takeOne(store, programme.receiver_id, START_MS)));
		const waits = await addWaiting(store, programme);
		const [finished, waiting] = [await readAll(store, ended), await readAll(store, waits)];
		const deps = { store, clock: createClock(NOW_MS) };
		const actor = { personId: 1, kind: "staff", sessionId: "gone" } as const;
		const who = { receiver: programme, actor };
		const { public_id: publicId, run, attempts: seq } = finished.delivery;
		const refusals = await Promise.all([
			sendSeen(deps, who, [{ publicId, run, seq }]),
			sendSeen(deps, who, [{ publicId: waiting.delivery.public_id, run: 1, seq: 1 }]),
			resendFailed(deps, { receivers: [programme], actor }),
			sendAllWaiting(deps, who),
		]);
		deepEqual(
			refusals.map((result) => result.ok || result.fault.code),
			Array(4).fill("not_allowed"),
		);
		deepEqual([await readAll(store, ended), await readAll(store, waits)], [finished, waiting]);
	});
});

function transactBringForward(
	store: Store,
	receiverId: ReceiverId,
	waiting: readonly { id: number; seq: number }[],
	nowMs = NOW_MS,
): Promise<number[] | null> {
	return store.transact((trx) => bringForward(trx, receiverId, waiting, nowMs));
}

/** Returns a clock that moves by a second after each batch. */
function slowClock(): Clock {
	const clock = createClock(NOW_MS);
	return {
		...clock,
		yieldLoop: async () => {
			await clock.moveBy(SECOND_MS);
		},
	};
}

/** Marks all pending deliveries of the programme as failed. */
async function failAll({ db }: Store, { receiver_id: id }: Programme): Promise<void> {
	const pending = await db.selectFrom("queue").select("id").where("receiver_id", "=", id).execute();
	await db.transaction().execute((trx) =>
		failDeliveries(
			trx,
			START_MS,
			pending.map((row) => row.id),
		),
	);
}

async function clear({ db }: Store, { receiver_id: id }: Programme): Promise<void> {
	await db.deleteFrom("queue").where("receiver_id", "=", id).execute();
	await db.deleteFrom("undelivered").where("receiver_id", "=", id).execute();
	await db.deleteFrom("events").where("receiver_id", "=", id).execute();
}

/** Adds a delivery that was tried once and is due again a minute later. */
async function addWaiting(store: Store, programme: Parameters<typeof addDelivery>[1]): Promise<number> {
	const id = await addDelivery(store, programme);
	await settle(store, retried(await takeOne(store, programme.receiver_id, START_MS), LATER_MS));
	return id;
}
