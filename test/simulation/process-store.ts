// The one database as a single service process sees it: every statement, commit and answer is a step at which
// the process may die. A transaction it dies in is rolled back, as the database would.

import type { KyselyPlugin } from "kysely";
import type { Settlement } from "../../src/store/queue.ts";
import { DueListeners, type Store } from "../../src/store/store.ts";
import type { Mishaps } from "./mishaps.ts";

export interface ProcessStore extends Store {
	/** A wake-up from another process. */
	hear(where: readonly number[] | "anywhere"): void;
	/** The numbers of all claims it ever made. */
	readonly claims: ReadonlySet<number>;
}

/** Called before results are stored; what it returns is called with the ids of those that were. */
export type WatchSettling = (settlements: readonly Settlement[]) => (settledIds: ReadonlySet<number>) => void;

export function createProcessStore({
	store,
	mishaps,
	tellOthers,
	watchSettling,
}: {
	store: Store;
	mishaps: Mishaps;
	/** Carries wake-ups to the other processes: they may come late or never. */
	tellOthers(programmeIds: readonly number[]): void;
	watchSettling: WatchSettling;
}): ProcessStore {
	const listeners = new DueListeners();
	const claims = new Set<number>();
	const db = store.db.withPlugin(stepAtEveryStatement(mishaps));

	async function stepped<Value>(call: () => Promise<Value>): Promise<Value> {
		mishaps.step();
		const value = await call();
		mishaps.step();
		return value;
	}

	function announce(programmeIds: readonly number[]): void {
		mishaps.stepAlone();
		listeners.tell(programmeIds);
		tellOthers(programmeIds);
	}

	return {
		...store,
		db,
		transact: (work) =>
			stepped(() =>
				db.transaction().execute(async (trx) => {
					const value = await work(trx);
					mishaps.step();
					return value;
				}),
			),
		queue: {
			settle: (trx, settlements) =>
				stepped(async () => {
					const tell = watchSettling(settlements);
					const settledIds = await store.queue.settle(trx, settlements);
					tell(settledIds);
					return settledIds;
				}),
			claim: (trx, requests, claim, nowMs) => {
				claims.add(claim);
				return stepped(() => store.queue.claim(trx, requests, claim, nowMs));
			},
			readTargets: (trx, programmeIds) => stepped(() => store.queue.readTargets(trx, programmeIds)),
			agenda: (reader) => stepped(() => store.queue.agenda(reader)),
		},
		announceDue: announce,
		announceChange: (programmeId) => announce([programmeId]),
		onDue: (listener) => listeners.add(listener),
		hear: (where) => listeners.tell(where),
		claims,
	};
}

function stepAtEveryStatement(mishaps: Mishaps): KyselyPlugin {
	return {
		transformQuery({ node }) {
			mishaps.demandAlive();
			return node;
		},
		async transformResult({ result }) {
			mishaps.step();
			return result;
		},
	};
}
