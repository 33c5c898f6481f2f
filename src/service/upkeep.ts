// What a process does besides its work, for those who watch it: tells that it is there, reads how
// much there is, and notices when the schema has become too new for it. Whatever fails here stops nothing.

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

/** Tells the others that this process is there, and how it does; at its stop, that it has left. */
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
				// A database that is away as well: the row says so by its age, and goes after an hour.
			}
		},
	};
}

export const FIGURES_INTERVAL_MS = MINUTE_MS;

/** Reads how much there is, so that the metrics need not ask the database when they are read. */
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
	/** Why this program cannot go on; null while it can. */
	readonly problem: SchemaTooNewError | null;
	/** Resolves when it is time to stop; never, if it never is. */
	readonly outdated: Promise<SchemaTooNewError>;
}

/** A few rows of a table that nobody else reads. */
const SCHEMA_LOOK_MS = 10 * SECOND_MS;
/** Load balancers ask every few seconds. */
const UNREADY_MS = 3 * SECOND_MS;

/**
 * A newer program may change the schema beyond this one, which must not go on then. First it says so to whoever asks
 * whether it is ready, so that a load balancer sends nobody any more, and then it stops.
 */
export function watchSchema({ store, clock, log }: ChoreDeps): SchemaWatch {
	const outdated = Promise.withResolvers<SchemaTooNewError>();
	let problem: SchemaTooNewError | null = null;
	let cancel = (): void => undefined;
	const loop = startLoop({
		clock,
		everyMs: SCHEMA_LOOK_MS,
		firstAfterMs: SCHEMA_LOOK_MS,
		async run() {
			if (problem === null) checkSchema(await readSchema(store.db));
		},
		onFailure(error) {
			// A database that does not answer is noticed by everybody else.
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
