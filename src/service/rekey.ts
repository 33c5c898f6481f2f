// Implements `ringback rekey`, which replaces the sealing key while processes run:
//
//   1. The new key is in the settings or in a second key file, and is announced in the database.
//   2. All processes know the new key.
//   3. The new key seals from now on. Derived keys that must outlive the former key are stored.
//   4. Everything that the former key sealed is sealed again.
//   5. Nothing sealed by the former key is left, so it may be removed. A key file gets its final name.
//
// Each step can be repeated, so an interrupted command is simply run again, and two commands at once do no harm.
// Every process can open everything at every moment, because it knows both keys from step 2 on.

import { renameSync } from "node:fs";
import { dirname } from "node:path";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { CURSOR_USE, clickUse, cookieUse, deriveKey, keyIdOf } from "#core/domain/key-ring.ts";
import { isReplaced, isSilent, SILENT_AFTER_MS } from "#core/domain/process.ts";
import { SEALING_IV_BYTES, sealText } from "#core/domain/sealing.ts";
import { DAY_MS, isoTime, SECOND_MS } from "#core/domain/time.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import {
	lockFreeValues,
	openValue,
	readSealedValues,
	replaceSealed,
	type SealedValue,
} from "#core/store/queries/sealed-values.ts";
import {
	adoptKey,
	announceKey,
	endKeptClicks,
	finishReplacing,
	isReplacing,
	keepKeys,
	listProcessKeys,
	lockSealingKey,
	type NewKeptKeys,
	type ProcessKeys,
	readSealingKey,
	replaceKey,
	type SealingKeyRow,
	sealingKeyIn,
} from "#core/store/queries/sealing-key.ts";
import { MAX_SESSION_DAYS } from "#core/store/queries/sessions.ts";
import type { Db } from "#core/store/store.ts";
import { MAX_CLICK_DAYS } from "#modules/partners/use-cases/terms.ts";
import { fileOwner, nameAlso, syncFolder } from "../outside/durable-file.ts";
import { readKeyFile, readOrMakeKeyFile } from "../outside/key-file.ts";
import type { Tell } from "./file-work.ts";
import { keyFilesOf } from "./sealing-keys.ts";
import type { Workplace } from "./workplace.ts";

export interface RekeyRequest {
	/** True if click IDs that were sealed with a former key must no longer credit anybody. */
	endClicks: boolean;
	tell: Tell;
}

export interface RekeyReport {
	/** True if another key sealed before. False if the key in the settings already sealed all values. */
	isReplaced: boolean;
	presentId: string;
	formerId: string | null;
	/** Numbers of values that were sealed again, by table. */
	resealed: ReadonlyMap<string, number>;
	/** Numbers of values that no known key opens, by table. They were already unreadable before. */
	unopened: ReadonlyMap<string, number>;
	hasEndedClicks: boolean;
	/** Path under which the former key file was kept, or null. */
	keptAside: string | null;
	/** True if the keys are in files, so that no setting has to be changed. */
	isInFiles: boolean;
}

export interface RekeyPlan {
	presentId: string;
	/** Id of the new key, or null if the command will create the key. */
	nextId: string | null;
	sealed: number;
	/** Number of values that are sealed by a key other than the one that seals now. */
	former: number;
	/** Numbers of values that would be sealed again, by table. */
	stale: ReadonlyMap<string, number>;
	unopened: ReadonlyMap<string, number>;
	/** Names of running processes that do not know the new key. */
	unaware: readonly string[];
	isInFiles: boolean;
}

/** Number of values that are sealed again in one transaction. On SQLite, other writers wait for the transaction. */
const RESEALED_AT_ONCE = 100;
const PROGRESS_EVERY_MS = 2 * SECOND_MS;
/** Time between two checks of the processes, or of rows that another transaction had locked. */
const LOOK_AGAIN_MS = SECOND_MS / 2;
/**
 * Time within which a running process learns the new key. If its reports still lack the key after that, it will never
 * learn it.
 */
const LEARNING_MS = 15 * SECOND_MS;
/** Maximum time to wait for a process that sends no reports. After that it counts as ended. */
const WAIT_MS: number = SILENT_AFTER_MS + LEARNING_MS;
/**
 * Time after a replacement in which a running process may still make click IDs with the former key. Processes check
 * the key every five seconds (upkeep.ts).
 */
const FOLLOWING_MS = 10 * SECOND_MS;

export async function rekey(workplace: Workplace, request: RekeyRequest): Promise<Result<RekeyReport>> {
	const { store, keyRing } = workplace;
	const announced = await announce(workplace);
	if (!announced.ok) return announced;
	const { target, isNew } = announced.value;
	const targetId = keyIdOf(target);
	if (isNew) {
		const waited = await waitForProcesses(workplace, targetId, request.tell);
		if (!waited.ok) return waited;
		const replaced = await store.transact((trx) => replace(trx, workplace, target, request.tell));
		if (!replaced.ok) return replaced;
	}
	const resealed = new Map<string, number>();
	let unopened: ReadonlyMap<string, number>;
	for (;;) {
		const pass = await resealAll(workplace, target, resealed, request.tell);
		if (!pass.ok) return pass;
		({ unopened } = pass.value);
		if (pass.value.left === 0) break;
		request.tell(`waiting for ${pass.value.left} values that are in use`);
		await pause(workplace);
	}
	if (request.endClicks) await waitForFollowers(workplace, request.tell);
	const finished = await store.transact((trx) => finish(trx, workplace, targetId, request));
	if (!finished.ok) return finished;
	const { row, hasEndedClicks } = finished.value;
	const keptAside = isInFiles(workplace)
		? await store.transact((trx) => settleKeyFiles(trx, pathOf(workplace), workplace.clock.nowMs()))
		: null;
	keyRing.reload();
	return succeed({
		...{ isReplaced: isNew || announced.value.isContinued || keptAside !== null, presentId: targetId },
		...{ formerId: row.former_id, resealed, unopened, hasEndedClicks, keptAside },
		isInFiles: isInFiles(workplace),
	});
}

export async function planRekey(workplace: Workplace): Promise<RekeyPlan> {
	const { store, keyRing } = workplace;
	const row = await readSealingKey(store.db);
	const presentId = row.present_id ?? keyRing.ids[0] ?? "";
	const key = findTarget(workplace, row);
	const nextId = key === null ? null : keyIdOf(key);
	const present = keyRing.find(presentId);
	let sealed = 0;
	let former = 0;
	const stale = new Map<string, number>();
	const unopened = new Map<string, number>();
	for await (const values of readSealedValues(store.db)) {
		sealed += values.length;
		for (const value of values) {
			if (openValue(keyRing, value) === null) count(unopened, value);
			else if (key === null || openValue({ keys: [key] }, value) === null) count(stale, value);
			if (present !== undefined && openValue({ keys: [present] }, value) === null) former++;
		}
	}
	former -= sumCounts(unopened);
	const unaware = isInFiles(workplace) || nextId === null ? [] : await findUnaware(workplace, nextId);
	return {
		...{ presentId, nextId, sealed, former, stale, unopened },
		...{ unaware: unaware.map(sayProcess), isInFiles: isInFiles(workplace) },
	};
}

function isInFiles({ config }: Workplace): boolean {
	return config.secretKey === null;
}

function pathOf({ config: { database } }: Workplace): string {
	if (database.kind !== "sqlite") throw new Error("only a SQLite file has key files");
	return database.path;
}

/** Returns the key that will seal, or null if it does not exist yet. */
function findTarget(workplace: Workplace, row: SealingKeyRow): Uint8Array | null {
	const { config, keyRing } = workplace;
	if (config.secretKey !== null) return config.secretKey;
	if (isReplacing(row)) return keyRing.find(row.present_id ?? "") ?? null;
	const { present, next } = keyFilesOf(pathOf(workplace));
	const key = readKeyFile(next);
	if (key !== null && keyIdOf(key) !== row.former_id) return key;
	// If the file of the present key is missing, that key comes from RINGBACK_FORMER_SECRET_KEY.
	const existing = readKeyFile(present);
	return existing === null || keyIdOf(existing) === row.present_id ? null : existing;
}

interface Announced {
	target: Uint8Array;
	isNew: boolean;
	/** True if an earlier, interrupted command has already begun to replace the former key. */
	isContinued: boolean;
}

/**
 * Creates the new key if keys are in files, and announces it. The files are changed under a lock of the database, so
 * that two commands at once do not interfere.
 */
function announce(workplace: Workplace): Promise<Result<Announced>> {
	const { store, keyRing, log } = workplace;
	return store.transact(async (trx): Promise<Result<Announced>> => {
		await adoptKey(trx, keyRing);
		const row = await lockSealingKey(trx);
		const target = findTarget(workplace, row) ?? makeKey(workplace);
		const targetId = keyIdOf(target);
		if (row.present_id === targetId) {
			return succeed({ target, isNew: false, isContinued: isReplacing(row) });
		}
		if (isReplacing(row)) {
			return refuse(
				"rekey_under_way",
				`Another replacement of the sealing key, by the key ${row.present_id}, is not finished. Set RINGBACK_SECRET_KEY to that key, and run this again.`,
			);
		}
		keyRing.reload();
		await announceKey(trx, row, targetId);
		log.info({ keyId: targetId }, "announced a new sealing key");
		return succeed({ target, isNew: true, isContinued: false });
	});
}

function makeKey(workplace: Workplace): Uint8Array {
	const { present, next } = keyFilesOf(pathOf(workplace));
	const { key } = readOrMakeKeyFile(next, fileOwner(present));
	// The new file must survive a power cut before anything is sealed with its key.
	syncFolder(dirname(next));
	return key;
}

async function waitForProcesses(workplace: Workplace, targetId: string, tell: Tell): Promise<Result<true>> {
	const { clock } = workplace;
	const sinceMs = clock.nowMs();
	let told = "";
	for (;;) {
		const unaware = await findUnaware(workplace, targetId);
		if (unaware.length === 0) return succeed(true);
		const isLate = unaware.some(({ seen_at_ms: seenAtMs }) => seenAtMs > sinceMs + LEARNING_MS);
		if (isLate || clock.nowMs() - sinceMs > WAIT_MS) return refuseUnaware(unaware);
		const names = unaware.map(sayProcess).join(", ");
		if (names !== told) tell(`waiting until these processes know the new key: ${names}`);
		told = names;
		await pause(workplace);
	}
}

async function findUnaware({ store, clock }: Workplace, targetId: string): Promise<ProcessKeys[]> {
	const all = await listProcessKeys(store.db);
	return all.filter(
		(record) =>
			!isSilent(record, clock.nowMs()) &&
			!isReplaced(record, all) &&
			!(record.known_keys ?? "").split(" ").includes(targetId),
	);
}

/**
 * Waits until every running process makes click IDs with the new key. Otherwise the command would also end click IDs
 * that are made after it.
 */
async function waitForFollowers(workplace: Workplace, tell: Tell): Promise<void> {
	const { store, clock } = workplace;
	const { replaced_at_ms: replacedAtMs } = await readSealingKey(store.db);
	const all = await listProcessKeys(store.db);
	const isRunning = all.some((record) => !isSilent(record, clock.nowMs()) && !isReplaced(record, all));
	const followedAtMs = (replacedAtMs ?? 0) + FOLLOWING_MS;
	if (!isRunning || clock.nowMs() >= followedAtMs) return;
	tell("waiting until every process makes click IDs with the new key");
	while (clock.nowMs() < followedAtMs) await pause(workplace);
}

function sayProcess({ role, instance, host, version }: ProcessKeys): string {
	return `${role} ${instance} on ${host} (version ${version})`;
}

function refuseUnaware(unaware: readonly ProcessKeys[]): ReturnType<typeof refuse> {
	return refuse(
		"rekey_waits_for_processes",
		`Nothing was replaced yet, because these processes do not know the new key: ${unaware.map(sayProcess).join(", ")}. Restart each of them with RINGBACK_SECRET_KEY, the new key, and RINGBACK_FORMER_SECRET_KEY, the present one, and run this again. If the key is in a file, their account must be able to read it.`,
	);
}

function pause({ clock }: Pick<Workplace, "clock">): Promise<void> {
	return new Promise((resolve) => clock.after(LOOK_AGAIN_MS, resolve));
}

async function replace(trx: Db, workplace: Workplace, target: Uint8Array, tell: Tell): Promise<Result<true>> {
	const { clock, keyRing, random } = workplace;
	const row = await lockSealingKey(trx);
	const targetId = keyIdOf(target);
	// Another command that runs at the same time was faster.
	if (row.present_id === targetId) return succeed(true);
	if (row.next_id !== targetId) {
		return refuse(
			"rekey_under_way",
			"Another `ringback rekey` announced another key meanwhile. Nothing was replaced. Use the same settings on every machine, and run this again.",
		);
	}
	const formerId = row.present_id ?? "";
	const former = keyRing.find(formerId);
	if (former === undefined) throw new Error("the key that seals is known since the start");
	const nowMs = clock.nowMs();
	await replaceKey(trx, row, targetId, nowMs);
	await keepKeys(trx, formerId, deriveKept(former, nowMs), (boundTo, text) =>
		sealText(target, boundTo, text, random.bytes(SEALING_IV_BYTES)),
	);
	await noteAudit(
		trx,
		{ personId: null, action: "sealing_key.replaced", detail: `${formerId} → ${targetId}` },
		nowMs,
	);
	tell("the new key seals from now on");
	return succeed(true);
}

/**
 * Derives the keys that must outlive the former key: those of sessions, of cursors that callers have stored, and of
 * click IDs within the longest click window. The keys of click IDs include the next day, because a process that does
 * not use the new key yet makes click IDs with the former key for a few more seconds.
 */
function deriveKept(former: Uint8Array, nowMs: number): NewKeptKeys[] {
	const today = Math.floor(nowMs / DAY_MS);
	const days = Array.from({ length: MAX_CLICK_DAYS + 3 }, (_, index) => today + 1 - index);
	const deriveAll = (uses: readonly string[]) =>
		new Map(uses.map((use) => [use, deriveKey(former, use)] as const));
	const expiry = (daysLeft: number) => nowMs + (daysLeft + 2) * DAY_MS;
	return [
		{ kind: "cookies", keys: deriveAll([cookieUse("tokens")]), expiresAtMs: expiry(MAX_SESSION_DAYS) },
		{ kind: "cursors", keys: deriveAll([CURSOR_USE]), expiresAtMs: null },
		{ kind: "clicks", keys: deriveAll(days.map(clickUse)), expiresAtMs: expiry(MAX_CLICK_DAYS) },
	];
}

/**
 * Seals all values again that another key has sealed. Returns the number of values that were skipped, because other
 * transactions had locked them.
 */
async function resealAll(
	workplace: Workplace,
	target: Uint8Array,
	resealed: Map<string, number>,
	tell: Tell,
): Promise<Result<{ left: number; unopened: ReadonlyMap<string, number> }>> {
	const { store, clock, keyRing } = workplace;
	const unopened = new Map<string, number>();
	let left = 0;
	let toldAtMs = clock.nowMs();
	for await (const values of readSealedValues(store.db)) {
		const stale = values.filter((value) => openValue({ keys: [target] }, value) === null);
		const openable = stale.filter((value) => openValue(keyRing, value) !== null);
		for (const value of stale) if (!openable.includes(value)) count(unopened, value);
		for (let at = 0; at < openable.length; at += RESEALED_AT_ONCE) {
			const batch = openable.slice(at, at + RESEALED_AT_ONCE);
			const done = await store.transact((trx) => reseal(trx, workplace, target, batch));
			if (done === null) return refuseOtherKey();
			for (const value of done) count(resealed, value);
			left += batch.length - done.length;
			if (clock.nowMs() - toldAtMs < PROGRESS_EVERY_MS) continue;
			toldAtMs = clock.nowMs();
			tell(`sealed again: ${sumCounts(resealed)} values`);
		}
	}
	return succeed({ left, unopened });
}

function refuseOtherKey(): ReturnType<typeof refuse> {
	return refuse(
		"rekey_under_way",
		"Another `ringback rekey` replaced the key again meanwhile. Run this again with its settings.",
	);
}

/** Seals a batch of values again. Returns the values that were sealed, or null if another key seals meanwhile. */
async function reseal(
	trx: Db,
	{ store, keyRing, random }: Workplace,
	target: Uint8Array,
	batch: readonly SealedValue[],
): Promise<SealedValue[] | null> {
	const key = await sealingKeyIn(trx, keyRing);
	if (keyIdOf(key) !== keyIdOf(target)) return null;
	const done: SealedValue[] = [];
	for (const value of await lockFreeValues(trx, store.takeFreeRows, batch)) {
		const text = openValue(keyRing, value);
		// The row may have changed since the batch was read.
		if (text === null) continue;
		if (openValue({ keys: [key] }, value) === null) {
			await replaceSealed(trx, value, sealText(key, value.boundTo, text, random.bytes(SEALING_IV_BYTES)));
		}
		done.push(value);
	}
	return done;
}

interface Finished {
	row: SealingKeyRow;
	hasEndedClicks: boolean;
}

async function finish(
	trx: Db,
	workplace: Workplace,
	targetId: string,
	{ endClicks }: RekeyRequest,
): Promise<Result<Finished>> {
	const nowMs = workplace.clock.nowMs();
	const row = await lockSealingKey(trx);
	if (row.present_id !== targetId) return refuseOtherKey();
	if (isReplacing(row)) await finishReplacing(trx, row, nowMs);
	const hasEndedClicks = endClicks && (await endKeptClicks(trx, row));
	if (hasEndedClicks) {
		await noteAudit(trx, { personId: null, action: "sealing_key.clicks_ended", detail: null }, nowMs);
	}
	return succeed({ row, hasEndedClicks });
}

/**
 * Gives the file of the key that seals its final name, once the database records that nothing sealed by the former
 * key is left. The former key file is kept under another name, because backups that were made without the key need
 * it. Returns that name. If the process is killed in between, the key that seals is still in one of the two files,
 * and the next command or start finds it. The lock of the database keeps other commands from changing the files.
 */
async function settleKeyFiles(trx: Db, databasePath: string, nowMs: number): Promise<string | null> {
	const row = await lockSealingKey(trx);
	if (isReplacing(row)) return null;
	const { present, next } = keyFilesOf(databasePath);
	const [presentKey, nextKey] = [readKeyFile(present), readKeyFile(next)];
	const aside = `${present}.before-${isoTime(nowMs).replaceAll(":", "-")}`;
	const nextId = nextKey === null ? null : keyIdOf(nextKey);
	if (nextId !== null && nextId === row.present_id) {
		if (presentKey !== null) {
			nameAlso(present, aside);
			syncFolder(dirname(present));
		}
		renameSync(next, present);
		syncFolder(dirname(present));
		return presentKey === null ? null : aside;
	}
	// In a database restored from a backup that was made during a replacement, the two key files are in the other
	// order.
	if (nextId === null || nextId !== row.former_id || presentKey === null) return null;
	renameSync(next, aside);
	syncFolder(dirname(present));
	return aside;
}

function count(counts: Map<string, number>, { at }: SealedValue): void {
	counts.set(at.table, (counts.get(at.table) ?? 0) + 1);
}

export function sumCounts(counts: ReadonlyMap<string, number>): number {
	return [...counts.values()].reduce((total, one) => total + one, 0);
}
