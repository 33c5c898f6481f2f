// Databases with sealed values of every kind, and what it takes to replace their sealing key.

import { deepEqual, equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import { readCursor, writeCursor } from "#core/domain/cursor.ts";
import { createKeyRing, type KeyRing } from "#core/domain/key-ring.ts";
import { SEALED_FOR, sealText } from "#core/domain/sealing.ts";
import { createMailDispatcher } from "#core/mail/dispatcher.ts";
import { readTokenCookie, tokenCookie } from "#core/people/signed-cookies.ts";
import type { Mail } from "#core/ports.ts";
import { openValue, readSealedValues } from "#core/store/queries/sealed-values.ts";
import { followSealingKey } from "#core/store/queries/sealing-key.ts";
import type { Db, Store } from "#core/store/store.ts";
import { createClickSealer, NO_SUB_IDS } from "#modules/partners/domain/click-token.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createKeptDatabase, KEPT_KEY, readKeptState } from "../support/kept-state.ts";
import { createLog } from "../support/log.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import type { DatabaseKind } from "../support/test-database.ts";

/** The key of the kept database, and keys to replace it. */
export const OLD: string = KEPT_KEY;
export const NEW = "cd".repeat(32);
export const THIRD = "ef".repeat(32);
export const bytesOf = (key: string): Uint8Array => Buffer.from(key, "hex");

const random = createRandom();
const DAY_MS = 86_400_000;
const TOKEN = { name: "session", lifeMs: DAY_MS };
const publicUrl = "https://ringback.example";
const LIST = "events of programme:1";

/** Creates a database with sealed values in nearly all columns. It was filled by the first version. */
export async function createSealedDatabase(t: TestContext, kind: DatabaseKind): Promise<TestDatabase> {
	const database = await createKeptDatabase(kind, readKeptState(1));
	t.after(() => database.remove());
	return database;
}

/** Stores mails that wait. */
export async function enqueueMails(
	store: Store,
	keyRing: KeyRing,
	count: number,
	mailer: { send(mail: Mail): Promise<null> } = { send: async () => null },
): Promise<void> {
	const clock = clockNow();
	const mails = createMailDispatcher({ store, clock, random, keyRing, mailer, log: createLog() });
	for (let n = 0; n < count; n++) {
		const mail = { to: `p${n}@shop.example`, subject: "News", text: `text ${n}`, goodForMs: DAY_MS };
		await store.transact((trx) => mails.enqueue(trx, mail));
	}
	await mails.stop();
}

/** Stores an erasure that is not finished. */
export async function addErasure({ db }: Store, key: string): Promise<void> {
	const words = JSON.stringify({ names: ["Pia Partner"] });
	const sealed_words = sealText(bytesOf(key), SEALED_FOR.erasure("ptn_1"), words, random.bytes(12));
	const at = { erased_at_ms: 1, round: 1, step: 0, position: "", due_at_ms: 1, finished_at_ms: null };
	const subject = { kind: "partner" as const, subject_id: 1, public_id: "ptn_1", erased_by: null };
	await db
		.insertInto("erasures")
		.values({ ...subject, sealed_words, ...at })
		.execute();
}

function clockNow() {
	return {
		nowMs: () => Date.now(),
		monotonicMs: () => performance.now(),
		isSure: () => true,
		after: () => () => undefined,
		yieldLoop: async () => undefined,
	};
}

/** What callers and browsers have: a click ID, a cursor and a session cookie. */
export interface Outside {
	clickId: string;
	cursor: string;
	cookie: string;
}

export function makeOutside(keyRing: KeyRing, atMs = Date.now()): Outside {
	const click = { programmeId: 1, partnershipId: 2, linkId: 3, atMs, subIds: NO_SUB_IDS };
	const line = tokenCookie({ keyRing, publicUrl }, TOKEN, "ab".repeat(32));
	return {
		clickId: createClickSealer(keyRing).seal(click, random.bytes(12)),
		cursor: writeCursor({ keyRing, random }, LIST, { at: 5, id: 6 }),
		cookie: line.split(";")[0] ?? "",
	};
}

/** Returns which of them are accepted with these keys. */
export async function acceptOutside(db: Db, keyRing: KeyRing, { clickId, cursor, cookie }: Outside) {
	await followSealingKey(db, keyRing);
	return {
		click: createClickSealer(keyRing).open(clickId) !== null,
		cursor: readCursor({ keyRing }, LIST, cursor) !== undefined,
		cookie: readTokenCookie({ keyRing, publicUrl }, TOKEN, cookie) !== null,
	};
}

/** Returns the opened values, sorted, without the keys that are kept of former ones. Null stands for a value that did not open. */
export async function readAll(db: Db, ...keys: readonly string[]): Promise<(string | null)[]> {
	const ring = createKeyRing(keys.map(bytesOf));
	const texts: (string | null)[] = [];
	for await (const values of readSealedValues(db)) {
		for (const value of values) {
			if (value.at.table === "kept_keys") continue;
			const text = openValue(ring, value);
			texts.push(text === null ? null : `${value.at.table}.${value.at.column} ${value.boundTo} ${text}`);
		}
	}
	return texts.sort();
}

/** Checks that the key alone opens everything, and that it is the same as before. */
export async function assertReplaced(
	db: Db,
	{ before, key, without }: { before: readonly (string | null)[]; key: string; without: string },
): Promise<void> {
	deepEqual(await readAll(db, key), before, "the new key alone opens everything");
	const former = await readAll(db, without);
	equal(former.filter((text) => text !== null).length, 0, "the former key opens nothing");
}
