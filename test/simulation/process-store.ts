// Shows the shared database to one service process. Every statement, commit and answer is a step at which the process
// may die. Its open transaction is then rolled back, as a real database does. Leases use the database's clock and not
// the clock of the process.

import type { KyselyPlugin } from "kysely";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { ConflictError } from "#core/store/conflict.ts";
import type { Owed, Settlement } from "#core/store/queries/queue.ts";
import { rollBackRefusals } from "#core/store/refusals.ts";
import { type Db, DueListeners, type Store } from "#core/store/store.ts";
import type { Mishaps } from "./mishaps.ts";

/** A notification from one process to the others, like NOTIFY of PostgreSQL. */
export type Word =
	| { kind: "due"; owed: Owed }
	| { kind: "change"; receiverId: ReceiverId }
	| { kind: "recheck" };

export interface ProcessStore extends Store {
	hear(word: Word): void;
	/** Ids of all engines that the process has ever registered. */
	readonly engineIds: ReadonlySet<number>;
}

/**
 * Called before results are stored. Returns a function, which is then called with the ids of the results that
 * were stored.
 */
export type WatchSettling = (settlements: readonly Settlement[]) => (settledIds: ReadonlySet<number>) => void;

export function createProcessStore({
	store,
	mishaps,
	databaseNowMs,
	tellOthers,
	watchSettling,
	onEnded,
}: {
	store: Store;
	mishaps: Mishaps;
	databaseNowMs(): number;
	/**
	 * Sends a notification to the other processes. A notification may arrive late or be lost. If it is lost, the others
	 * check the database later.
	 */
	tellOthers(word: Word): void;
	watchSettling: WatchSettling;
	/** Called when a silent engine is removed. */
	onEnded(engineId: number): void;
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

	function tell(word: Word): void {
		mishaps.stepAlone();
		tellOthers(word);
	}

	async function run<Value>(work: (trx: Db) => Promise<Value>): Promise<Value> {
		let isCommitting = false;
		try {
			return await stepped(() =>
				db.transaction().execute(async (trx) => {
					const value = await work(trx);
					isCommitting = true;
					mishaps.step();
					return value;
				}),
			);
		} catch (error) {
			if (isCommitting) {
				listeners.onRecheck();
				tell({ kind: "recheck" });
			}
			throw error;
		}
	}

	const { batch, queue } = store;
	return {
		...store,
		db,
		sharesSlots: true,
		readTime: () => stepped(async () => databaseNowMs()),
		transact: (work) => rollBackRefusals(work, run),
		batch: {
			look: (...request) => stepped(() => batch.look(...request)),
			lock: (...request) => stepped(() => batch.lock(...request)),
			find: (...request) => stepped(() => batch.find(...request)),
			write: (trx, rows) =>
				stepped(async () => {
					const written = await batch.write(trx, rows);
					const isStarting = (rows.started ?? []).length > 0;
					if (isStarting && mishaps.isContested()) throw new ConflictError();
					return written;
				}),
		},
		queue: {
			register(trx, engineId, mostInFlight) {
				engineIds.add(engineId);
				return stepped(() => queue.register(trx, engineId, mostInFlight, databaseNowMs()));
			},
			beginPass: (trx, engineId, renewal) =>
				stepped(() => queue.beginPass(trx, engineId, renewal && { ...renewal, nowMs: databaseNowMs() })),
			removeSilentEngines: (trx) =>
				stepped(async () => {
					const ended = await queue.removeSilentEngines(trx, databaseNowMs());
					for (const { engineId } of ended) onEnded(engineId);
					return ended;
				}),
			readSlots: (trx, engineId) => stepped(() => queue.readSlots(trx, engineId, databaseNowMs())),
			takeSlots: (...request) => stepped(() => queue.takeSlots(...request)),
			giveUpSlots: (...request) => stepped(() => queue.giveUpSlots(...request)),
			removeEngine: (...request) => stepped(() => queue.removeEngine(...request)),
			settle: (trx, engineId, settlements) =>
				stepped(async () => {
					const tellSettled = watchSettling(settlements);
					const settledIds = await queue.settle(trx, engineId, settlements);
					if (settledIds !== null) tellSettled(settledIds);
					return settledIds;
				}),
			readFirstDue: (...request) => stepped(() => queue.readFirstDue(...request)),
			readDue: (...request) => stepped(() => queue.readDue(...request)),
			readTargets: (...request) => stepped(() => queue.readTargets(...request)),
			hasChangedElsewhere: () => false,
		},
		announceDue(owed) {
			mishaps.stepAlone();
			const receiverIds = listeners.onOwed(owed);
			if (receiverIds.length > 0) tell({ kind: "due", owed: { receiverIds, dueAtMs: owed.dueAtMs } });
		},
		announceTargetChange(receiverId) {
			listeners.onTargetChange(receiverId);
			tell({ kind: "change", receiverId });
		},
		announceRecheck: () => tell({ kind: "recheck" }),
		onDue: (listener) => listeners.add(listener),
		hear(word) {
			if (word.kind === "due") listeners.onOwed(word.owed);
			else if (word.kind === "change") listeners.onTargetChange(word.receiverId);
			else listeners.onRecheck();
		},
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
