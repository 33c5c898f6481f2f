// Stored state of which key seals, which all processes share. A transaction that seals something first reads this
// state under a shared lock, and `ringback rekey` replaces the key under an exclusive lock. Once the replacement is
// committed, no transaction stores anything that is sealed by the former key.
//
//   announce: next = new ──▶ replace: present = new, former = old ──▶ finish: nothing sealed by the former key is left

import type { Selectable } from "kysely";
import { sql } from "kysely";
import * as z from "zod";
import { type KeptKeys, type KeyRing, keyIdOf } from "../../domain/key-ring.ts";
import { openText, SEALED_FOR } from "../../domain/sealing.ts";
import { type Locked, lockRow } from "../locked.ts";
import type { Db } from "../store.ts";
import type { ProcessesTable } from "../tables/network.ts";
import type { KeptKeysTable, KeptKind, SealingKeyTable } from "../tables/sealing.ts";
import { openValue, readNewestSealed } from "./sealed-values.ts";

export type SealingKeyRow = Selectable<SealingKeyTable>;
export type { KeptKind } from "../tables/sealing.ts";

/** Thrown if this process does not have the key that seals. */
export class UnknownSealingKeyError extends Error {}

export function readSealingKey(db: Db): Promise<SealingKeyRow> {
	return db.selectFrom("sealing_key").selectAll().executeTakeFirstOrThrow();
}

export async function lockSealingKey(trx: Db): Promise<Locked<SealingKeyRow>> {
	const row = await lockRow(trx, trx.selectFrom("sealing_key").selectAll());
	if (row === undefined) throw new Error("the table sealing_key always has a row");
	return row;
}

/** Returns whether values that are sealed by the former key may still exist. */
export function isReplacing({ former_id, resealed_at_ms }: SealingKeyRow): boolean {
	return former_id !== null && resealed_at_ms === null;
}

/**
 * Sealing keys of transactions that have read theirs. The shared lock keeps the key the same until the transaction
 * ends.
 */
const keyOfTransaction = new WeakMap<Db, Uint8Array>();

/** Returns the key with which the transaction must seal what it stores. */
export async function sealingKeyIn(trx: Db, keyRing: KeyRing): Promise<Uint8Array> {
	const cached = keyOfTransaction.get(trx);
	if (cached !== undefined) return cached;
	if (!trx.isTransaction) throw new Error("a value can be sealed only in the transaction that stores it");
	const presentId = (await readPresentId(trx, keyRing)) ?? (await adoptKey(trx, keyRing));
	const key = findKey(keyRing, presentId);
	keyOfTransaction.set(trx, key);
	return key;
}

async function readPresentId(trx: Db, keyRing: KeyRing): Promise<string | null> {
	// As far as this process knows, nothing was sealed yet. The key is then chosen under an exclusive lock, because two
	// transactions that both hold a shared lock could not upgrade it.
	if (keyRing.use.presentId === null) return null;
	const { present_id } = await trx
		.selectFrom("sealing_key")
		.select("present_id")
		.forShare()
		.executeTakeFirstOrThrow();
	return present_id;
}

function findKey(keyRing: KeyRing, id: string): Uint8Array {
	const key = keyRing.find(id);
	if (key !== undefined) return key;
	keyRing.reload();
	const read = keyRing.find(id);
	if (read !== undefined) return read;
	throw new UnknownSealingKeyError(
		`this process does not know the sealing key ${id}, which replaced the one it knows: restart it with the settings of the others`,
	);
}

/**
 * Stores which key seals, if that is not stored yet. In a new database it is the first key, and after an upgrade the
 * key that opens the sealed values. Returns the id of the key.
 */
export async function adoptKey(trx: Db, keyRing: KeyRing): Promise<string> {
	const { present_id: stored } = await lockSealingKey(trx);
	if (stored !== null && (keyRing.find(stored) !== undefined || (await hasSealed(trx)))) {
		keyRing.follow({ ...keyRing.use, presentId: stored });
		return stored;
	}
	// If nothing is sealed, a stored id belongs to a key that was lost before it was used.
	const presentId = await findKeyInUse(trx, keyRing);
	await trx
		.updateTable("sealing_key")
		.set({ present_id: presentId, former_id: null, next_id: null, changes: sql`changes + 1` })
		.execute();
	keyRing.follow({ ...keyRing.use, presentId });
	return presentId;
}

async function hasSealed(db: Db): Promise<boolean> {
	return (await readNewestSealed(db)).length > 0;
}

async function findKeyInUse(db: Db, keyRing: KeyRing): Promise<string> {
	const newest = await readNewestSealed(db);
	const inUse = keyRing.keys.find((key) =>
		newest.some((value) => openValue({ keys: [key] }, value) !== null),
	);
	const key = inUse ?? keyRing.keys[0];
	if (key === undefined) throw new Error("the key ring has no key");
	return keyIdOf(key);
}

// State that processes read to follow a replacement of the sealing key.

const KEPT = z.record(z.string(), z.string());

/** Makes the key ring use the keys that the database names. Returns the state that was read. */
export async function followSealingKey(db: Db, keyRing: KeyRing): Promise<SealingKeyRow> {
	const row = await readSealingKey(db);
	const { present_id: presentId, former_id: formerId } = row;
	if ([presentId, row.next_id].some((id) => id !== null && keyRing.find(id) === undefined)) keyRing.reload();
	const kept = await db.selectFrom("kept_keys").select(["former_id", "kind", "sealed"]).execute();
	keyRing.follow({ presentId, formerId, kept: openKept(keyRing, kept) });
	return row;
}

function openKept(
	ring: Pick<KeyRing, "keys">,
	rows: readonly Pick<KeptKeysTable, "former_id" | "kind" | "sealed">[],
): KeptKeys {
	const kept = new Map<string, Uint8Array[]>();
	for (const { former_id, kind, sealed } of rows) {
		const text = openText(ring, SEALED_FOR.keptKeys(`${former_id} ${kind}`), sealed);
		// If its key is missing, a cookie, a cursor or a click ID is not recognized, as if another installation had made
		// it.
		if (text === null) continue;
		for (const [use, key] of Object.entries(KEPT.parse(JSON.parse(text)))) {
			kept.set(use, [...(kept.get(use) ?? []), Buffer.from(key, "base64")]);
		}
	}
	return kept;
}

export type ProcessKeys = Selectable<ProcessesTable>;

export function listProcessKeys(db: Db): Promise<ProcessKeys[]> {
	return db.selectFrom("processes").selectAll().orderBy("started_at_ms").execute();
}

/** Stores which keys a process knows. `ringback rekey` waits until all processes know the new key. */
export async function storeKnownKeys(db: Db, instance: string, knownKeys: string): Promise<void> {
	await db.updateTable("processes").set({ known_keys: knownKeys }).where("instance", "=", instance).execute();
}

// The following functions are the steps of a replacement.

export async function announceKey(trx: Db, _: Locked<SealingKeyRow>, nextId: string): Promise<void> {
	await trx.updateTable("sealing_key").set({ next_id: nextId, changes: sql`changes + 1` }).execute();
}

/** Makes the announced key the one that seals. */
export async function replaceKey(
	trx: Db,
	{ present_id: formerId }: Locked<SealingKeyRow>,
	presentId: string,
	nowMs: number,
): Promise<void> {
	await trx
		.updateTable("sealing_key")
		.set({
			...{ present_id: presentId, former_id: formerId, next_id: null },
			...{ replaced_at_ms: nowMs, resealed_at_ms: null, changes: sql`changes + 1` },
		})
		.execute();
}

/** Records that no value is sealed by the former key any more. */
export async function finishReplacing(trx: Db, _: Locked<SealingKeyRow>, nowMs: number): Promise<void> {
	await trx.updateTable("sealing_key").set({ resealed_at_ms: nowMs, changes: sql`changes + 1` }).execute();
}

export interface NewKeptKeys {
	kind: KeptKind;
	keys: ReadonlyMap<string, Uint8Array>;
	expiresAtMs: number | null;
}

/** Stores derived keys of a former sealing key. `seal` encrypts a text and binds it to its owner. */
export async function keepKeys(
	trx: Db,
	formerId: string,
	all: readonly NewKeptKeys[],
	seal: (boundTo: string, text: string) => string,
): Promise<void> {
	const rows = all.map(({ kind, keys, expiresAtMs }) => {
		const json = Object.fromEntries(
			[...keys].map(([use, key]) => [use, Buffer.from(key).toString("base64")]),
		);
		return {
			...{ former_id: formerId, kind, expires_at_ms: expiresAtMs },
			sealed: seal(SEALED_FOR.keptKeys(`${formerId} ${kind}`), JSON.stringify(json)),
		};
	});
	if (rows.length === 0) return;
	// A key may become the former key for the second time. Its derived keys that were stored then are replaced.
	await trx
		.deleteFrom("kept_keys")
		.where("former_id", "=", formerId)
		.where(
			"kind",
			"in",
			rows.map(({ kind }) => kind),
		)
		.execute();
	await trx.insertInto("kept_keys").values(rows).execute();
}

/**
 * Removes the stored keys for click IDs of former sealing keys. Sales after such clicks are then credited to nobody.
 * Returns whether any key was removed.
 */
export async function endKeptClicks(trx: Db, _: Locked<SealingKeyRow>): Promise<boolean> {
	const { numDeletedRows } = await trx
		.deleteFrom("kept_keys")
		.where("kind", "=", "clicks")
		.executeTakeFirst();
	if (numDeletedRows === 0n) return false;
	await trx.updateTable("sealing_key").set({ changes: sql`changes + 1` }).execute();
	return true;
}
