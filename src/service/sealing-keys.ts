// The sealing keys of a process: from the settings, or from the files beside a SQLite file. The database says which of
// them seals (core/store/queries/sealing-key.ts).

import { resolve } from "node:path";
import { createKeyRing, type KeyRing } from "#core/domain/key-ring.ts";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import type { Log } from "#core/ports.ts";
import type { DatabaseSetting } from "#core/store/open.ts";
import { openValue, type SealedValue } from "#core/store/queries/sealed-values.ts";
import {
	adoptKey,
	followSealingKey,
	isReplacing,
	type SealingKeyRow,
	UnknownSealingKeyError,
} from "#core/store/queries/sealing-key.ts";
import type { Store } from "#core/store/store.ts";
import { isDatabaseUnavailable } from "#core/store/unavailable.ts";
import type { Config } from "../config.ts";
import { KeyFileError, readKeyFile, readOrMakeKeyFile } from "../outside/key-file.ts";
import { StartError } from "./start-error.ts";

export type KeySettings = Pick<Config, "secretKey" | "formerSecretKey">;

/** Key files beside a SQLite file. The second file exists only while `ringback rekey` replaces the first. */
export function keyFilesOf(databasePath: string): { present: string; next: string } {
	const present = `${resolve(databasePath)}.key`;
	return { present, next: `${present}.new` };
}

/**
 * Returns the keys in the settings. If RINGBACK_SECRET_KEY is not set, the keys in the key files come first. Throws
 * KeyFileError if a key file is damaged.
 */
export function readKeys(settings: KeySettings, databasePath: string | null): Uint8Array[] {
	const { secretKey, formerSecretKey } = settings;
	const former = formerSecretKey === null ? [] : [formerSecretKey];
	if (secretKey !== null) return [secretKey, ...former];
	if (databasePath === null) return former;
	const { present, next } = keyFilesOf(databasePath);
	return [...[present, next].flatMap((path) => readKeyFile(path) ?? []), ...former];
}

/** Creates the key ring of a process. With `mayMake`, a missing key file is created. */
export function openKeyRing(
	config: KeySettings & { database: DatabaseSetting },
	log: Log,
	mayMake: boolean,
): KeyRing {
	const { database } = config;
	if (database.kind !== "sqlite") {
		if (config.secretKey === null) throw new StartError("RINGBACK_SECRET_KEY is required with PostgreSQL.");
		return createKeyRing(readKeys(config, null));
	}
	try {
		const keys = readKeys(config, database.path);
		if (keys.length > 0) {
			return config.secretKey === null
				? createKeyRing(keys, () => readKeys(config, database.path))
				: createKeyRing(keys);
		}
		// If no key may be created, the key ring gets a placeholder. useKeyRing then refuses the placeholder, because it
		// opens none of the stored secrets.
		if (!mayMake) return createKeyRing([new Uint8Array(SEALING_KEY_BYTES)]);
		const path = `${database.path}.key`;
		const { key, isNew } = readOrMakeKeyFile(path);
		if (isNew)
			log.info({ path }, "made the key that seals signing secrets; back it up together with the database");
		return createKeyRing([key], () => readKeys(config, database.path));
	} catch (error) {
		throw error instanceof KeyFileError ? new StartError(error.message) : error;
	}
}

export interface KeyRingUse {
	sealed: readonly SealedValue[];
	log: Log;
	mayWrite: boolean;
}

/**
 * Makes the key ring seal with the key that the database names. If the database names none yet, the key that seals is
 * stored there. Throws if this process could not open all values.
 */
export async function useKeyRing(
	store: Store,
	keyRing: KeyRing,
	{ sealed, log, mayWrite }: KeyRingUse,
): Promise<void> {
	const row = await followSealingKey(store.db, keyRing);
	checkFormer(row, keyRing);
	checkKeyRing(keyRing, sealed);
	const isKnown = row.present_id !== null && keyRing.find(row.present_id) !== undefined;
	if (!isKnown && mayWrite) await adopt(store, keyRing, log);
}

/**
 * Throws if the keys do not open the stored secrets. With a wrong key, nothing could be signed or verified.
 */
function checkKeyRing(keyRing: KeyRing, sealed: readonly SealedValue[]): void {
	const secret = sealed.find(({ at }) => at.table === "signing_secrets");
	const deciding = secret === undefined ? sealed : [secret];
	if (deciding.length === 0 || deciding.some((value) => openValue(keyRing, value) !== null)) return;
	throw new StartError(WRONG_KEY);
}

const WRONG_KEY =
	"RINGBACK_SECRET_KEY is not the key that the signing secrets in this database were sealed with. Set the right one, or restore the key file beside the SQLite file. If the key was replaced, set the former one as RINGBACK_FORMER_SECRET_KEY, and run `ringback rekey`.";

async function adopt(store: Store, keyRing: KeyRing, log: Log): Promise<void> {
	try {
		const presentId = await store.transact((trx) => adoptKey(trx, keyRing));
		if (keyRing.find(presentId) === undefined) throw new StartError(WRONG_KEY);
	} catch (error) {
		// The service must start even if the database refuses writes. The first transaction that seals a value then
		// stores the key.
		if (!isDatabaseUnavailable(error)) throw error;
		log.warn({ err: error }, "which key seals could not be stored; it is stored later");
	}
}

function checkFormer(row: SealingKeyRow, keyRing: KeyRing): void {
	const { former_id: formerId } = row;
	if (formerId === null || !isReplacing(row) || keyRing.find(formerId) !== undefined) return;
	throw new StartError(
		`\`ringback rekey\` is not finished, so values that the former key sealed may be left. Set RINGBACK_FORMER_SECRET_KEY to that key (its id is ${formerId}) until \`ringback rekey\` says that it is done.`,
	);
}

/** Adopts changes of the sealing key while the process runs. Throws if this process cannot continue with them. */
export async function keepUpWithKeys(store: Store, keyRing: KeyRing): Promise<SealingKeyRow> {
	const row = await followSealingKey(store.db, keyRing);
	const { present_id: presentId } = row;
	if (presentId === null || keyRing.find(presentId) !== undefined) return row;
	throw new UnknownSealingKeyError(
		`The sealing key was replaced by one that this process does not know (its id is ${presentId}). Start it with the settings of the other processes.`,
	);
}
