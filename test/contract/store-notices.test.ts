// Tests notices on both databases. Each programme has at most one open notice, no failure is lost or counted
// twice, and one mail is sent at a time.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { publishLastingTrouble } from "#core/callbacks/failure-notices.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import { listFailing } from "#core/store/queries/delivery-health.ts";
import {
	addFailures,
	addRecoveries,
	claimNoticeMail,
	endTroubles,
	type FailedAttempts,
	findNoticesToMail,
	findReceiverToMail,
	listNotices,
	markMailed,
	type Notice,
	tellTroubles,
} from "#core/store/queries/notices.ts";
import type { Db, Store } from "#core/store/store.ts";
import { removeUrl } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { failedAttempts, newNotice } from "../support/notices.ts";
import { receiverId } from "../support/receiver-ids.ts";
import { addDeliveries, addProgramme, newId } from "../support/rows.ts";
import { failDeliveries } from "../support/undelivered.ts";

eachDatabase("notices of failing callbacks", (database) => {
	test("failures are added to one open notice, which keeps its first time and its planned mail", async () => {
		const { store } = database;
		const { receiver_id: id } = await addProgramme(store);
		await fail(store.db, id, {}, START_MS + 10);
		const last = {
			failed_attempts: 43,
			failures: 41,
			opened_at_ms: START_MS + 4,
			last_failed_at_ms: START_MS + 5,
			last_delivery_id: 7,
			last_result: "network-error",
			last_verdict: "retry",
			last_http_status: null,
			last_detail: "ECONNREFUSED (connect)",
		} as const;
		await fail(store.db, id, last, START_MS + 99);
		const notice = await onlyNotice(store, id);
		deepEqual([notice.failed_attempts, notice.failures, notice.mailed_failures], [44, 42, 0]);
		deepEqual([notice.opened_at_ms, notice.last_failed_at_ms], [START_MS, START_MS + 5]);
		deepEqual([notice.told_at_ms, notice.mail_due_at_ms], [START_MS + 10, START_MS + 10]);
		deepEqual(
			[
				notice.last_delivery_id,
				notice.last_result,
				notice.last_verdict,
				notice.last_http_status,
				notice.last_detail,
			],
			[7, "network-error", "retry", null, "ECONNREFUSED (connect)"],
		);
	});

	test("failures of many receivers are stored together, and each receiver gets its own notice", async () => {
		const { store } = database;
		const ids = [await addProgramme(store), await addProgramme(store), await addProgramme(store)].map(
			({ receiver_id }) => receiver_id,
		);
		await addFailures(store.db, [
			failedAttempts(ids[1] ?? receiverId(0), { failed_attempts: 4, failures: 0 }),
		]);
		const troubles = await addFailures(
			store.db,
			ids.map((id, index) =>
				failedAttempts(id, { failed_attempts: index + 1, failures: 0, opened_at_ms: START_MS + 9 }),
			),
		);
		deepEqual(
			troubles
				.toSorted((a, b) => a.receiverId - b.receiverId)
				.map(({ receiverId, failedAttempts: attempts, openedAtMs, toldAtMs }) => [
					receiverId,
					attempts,
					openedAtMs - START_MS,
					toldAtMs,
				]),
			[
				[ids[0], 1, 9, null],
				[ids[1], 6, 0, null],
				[ids[2], 3, 9, null],
			],
		);
	});

	test("a mail covers the failures before it was written, and later failures schedule the next mail", async () => {
		const { store } = database;
		const { receiver_id: id } = await addProgramme(store);
		await fail(store.db, id, { failures: 2 });
		const read = await onlyNotice(store, id);
		await fail(store.db, id, { failures: 5 }, START_MS + 70);
		await markMailed(store.db, read, ["owner@shop.example"], START_MS + 900);
		const meanwhile = await onlyNotice(store, id);
		deepEqual([meanwhile.mailed_failures, meanwhile.mail_due_at_ms], [2, START_MS + 900]);
		await markMailed(store.db, meanwhile, [], START_MS + 901);
		equal((await onlyNotice(store, id)).mail_due_at_ms, null);
		await fail(store.db, id, {}, START_MS + 500);
		const again = await onlyNotice(store, id);
		deepEqual([again.mail_due_at_ms, again.failures, again.told_at_ms], [START_MS + 500, 8, START_MS]);
	});

	test("a programme has one open notice with the right count, however many engines report failures", async () => {
		const { store, rival } = database;
		const { receiver_id: id } = await addProgramme(store);
		await Promise.all(
			Array.from({ length: 16 }, (_, n) =>
				(n % 2 === 0 ? store : rival).transact((trx) => fail(trx, id, { failures: n + 1 })),
			),
		);
		const { failures, failed_attempts } = await onlyNotice(store, id);
		deepEqual([failures, failed_attempts], [136, 16]);
	});

	test("a notice ends once, and the next failure opens a new one", async () => {
		const { store, rival } = database;
		const { receiver_id: id } = await addProgramme(store);
		deepEqual(await endTroubles(store.db, [id], "success", START_MS), []);
		await fail(store.db, id, { failures: 3 });
		const ended = await Promise.all(
			[store, rival].map(({ transact }) =>
				transact((trx) => endTroubles(trx, [id], "success", START_MS + 7)),
			),
		);
		deepEqual(
			ended.flat().map(({ receiverId }) => receiverId),
			[id],
		);
		await fail(store.db, id, {}, START_MS + 9);
		deepEqual(
			(await readNotices(store, id)).map((notice) => [notice.failures, notice.ended_at_ms, notice.ended_by]),
			[
				[3, START_MS + 7, "success"],
				[1, null, null],
			],
		);
	});

	test("removing the Postback URL ends visible and watched notices", async () => {
		const { store } = database;
		const [told, watched] = [await addProgramme(store), await addProgramme(store)];
		await fail(store.db, told.receiver_id);
		await addFailures(store.db, [failedAttempts(watched.receiver_id, { failures: 0 })]);
		for (const { id } of [told, watched]) {
			await store.transact((trx) => removeUrl(trx, id, START_MS + 3));
		}
		const { ended_at_ms, ended_by } = await onlyNotice(store, told.receiver_id);
		deepEqual([ended_at_ms, ended_by], [START_MS + 3, "removal"]);
		deepEqual(await readNotices(store, watched.receiver_id), []);
	});

	test("a recovery notice may exist beside an open one", async () => {
		const { store } = database;
		const { receiver_id: id } = await addProgramme(store);
		await fail(store.db, id);
		await workAgain(store.db, id, START_MS);
		await workAgain(store.db, id, START_MS);
		equal((await readNotices(store, id)).length, 3);
	});
});

eachDatabase("failures that last", (database) => {
	const never = () => false;

	test("a notice that was watched for ten minutes becomes visible once, whichever process comes first", async () => {
		const { store, rival } = database;
		const [early, late] = [await addProgramme(store), await addProgramme(store)];
		await addFailures(store.db, [
			failedAttempts(early.receiver_id, { failures: 0 }),
			failedAttempts(late.receiver_id, { failures: 0, opened_at_ms: START_MS + 1 }),
		]);
		const nowMs = START_MS + 10 * MINUTE_MS;
		equal(await publishLastingTrouble({ store, clock: createClock(nowMs - 1) }, never), 0);
		const told = await Promise.all(
			[store, rival].map((each) => publishLastingTrouble({ store: each, clock: createClock(nowMs) }, never)),
		);
		deepEqual(told.toSorted(), [0, 1]);
		const notice = await onlyNotice(store, early.receiver_id);
		deepEqual([notice.told_at_ms, notice.mail_due_at_ms], [nowMs, nowMs]);
		equal((await onlyNotice(store, late.receiver_id)).told_at_ms, null);
		equal((await listNotices(store.db, early.receiver_id, { limit: 5 })).rows.length, 1);
	});

	test("a failure after the URL was removed is forgotten and makes no notice visible", async () => {
		const { store } = database;
		const { id: programmeId, receiver_id: id } = await addProgramme(store);
		await store.transact((trx) => removeUrl(trx, programmeId, START_MS));
		await addFailures(store.db, [failedAttempts(id, { failures: 0 })]);
		await publishLastingTrouble({ store, clock: createClock(START_MS + 10 * MINUTE_MS) }, never);
		deepEqual(await readNotices(store, id), []);
	});
});

eachDatabase("shops whose callbacks are failing", (database) => {
	test("shops with failing callbacks are listed by their undelivered callbacks, without watched and ended notices and programmes without a URL", async () => {
		const { store } = database;
		const [few, many, watched, ended, removed] = await Promise.all(
			Array.from({ length: 5 }, () => addProgramme(store)),
		);
		if (!few || !many || !watched || !ended || !removed) throw new Error("five were added");
		await addDeliveries(store, few, START_MS);
		const [, failedId = 0] = await addDeliveries(store, many, START_MS, START_MS, START_MS);
		await failDeliveries(store.db, START_MS, [failedId]);
		await store.db
			.insertInto("notices")
			.values([
				newNotice(few.receiver_id, { opened_at_ms: START_MS - 9 }),
				newNotice(many.receiver_id, { last_delivery_id: failedId }),
				newNotice(watched.receiver_id, { told_at_ms: null, failures: 0 }),
				newNotice(ended.receiver_id, { ended_at_ms: START_MS, ended_by: "success" }),
				newNotice(removed.receiver_id),
			])
			.execute();
		await store.db
			.updateTable("receivers")
			.set({ endpoint_id: null })
			.where("id", "=", removed.receiver_id)
			.execute();
		const ours = new Set([few, many, watched, ended, removed].map(({ public_id }) => public_id));
		const { receivers } = await listFailing(store.db, "shop", 1_000, START_MS);
		deepEqual(
			receivers
				.filter(({ publicId }) => ours.has(publicId))
				.map(({ publicId, waiting, failed: lost, sinceMs }) => [publicId, waiting, lost, sinceMs - START_MS]),
			[
				[many.public_id, 2, 1, 0],
				[few.public_id, 1, 0, -9],
			],
		);
		const first = await listFailing(store.db, "shop", 1, START_MS);
		deepEqual([first.receivers.length, first.more >= 1], [1, true]);
	});
});

eachDatabase("mailing notices", (database) => {
	test("the programme whose mail has waited longest comes first, with all its notices", async () => {
		const { store } = database;
		const [early, late] = [await addProgramme(store), await addProgramme(store)];
		await fail(store.db, late.receiver_id, {}, START_MS + 20);
		await fail(store.db, early.receiver_id, {}, START_MS + 10);
		await workAgain(store.db, early.receiver_id, START_MS + 30);
		equal(await findReceiverToMail(store.db, START_MS + 9), undefined);
		equal((await findReceiverToMail(store.db, START_MS + 25))?.programmeId, early.id);
		const found = await findNoticesToMail(store.db, early.receiver_id);
		deepEqual(
			found.map((notice) => [notice.receiver_id, notice.kind]),
			[
				[early.receiver_id, "callbacks_failing"],
				[early.receiver_id, "callbacks_working_again"],
			],
		);
	});

	test("if several processes try to mail a programme at once, one sends the mail and stores the time", async () => {
		const { store, rival } = database;
		const [{ receiver_id: id }, never] = [await addProgramme(store), await addProgramme(store)];
		for (const nowMs of [START_MS, START_MS + 60]) {
			const claimed = await Promise.all(
				[store, rival, store, rival].map(({ db }) => claimNoticeMail(db, id, nowMs - 60, nowMs)),
			);
			equal(claimed.filter(Boolean).length, 1);
		}
		const troubles = await addFailures(store.db, [failedAttempts(id), failedAttempts(never.receiver_id)]);
		const mailed = new Map(troubles.map(({ receiverId, lastMailedAtMs }) => [receiverId, lastMailedAtMs]));
		deepEqual([mailed.get(id), mailed.get(never.receiver_id)], [START_MS + 60, null]);
	});
});

/** Adds a visible notice, as a final failure does. Its mail is due at the given time. */
async function fail(
	db: Db,
	receiverId: ReceiverId,
	change: Partial<FailedAttempts> = {},
	mailDueAtMs = START_MS,
): Promise<void> {
	const [trouble] = await addFailures(db, [failedAttempts(receiverId, change)]);
	await tellTroubles(db, [trouble?.id ?? 0], mailDueAtMs);
}

async function workAgain(db: Db, receiverId: ReceiverId, mailDueAtMs: number): Promise<void> {
	await addRecoveries(db, [{ receiverId, publicId: newId("ntc") }], mailDueAtMs);
}

function readNotices(store: Store, receiverId: ReceiverId): Promise<Notice[]> {
	const query = store.db.selectFrom("notices").selectAll().where("receiver_id", "=", receiverId);
	return query.orderBy("id").execute();
}

async function onlyNotice(store: Store, receiverId: ReceiverId): Promise<Notice> {
	const [notice, ...others] = await readNotices(store, receiverId);
	if (notice === undefined || others.length > 0) throw new Error("expected exactly one notice");
	return notice;
}
