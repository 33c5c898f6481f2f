import { deepEqual, equal, match } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { makeStillClock } from "../../../test/support/clock.ts";
import { createLog } from "../../../test/support/log.ts";
import { newNotice } from "../../../test/support/notices.ts";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { createMigratedSqlite } from "../../../test/support/sqlite-database.ts";
import { createRandom } from "../../outside/random.ts";
import { createKeyRing } from "../domain/key-ring.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import type { Mailer } from "../ports.ts";
import { listUnsentMails } from "../store/queries/mail-queue.ts";
import { createMailDispatcher, type WrittenMail } from "./dispatcher.ts";

const START_MS = Date.UTC(2026, 2, 1, 12);
const LETTER = { to: "one@shop.example", subject: "Hello", text: "Hello.", goodForMs: 7 * DAY_MS };
const NO_MAILBOX = { reason: "550 no such mailbox" };

test("a mail that the server refuses is tried eight times over about a day and then given up, and staff see both", async (t) => {
	const { store, write, tryFor } = await open(t, async () => NO_MAILBOX);
	await write(LETTER);
	deepEqual(await tryFor(2 * DAY_MS), [0, 1, 6, 21, 81, 261, 621, 1341]);
	const [unsent] = await listUnsentMails(store.db, 5);
	deepEqual(
		[unsent?.to_address, unsent?.due_at_ms, unsent?.given_up_at_ms, unsent?.refusal],
		["one@shop.example", null, START_MS + 1341 * MINUTE_MS, NO_MAILBOX.reason],
	);
});

test("while the server itself fails, a mail is tried every minute until it expires, and no try counts", async (t) => {
	let isAway = true;
	const acceptedTexts: string[] = [];
	const { store, write, tryFor } = await open(t, async ({ text }) => {
		if (isAway) throw new Error("ECONNREFUSED");
		acceptedTexts.push(text);
		return null;
	});
	await store.db.updateTable("network").set({ time_zone: "Europe/Berlin" }).execute();
	await write({ ...LETTER, goodForMs: 5 * MINUTE_MS });
	deepEqual(await tryFor(DAY_MS / 24), [0, 1, 2, 3, 4]);
	match((await listUnsentMails(store.db, 5))[0]?.refusal ?? "", /ECONNREFUSED/);
	await write(LETTER, { ...LETTER, to: "two@shop.example" });
	equal((await tryFor(30 * MINUTE_MS)).length, 31, "one try a round: the other mail would wait in vain, too");
	const waiting = (await listUnsentMails(store.db, 5)).filter(({ due_at_ms }) => due_at_ms !== null);
	deepEqual(
		waiting.map(({ refusal }) => refusal),
		["ECONNREFUSED", "ECONNREFUSED"],
		"staff see them before they are given up",
	);
	isAway = false;
	await write(LETTER);
	await tryFor(2 * MINUTE_MS);
	equal((await listUnsentMails(store.db, 5)).length, 1);
	const late =
		"This mail was written at 2026-03-01 14:01 (Europe/Berlin) and could not be sent earlier.\n\nHello.";
	deepEqual(acceptedTexts.toSorted(), ["Hello.", late, late]);
});

test("if the server refuses one of two recipients, the other still gets the mail, and the notice records both", async (t) => {
	const { store, write, move, tryFor } = await open(t, async ({ to }) =>
		to === LETTER.to ? NO_MAILBOX : null,
	);
	const news = { ...LETTER, topic: "callbacks:1", writtenAtMs: START_MS };
	const mailed = { mailed_at_ms: START_MS, mailed_to: `${LETTER.to}, two@shop.example` };
	const notices = [
		newNotice(receiverId(1), mailed),
		newNotice(receiverId(2), mailed),
		newNotice(receiverId(1), { mailed_at_ms: 1, ended_at_ms: 2 }),
	];
	await store.db.insertInto("notices").values(notices).execute();
	await write(news);
	// The clock moves while the rows are written, as in production.
	move(3);
	await write({ ...news, to: "two@shop.example" });
	equal((await tryFor(DAY_MS)).length, 9, "one@ eight times, two@ once");
	const storedNotices = await store.db
		.selectFrom("notices")
		.select("mail_refused_to")
		.orderBy("id")
		.execute();
	deepEqual(
		storedNotices.map(({ mail_refused_to: refusedTo }) => refusedTo),
		[LETTER.to, null, null],
	);
});

test("a mail that cannot be unsealed or has expired is given up without a try", async (t) => {
	const { store, write, tryFor, move } = await open(t, async () => null);
	await write(LETTER, { ...LETTER, goodForMs: MINUTE_MS });
	await store.db.updateTable("mail_queue").set({ sealed_text: "x" }).where("id", "=", 1).execute();
	move(MINUTE_MS);
	deepEqual(await tryFor(MINUTE_MS), []);
	equal((await listUnsentMails(store.db, 5)).length, 2);
});

async function open(t: TestContext, send: Mailer["send"]) {
	const database = await createMigratedSqlite();
	t.after(database.remove);
	const store = database.open();
	let nowMs = START_MS;
	const tries: number[] = [];
	const mails = createMailDispatcher({
		store,
		clock: makeStillClock(() => nowMs),
		random: createRandom(),
		keyRing: createKeyRing([new Uint8Array(32).fill(7)]),
		log: createLog(),
		mailer: {
			send(mail) {
				tries.push(nowMs);
				return send(mail);
			},
		},
	});
	return {
		store,
		write: (...letters: readonly WrittenMail[]) =>
			store.transact(async (trx) => {
				for (const letter of letters) await mails.enqueue(trx, letter);
			}),
		move: (byMs: number) => {
			nowMs += byMs;
		},
		/** Returns when sending the mail was tried, in minutes from the start of the period. */
		async tryFor(durationMs: number): Promise<number[]> {
			const startMs = nowMs;
			const endMs = nowMs + durationMs;
			for (; nowMs <= endMs; nowMs += MINUTE_MS) {
				mails.wake();
				await mails.settled();
			}
			return tries.splice(0).map((atMs) => (atMs - startMs) / MINUTE_MS);
		},
	};
}
