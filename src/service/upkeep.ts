// Background work for monitoring. A process reports that it runs, reads figures for the metrics, and notices if a
// newer schema or another sealing key makes it unable to continue. A failure of this work stops nothing else.

import type { KeyRing } from "#core/domain/key-ring.ts";
import {
	FORGOTTEN_AFTER_MS,
	type MailFailure,
	type ProcessEngine,
	TELLS_EVERY_MS,
} from "#core/domain/process.ts";
import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import type { DiskSpace } from "#core/ports.ts";
import { readFigures } from "#core/store/queries/figures.ts";
import { readSealingKey, storeKnownKeys, UnknownSealingKeyError } from "#core/store/queries/sealing-key.ts";
import { forgetProcesses, removeProcess, saveProcess } from "#core/store/queries/system.ts";
import { checkSchema, readSchema, SchemaTooNewError } from "#core/store/schema/migrations.ts";
import type { ChoreDeps } from "../watch/chores.ts";
import { startLoop } from "../watch/loop.ts";
import type { InstallationFigures } from "../watch/metrics.ts";
import { keepUpWithKeys } from "./sealing-keys.ts";

interface Upkeep {
	stop(): Promise<void>;
}

export interface PresenceDeps extends ChoreDeps {
	identity: { instance: string; host: string; role: string; version: string };
	startedAtMs: number;
	readEngine: () => ProcessEngine;
	readMailFailure: () => MailFailure | null;
	keyRing: KeyRing;
}

/**
 * Regularly stores the state of this process, so that other processes know that it runs. When the process stops, its
 * row is removed.
 */
export function tellPresence(deps: PresenceDeps): Upkeep {
	const { store, clock, log, identity, startedAtMs } = deps;
	const loop = startLoop({
		clock,
		everyMs: TELLS_EVERY_MS,
		async run() {
			const seenAtMs = clock.nowMs();
			const failure = deps.readMailFailure();
			const record = {
				...identity,
				started_at_ms: startedAtMs,
				seen_at_ms: seenAtMs,
				...deps.readEngine(),
				mail_failed_at_ms: failure?.atMs ?? null,
				mail_error: failure?.reason ?? null,
			};
			await saveProcess(store.db, record, knownKeys(deps.keyRing));
			await forgetProcesses(store.db, seenAtMs - FORGOTTEN_AFTER_MS);
		},
		onFailure: (error) =>
			log.warn({ err: error }, "the other processes could not be told that this one is there"),
	});
	return {
		async stop() {
			await loop.stop();
			try {
				await removeProcess(store.db, identity.instance);
			} catch {
				// The row could not be removed, because the database is unreachable. The age of the row shows that
				// the process is gone, and the row is removed after an hour.
			}
		},
	};
}

export const FIGURES_INTERVAL_MS = MINUTE_MS;

/** Reads figures regularly, so that a scrape of the metrics needs no query. */
export function watchFigures({
	store,
	clock,
	log,
	readDisk,
}: ChoreDeps & { readDisk: () => Promise<DiskSpace | null> }): Upkeep & {
	read(): InstallationFigures | null;
} {
	let figures: InstallationFigures | null = null;
	const { stop } = startLoop({
		clock,
		everyMs: FIGURES_INTERVAL_MS,
		async run() {
			figures = { ...(await readFigures(store, clock.nowMs())), disk: await readDisk() };
		},
		onFailure: (error) => log.warn({ err: error }, "the figures for the metrics could not be read"),
	});
	return { read: () => figures, stop };
}

export interface FitnessWatch extends Upkeep {
	/** Reason why this process can no longer work with the database, or null. */
	readonly problem: Error | null;
	/** Resolves when the process must stop because of `problem`, and otherwise never. */
	readonly outdated: Promise<Error>;
}

/**
 * Time between two checks of whether the process can continue. A check reads a few rows of small tables. `ringback
 * rekey` waits about as long until all processes know the new key.
 */
const FITNESS_CHECK_MS = 5 * SECOND_MS;
/**
 * Time for which the process is unready before it stops. Load balancers check every few seconds and need this
 * time to notice.
 */
const UNREADY_MS = 3 * SECOND_MS;

interface FitnessDeps extends ChoreDeps {
	identity: { instance: string };
	keyRing: KeyRing;
}

/**
 * Watches the schema version and the sealing key, and adopts a new key. If the process cannot continue, because a newer
 * program has changed the schema or because it does not know the new key, it first becomes unready, so that load
 * balancers send it no more requests, and then stops.
 */
export function watchFitness({ store, clock, log, identity, keyRing }: FitnessDeps): FitnessWatch {
	const outdated = Promise.withResolvers<Error>();
	let problem: Error | null = null;
	let cancel = (): void => undefined;
	/** Value of `sealing_key.changes` up to which this process has adopted changes, or null before the first check. */
	let followed: number | null = null;

	async function followKeys(): Promise<void> {
		const { changes } = await readSealingKey(store.db);
		if (changes === followed) return;
		await keepUpWithKeys(store, keyRing);
		await storeKnownKeys(store.db, identity.instance, knownKeys(keyRing));
		followed = changes;
	}

	const loop = startLoop({
		clock,
		everyMs: FITNESS_CHECK_MS,
		firstAfterMs: FITNESS_CHECK_MS,
		async run() {
			if (problem !== null) return;
			checkSchema(await readSchema(store.db));
			await followKeys();
		},
		onFailure(error) {
			// Other errors mean that the database does not answer, which other parts of the service report.
			if (!(error instanceof SchemaTooNewError || error instanceof UnknownSealingKeyError)) return;
			problem = error;
			log.error(
				{ reason: error.message },
				error instanceof SchemaTooNewError
					? "a newer Ringback has changed the database; this one stops"
					: "the sealing key was replaced by one that this process does not know; it stops",
			);
			cancel = clock.after(UNREADY_MS, () => outdated.resolve(error));
		},
	});
	return {
		get problem() {
			return problem;
		},
		outdated: outdated.promise,
		async stop() {
			await loop.stop();
			cancel();
		},
	};
}

function knownKeys({ ids }: KeyRing): string {
	return ids.join(" ");
}
