// Background work for monitoring: a process reports that it runs, reads figures for the metrics, and notices when the
// schema has become too new for it. A failure here stops nothing else.

import {
	FORGOTTEN_AFTER_MS,
	type MailFailure,
	type ProcessEngine,
	TELLS_EVERY_MS,
} from "../domain/process.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { DiskSpace } from "../ports.ts";
import { readFigures } from "../store/queries/figures.ts";
import { forgetProcesses, removeProcess, saveProcess } from "../store/queries/system.ts";
import { checkSchema, readSchema, SchemaTooNewError } from "../store/schema/migrations.ts";
import type { ChoreDeps } from "../watch/chores.ts";
import { startLoop } from "../watch/loop.ts";
import type { InstallationFigures } from "../watch/metrics.ts";

interface Upkeep {
	stop(): Promise<void>;
}

export interface PresenceDeps extends ChoreDeps {
	identity: { instance: string; host: string; role: string; version: string };
	startedAtMs: number;
	readEngine: () => ProcessEngine;
	readMailFailure: () => MailFailure | null;
}

/**
 * Stores regularly that this process runs, and its state, so that other processes can see it. When the
 * process stops, its row is removed.
 */
export function tellPresence(deps: PresenceDeps): Upkeep {
	const { store, clock, log, identity, startedAtMs } = deps;
	const loop = startLoop({
		clock,
		everyMs: TELLS_EVERY_MS,
		async run() {
			const seenAtMs = clock.nowMs();
			const failure = deps.readMailFailure();
			await saveProcess(store.db, {
				...identity,
				started_at_ms: startedAtMs,
				seen_at_ms: seenAtMs,
				...deps.readEngine(),
				mail_failed_at_ms: failure?.atMs ?? null,
				mail_error: failure?.reason ?? null,
			});
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

export interface SchemaWatch extends Upkeep {
	/** Reason why this program can no longer work with the schema, or null. */
	readonly problem: SchemaTooNewError | null;
	/** Resolves when the process must stop because of the schema. It never resolves if that does not happen. */
	readonly outdated: Promise<SchemaTooNewError>;
}

/** Time between two checks of the schema version. A check reads a few rows of a small table. */
const SCHEMA_CHECK_MS = 10 * SECOND_MS;
/**
 * Time for which the process is unready before it stops. Load balancers check every few seconds and need this
 * time to notice.
 */
const UNREADY_MS = 3 * SECOND_MS;

/**
 * Watches the schema version. If a newer program has changed the schema so that this one cannot continue, the
 * process first becomes unready, so that load balancers send it no more requests, and then stops.
 */
export function watchSchema({ store, clock, log }: ChoreDeps): SchemaWatch {
	const outdated = Promise.withResolvers<SchemaTooNewError>();
	let problem: SchemaTooNewError | null = null;
	let cancel = (): void => undefined;
	const loop = startLoop({
		clock,
		everyMs: SCHEMA_CHECK_MS,
		firstAfterMs: SCHEMA_CHECK_MS,
		async run() {
			if (problem === null) checkSchema(await readSchema(store.db));
		},
		onFailure(error) {
			// A database that does not answer is reported by other parts of the service.
			if (!(error instanceof SchemaTooNewError)) return;
			problem = error;
			log.error({ reason: error.message }, "a newer Ringback has changed the database; this one stops");
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
