// Tells the others that this process is there, and how it does, a few times a minute. Whatever fails here stops nothing.

import {
	FORGOTTEN_AFTER_MS,
	type MailFailure,
	type ProcessEngine,
	TELLS_EVERY_MS,
} from "../domain/process.ts";
import type { Clock, Log } from "../ports.ts";
import { forgetProcesses, removeProcess, saveProcess } from "../store/queries/processes.ts";
import type { Store } from "../store/store.ts";

export interface Presence {
	/** Also says that it has left. */
	stop(): Promise<void>;
}

export interface PresenceDeps {
	store: Store;
	clock: Clock;
	log: Log;
	identity: { instance: string; host: string; role: string; version: string };
	startedAtMs: number;
	/** Null in a process that does not deliver. */
	readEngine: () => ProcessEngine | null;
	readMailFailure: () => MailFailure | null;
}

export function tellPresence(deps: PresenceDeps): Presence {
	const { store, clock, log, identity, startedAtMs } = deps;
	let isStopping = false;
	let telling: Promise<void> = Promise.resolve();
	let cancel = clock.after(0, start);

	function start(): void {
		telling = tell();
	}

	async function tell(): Promise<void> {
		const seenAtMs = clock.nowMs();
		try {
			await saveProcess(store.db, {
				...identity,
				startedAtMs,
				seenAtMs,
				engine: deps.readEngine(),
				mailFailure: deps.readMailFailure(),
			});
			await forgetProcesses(store.db, seenAtMs - FORGOTTEN_AFTER_MS);
		} catch (error) {
			log.warn({ err: error }, "the other processes could not be told that this one is there");
		}
		if (!isStopping) cancel = clock.after(TELLS_EVERY_MS, start);
	}

	return {
		async stop() {
			isStopping = true;
			cancel();
			await telling;
			try {
				await removeProcess(store.db, identity.instance);
			} catch {
				// A database that is away as well: the row says so by its age, and goes after an hour.
			}
		},
	};
}
