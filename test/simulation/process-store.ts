// The one database as a single service process sees it: every statement, commit and answer is a step at which
// the process may die. A transaction it dies in is rolled back, as the database would.

import type { KyselyPlugin } from "kysely";
import type { Settlement } from "../../src/store/queue.ts";
import { DueListeners, type Store } from "../../src/store/store.ts";
import type { Mishaps } from "./mishaps.ts";

export interface ProcessStore extends Store {
	/** A wake-up from another process. */
	hear(where: readonly number[] | "anywhere"): void;
	/** The numbers of all engines it ever registered. */
	readonly engineIds: ReadonlySet<number>;
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
	const engineIds = new Set<number>();
	const db = store.db.withPlugin(stepAtEveryStatement(mishaps));

	async function stepped<Value>(call: () => Promise<Value>): Promise<Value> {
		mishaps.step();
		const value = await call();
		mishaps.step();
		return value;
	}

	const { queue } = store;

	/** As on PostgreSQL: what the engine of this process cannot take care of is told to the others. */
	function announce(receiverIds: readonly number[], isForAll: boolean): void {
		mishaps.stepAlone();
		const left = listeners.tell(receiverIds);
		tellOthers(isForAll ? receiverIds : left);
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
					const settledIds = await queue.settle(trx, settlements);
					tell(settledIds);
					return settledIds;
				}),
			beginPass: (trx, engineId, renewal) => {
				engineIds.add(engineId);
				return stepped(() => queue.beginPass(trx, engineId, renewal));
			},
			listLanes: (...whose) => stepped(() => queue.listLanes(...whose)),
			readOthers: (...look) => stepped(() => queue.readOthers(...look)),
			lease: (...request) => stepped(() => queue.lease(...request)),
			readDue: (...request) => stepped(() => queue.readDue(...request)),
			handOut: (...handout) => stepped(() => queue.handOut(...handout)),
			shut: (...lanes) => stepped(() => queue.shut(...lanes)),
			letGo: (...lanes) => stepped(() => queue.letGo(...lanes)),
			passOn: (...lanes) => stepped(() => queue.passOn(...lanes)),
			readTargets: (...request) => stepped(() => queue.readTargets(...request)),
			takeOver: (...look) => stepped(() => queue.takeOver(...look)),
			findMissed: (...look) => stepped(() => queue.findMissed(...look)),
		},
		announceDue: (receiverIds) => announce(receiverIds, false),
		announceChange: (receiverId) => announce([receiverId], true),
		onDue: (listener) => listeners.add(listener),
		hear: (where) => listeners.tell(where),
		engineIds,
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
