// Notices on both databases: one open per programme, nothing counted twice or lost, one mail at a time.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import {
	addFailures,
	changeLastMailed,
	claimMail,
	endOpenNotice,
	findNoticesToMail,
	insertNotice,
	lastMailedAtMs,
	markMailed,
	type Notice,
	type SentMail,
} from "../../src/store/notices.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, newId } from "../support/rows.ts";

eachDatabase("notices of failing callbacks", (database) => {
	test("failures add up in one open notice, which keeps the mail already planned", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await fail(store.db, id, { failures: 1, mailDueAtMs: START_MS + 10 });
		await fail(store.db, id, { failures: 41, mailDueAtMs: START_MS + 99, nowMs: START_MS + 5 });
		const [notice, ...others] = await readNotices(store, id);
		deepEqual(others, []);
		deepEqual([notice?.failures, notice?.mailed_failures, notice?.mail_due_at_ms], [42, 0, START_MS + 10]);
		deepEqual([notice?.opened_at_ms, notice?.updated_at_ms], [START_MS, START_MS + 5]);
		deepEqual([notice?.last_verdict, notice?.last_http_status], ["refused", 404]);
	});

	test("a failure after the mail went out plans the next one", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await fail(store.db, id, { failures: 2, mailDueAtMs: START_MS });
		const notice = await onlyNotice(store, id);
		await markMailed(store.db, notice.id, sentMail(2));
		equal((await onlyNotice(store, id)).mail_due_at_ms, null);
		await fail(store.db, id, { failures: 1, mailDueAtMs: START_MS + 500 });
		deepEqual(
			[(await onlyNotice(store, id)).mail_due_at_ms, (await onlyNotice(store, id)).failures],
			[START_MS + 500, 3],
		);
	});

	test("failures that came while the mail was under way are told in the next one", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await fail(store.db, id, { failures: 2, mailDueAtMs: START_MS });
		const notice = await onlyNotice(store, id);
		equal(await claimMail(store.db, notice, START_MS + 60), true);
		await fail(store.db, id, { failures: 5, mailDueAtMs: START_MS + 70 });
		await markMailed(store.db, notice.id, sentMail(notice.failures));
		const { mailed_failures, failures, mail_due_at_ms } = await onlyNotice(store, id);
		deepEqual([mailed_failures, failures, mail_due_at_ms], [2, 7, START_MS + 900]);
	});

	test("a programme has one open notice and the right count however many engines see it fail", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		await Promise.all(
			Array.from({ length: 16 }, (_, n) =>
				(n % 2 === 0 ? store : rival).transact((trx) => fail(trx, id, { failures: n + 1 })),
			),
		);
		equal((await onlyNotice(store, id)).failures, 136);
	});

	test("the end comes once, and the next failure opens a new notice", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		equal(await endOpenNotice(store.db, id, START_MS), false);
		await fail(store.db, id, { failures: 3 });
		const ended = await Promise.all(
			[store, rival].map(({ transact }) => transact((trx) => endOpenNotice(trx, id, START_MS + 7))),
		);
		equal(ended.filter(Boolean).length, 1);
		await fail(store.db, id, { failures: 1, nowMs: START_MS + 9 });
		deepEqual(
			(await readNotices(store, id)).map((notice) => [notice.failures, notice.ended_at_ms]),
			[
				[3, START_MS + 7],
				[1, null],
			],
		);
	});

	test("a notice that callbacks work again may stand beside an open one", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await fail(store.db, id, {});
		await workAgain(store.db, id, START_MS);
		await workAgain(store.db, id, START_MS);
		equal((await readNotices(store, id)).length, 3);
	});
});

eachDatabase("mailing notices", (database) => {
	test("the programme that waits longest is first, with everything it has to be told", async () => {
		const { store } = database;
		const [early, late] = [await addProgramme(store), await addProgramme(store)];
		await fail(store.db, late.id, { mailDueAtMs: START_MS + 20 });
		await fail(store.db, early.id, { mailDueAtMs: START_MS + 10 });
		await workAgain(store.db, early.id, START_MS + 30);
		deepEqual(await findNoticesToMail(store.db, START_MS + 9), []);
		const found = await findNoticesToMail(store.db, START_MS + 25);
		deepEqual(
			found.map((notice) => [notice.receiver_id, notice.kind]),
			[
				[early.id, "callbacks_failing"],
				[early.id, "callbacks_working_again"],
			],
		);
	});

	test("one of many processes gets to mail a notice, and it comes back if that one dies", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		await fail(store.db, id, { mailDueAtMs: START_MS });
		const notice = await onlyNotice(store, id);
		const claims = await Promise.all(
			Array.from({ length: 8 }, (_, n) =>
				claimMail((n % 2 === 0 ? store : rival).db, notice, START_MS + 60_000 + n),
			),
		);
		equal(claims.filter(Boolean).length, 1);
		equal((await onlyNotice(store, id)).mail_due_at_ms, START_MS + 60_000 + claims.indexOf(true));
	});

	test("of processes that would mail a programme at once, one does", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		for (const fromMs of [null, START_MS]) {
			const claimed = await Promise.all(
				[store, rival, store, rival].map(({ db }) =>
					changeLastMailed(db, id, fromMs, (fromMs ?? 0) + START_MS),
				),
			);
			equal(claimed.filter(Boolean).length, 1);
		}
	});

	test("the time of a programme's last mail is kept", async () => {
		const { store } = database;
		const [mailed, never] = [await addProgramme(store), await addProgramme(store)];
		await changeLastMailed(store.db, mailed.id, null, START_MS + 77);
		deepEqual(
			[...(await lastMailedAtMs(store.db, [mailed.id, never.id]))].sort(([a], [b]) => a - b),
			[
				[mailed.id, START_MS + 77],
				[never.id, null],
			],
		);
	});
});

async function fail(
	db: Db,
	programmeId: number,
	{ failures = 1, mailDueAtMs = START_MS, nowMs = START_MS },
): Promise<void> {
	const last = { lastDeliveryId: 1, lastVerdict: "refused", lastHttpStatus: 404 } as const;
	await addFailures(db, { programmeId, failures, ...last }, { publicId: newId("ntc"), mailDueAtMs }, nowMs);
}

async function workAgain(db: Db, programmeId: number, mailDueAtMs: number): Promise<void> {
	await insertNotice(db, {
		public_id: newId("ntc"),
		receiver_id: programmeId,
		kind: "callbacks_working_again",
		opened_at_ms: START_MS,
		updated_at_ms: START_MS,
		failures: 0,
		mailed_failures: 0,
		mail_due_at_ms: mailDueAtMs,
	});
}

function readNotices(store: Store, programmeId: number): Promise<Notice[]> {
	const query = store.db.selectFrom("notices").selectAll().where("receiver_id", "=", programmeId);
	return query.orderBy("id").execute();
}

async function onlyNotice(store: Store, programmeId: number): Promise<Notice> {
	const [notice, ...others] = await readNotices(store, programmeId);
	if (notice === undefined || others.length > 0) throw new Error("expected exactly one notice");
	return notice;
}

function sentMail(told: number): SentMail {
	return { told, to: ["owner@shop.example"], atMs: START_MS, nextMailAtMs: START_MS + 900 };
}
