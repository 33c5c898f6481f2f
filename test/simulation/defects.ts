// Defines faulty versions of single functions, at least one for each promise. They are planted into the sources one at
// a time, to prove that the auditors notice a broken promise. A defect replaces one export of a module with a version
// of the same type, so the type check fails if that export is renamed or its signature changes.

import { sql } from "kysely";
import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import type { BatchRows, BatchStore, OwedEvent } from "#core/store/batch.ts";
import type { Queue } from "#core/store/queries/queue.ts";
import type { PromiseName } from "../support/broken.ts";

export interface Defect {
	name: string;
	/** Promise that the simulation must report as broken. */
	promise: PromiseName;
	/** Seed that shows the defect. This seed is tried first, because searching for another one takes time. */
	seed: number;
	/** Name of the export that is replaced. */
	replaces: string;
	/** Imports the module, builds the faulty version of the export, and passes it to `put`. */
	plant(put: (faulty: unknown) => void): Promise<void>;
}

interface DefectSpec<Module, Name extends keyof Module & string>
	extends Pick<Defect, "name" | "promise" | "seed"> {
	/** Imports the module that gets the defect. The function must import nothing else. */
	module: () => Promise<Module>;
	replaces: Name;
	by: (genuine: Module[Name]) => Module[Name];
}

/** A due time after the end of every simulated run. */
const NEVER_MS = 9_000_000_000_000;

export const DEFECTS: readonly Defect[] = [
	defect({
		name: "a decision is stored without its reason",
		promise: "1 an answered change is stored",
		seed: 7,
		module: () => import("#core/store/sqlite/batch.ts"),
		replaces: "createSqliteBatch",
		by: (genuine) => (database) =>
			changeRows(genuine(database), ({ changed = [] }) => ({
				changed: changed.map(({ before, after }) => ({ before, after: { ...after, reason: null } })),
			})),
	}),
	defect({
		name: "an approval creates no event",
		promise: "2 each move creates one event",
		seed: 2,
		module: () => import("#core/domain/conversion.ts"),
		replaces: "announcedBy",
		by: (genuine) => (move) => (move === "approve" ? null : genuine(move)),
	}),
	defect({
		name: "an event for a partner is lost",
		promise: "2 each move creates one event",
		seed: 2,
		module: () => import("#modules/partners/use-cases/partner-events.ts"),
		replaces: "partnerEventsOf",
		by:
			(genuine) =>
			(...request) =>
				genuine(...request).filter(({ name }) => name !== "conversion.approved"),
	}),
	defect({
		name: "a partner is told about the sale of another",
		promise: "the body describes the event as it happened",
		seed: 1,
		module: () => import("#modules/partners/use-cases/partner-events.ts"),
		replaces: "partnerEventsOf",
		by: (genuine) => {
			const targets = new Map<number, ReturnType<typeof genuine>[number]["target"]>();
			return (...request) =>
				genuine(...request).map((event) => {
					targets.set(event.target.receiverId, event.target);
					const target = [...targets.values()].find((one) => one.receiverId !== event.target.receiverId);
					return { ...event, target: target ?? event.target };
				});
		},
	}),
	defect({
		name: "a call announces what a repeated transaction has rolled back",
		promise: "2 each move creates one event",
		seed: 12,
		module: () => import("#core/api/store-calls.ts"),
		replaces: "storeCalls",
		by: (genuine) => (deps, calls, maxLockWaitMs, onStored) => {
			const rolledBack: OwedEvent[] = [];
			const { batch } = deps.store;
			const write: typeof batch.write = async (db, rows) => {
				try {
					return await batch.write(db, rows);
				} catch (error) {
					rolledBack.push(...(rows.events ?? []));
					throw error;
				}
			};
			const store = { ...deps.store, batch: { ...batch, write } };
			return genuine({ ...deps, store }, calls, maxLockWaitMs, (stored) => {
				const { ready } = stored.owed;
				if (ready === undefined) return onStored(stored);
				const early = ready.deliveries.flatMap((delivery, index) => {
					const event = rolledBack[index];
					return event?.receiver_id === delivery.receiverId ? { ...delivery, eventBody: event.body } : [];
				});
				const deliveries = [...early, ...ready.deliveries];
				onStored({ ...stored, owed: { ...stored.owed, ready: { ...ready, deliveries } } });
			});
		},
	}),
	defect({
		name: "moves do not keep what they announced if a correction follows in the same batch",
		promise: "the body describes the event as it happened",
		seed: 1,
		module: () => import("#core/conversions/batch.ts"),
		replaces: "Batch",
		by: (Genuine) =>
			class extends Genuine {
				override rows() {
					const rows = super.rows();
					return { ...rows, moves: rows.moves.map((move) => ({ ...move, announced_body: null })) };
				}
			},
	}),
	defect({
		name: "a corrected URL cancels the pending deliveries",
		promise: "3 a delivery has one end or a due time",
		seed: 14,
		module: () => import("#core/store/queries/receivers.ts"),
		replaces: "setEndpoint",
		by: (genuine) => async (trx, receiver, endpoint, nowMs) => {
			await genuine(trx, receiver, endpoint, nowMs);
			await trx
				.updateTable("receivers")
				.set((eb) => ({ endpoint_epoch: eb("endpoint_epoch", "+", 1) }))
				.where("id", "=", receiver.receiver_id)
				.execute();
		},
	}),
	defect({
		name: "a success leaves its row in the queue",
		promise: "3 a delivery has one end or a due time",
		seed: 1,
		module: () => import("#core/store/sqlite/queue.ts"),
		replaces: "createSqliteQueue",
		by: (genuine) => (database) => leaveInQueue(genuine(database), "delivered"),
	}),
	defect({
		name: "a final failure leaves its row in the queue",
		promise: "3 a delivery has one end or a due time",
		seed: 1,
		module: () => import("#core/store/sqlite/queue.ts"),
		replaces: "createSqliteQueue",
		by: (genuine) => (database) => leaveInQueue(genuine(database), "failed"),
	}),
	defect({
		name: "a final failure leaves no undelivered row",
		promise: "3 a delivery has one end or a due time",
		seed: 2,
		module: () => import("#core/store/sqlite/queue.ts"),
		replaces: "createSqliteQueue",
		by: (genuine) => (database) => {
			const queue = genuine(database);
			return {
				...queue,
				async settle(trx, engineId, settlements) {
					const settled = await queue.settle(trx, engineId, settlements);
					await trx.deleteFrom("undelivered").where("state", "=", "failed").execute();
					return settled;
				},
			};
		},
	}),
	defect({
		name: "a resend does not start a new run",
		promise: "4 at most seven attempts, each at its time",
		seed: 4,
		module: () => import("#core/store/queries/deliveries.ts"),
		replaces: "requeue",
		by:
			(genuine) =>
			async (trx, ...rest) => {
				const started = await genuine(trx, ...rest);
				for (const { id, run } of started ?? []) {
					await trx.updateTable("queue").set({ run }).where("id", "=", id).execute();
				}
				return started;
			},
	}),
	defect({
		name: "a retry comes a minute late",
		promise: "4 at most seven attempts, each at its time",
		seed: 4,
		module: () => import("#core/domain/retry.ts"),
		replaces: "nextDueAtMs",
		by: (genuine) => (countedAttempts, endedAtMs) => genuine(countedAttempts, endedAtMs + MINUTE_MS),
	}),
	defect({
		name: "an engine counts as silent while its requests are under way",
		promise: "5 one engine owns a slot and stores its own results",
		seed: 5,
		module: () => import("#core/store/queries/queue.ts"),
		replaces: "SILENT_MS",
		by: () => 3 * SECOND_MS,
	}),
	defect({
		name: "an engine counts as ended although its process runs",
		promise: "5 one engine owns a slot and stores its own results",
		seed: 4,
		module: () => import("#core/store/queries/slot-queue.ts"),
		replaces: "createSlotQueue",
		by: (genuine) => (now, takeFreeRows, lockRow, findEnded) => {
			// Only one in three engines is ended wrongly, so that engines do not remove each other all the time.
			const wronglyEnded: number[] = [];
			let registered = 0;
			let present: number | null = null;
			const queue = genuine(now, takeFreeRows, lockRow, () => [
				...(findEnded?.() ?? []),
				...wronglyEnded.filter((id) => id !== present),
			]);
			return {
				...queue,
				register(db, engineId, ...rest) {
					if (registered++ % 3 === 0) wronglyEnded.push(engineId);
					return queue.register(db, engineId, ...rest);
				},
				beginPass(trx, engineId, ...rest) {
					present = engineId;
					return queue.beginPass(trx, engineId, ...rest);
				},
			};
		},
	}),
	defect({
		name: "a process relies on its clock after its machine was suspended",
		promise: "6 every request verifies and is fresh",
		seed: 29,
		module: () => import("../../src/service/shared-clock.ts"),
		replaces: "openSharedClock",
		by:
			(genuine) =>
			async (...world) => {
				const clock = await genuine(...world);
				return { ...clock, isSure: () => Math.abs(clock.offsetMs() ?? 0) <= MINUTE_MS };
			},
	}),
	defect({
		name: "a signature does not cover the query string",
		promise: "6 every request verifies and is fresh",
		seed: 1,
		module: () => import("#core/domain/signature.ts"),
		replaces: "canonicalString",
		by:
			(genuine) =>
			(method, pathAndQuery, ...rest) =>
				genuine(method, pathAndQuery.replace(/\?.*/, ""), ...rest),
	}),
	defect({
		name: "every IPv6 address counts as public when a callback is sent",
		promise: "7 no request goes to a forbidden address",
		seed: 33,
		module: () => import("#core/domain/address.ts"),
		replaces: "judgeAddress",
		by: (genuine) => (text, allowed) => (text.includes(":") ? { public: true } : genuine(text, allowed)),
	}),
	defect({
		name: "a final failure is not noted",
		promise: "8 owners learn of failures",
		seed: 2,
		module: () => import("#core/callbacks/failure-notices.ts"),
		replaces: "noteFailures",
		by:
			(genuine) =>
			(trx, random, settlements, ...rest) =>
				genuine(
					trx,
					random,
					settlements.filter((settlement) => settlement.kind !== "finished" || settlement.state !== "failed"),
					...rest,
				),
	}),
	defect({
		name: "the ledger is missing in the list of modules",
		promise: "9 entries add up to what a conversion owes",
		seed: 2,
		module: () => import("../../src/modules.ts"),
		replaces: "CHANGES",
		by: (genuine) => ({ ...genuine, modules: genuine.modules.filter(({ name }) => name !== "ledger") }),
	}),
	defect({
		name: "an approval writes no entry",
		promise: "9 entries add up to what a conversion owes",
		seed: 2,
		module: () => import("#modules/accounts/domain/ledger.ts"),
		replaces: "entriesFor",
		by: (genuine) => (before, after) => genuine(before, after).filter(({ kind }) => kind !== "EARNED"),
	}),
	defect({
		name: "a reversal is counted twice",
		promise: "9 entries add up to what a conversion owes",
		seed: 5,
		module: () => import("#modules/accounts/domain/ledger.ts"),
		replaces: "entriesFor",
		by: (genuine) => (before, after) => {
			const entries = genuine(before, after);
			return after.status === "REVERSED" ? [...entries, ...entries] : entries;
		},
	}),
	defect({
		name: "an entry stays open for the next statement",
		promise: "10 an entry is open or in one statement",
		seed: 1,
		module: () => import("#modules/accounts/store/statements.ts"),
		replaces: "takeOpenEntries",
		by: (genuine) => async (trx, statements, beforeMs) => {
			const open = await trx.selectFrom("open_entries").selectAll().execute();
			const count = await genuine(trx, statements, beforeMs);
			await trx
				.insertInto("open_entries")
				.values(open)
				.onConflict((conflict) => conflict.doNothing())
				.execute();
			return count;
		},
	}),
	defect({
		name: "a payment replaces the parties on the statement",
		promise: "11 a statement adds up, has the next number and never changes",
		seed: 5,
		module: () => import("#modules/accounts/store/statements.ts"),
		replaces: "insertPayments",
		by: (genuine) => async (trx, payments) => {
			await genuine(trx, payments);
			// The trigger is dropped, because it would refuse the change.
			await sql`drop trigger if exists statements_refuse_update`.execute(trx);
			const ids = payments.map(({ statement_id }) => statement_id);
			await trx.updateTable("statements").set({ sealed_parties: "" }).where("id", "in", ids).execute();
		},
	}),
	defect({
		name: "a number is left out after each batch of statements",
		promise: "11 a statement adds up, has the next number and never changes",
		seed: 1,
		module: () => import("#modules/accounts/store/statements.ts"),
		replaces: "saveLastNumber",
		by: (genuine) => (trx, numbers, last) => genuine(trx, numbers, last + 1),
	}),
	defect({
		name: "a later credit uses the commission of its own day",
		promise: "12 amounts follow from the rates of the sale",
		seed: 5,
		module: () => import("#core/domain/rate-history.ts"),
		replaces: "commissionAt",
		by: (genuine) => (record, eventType) => genuine(record, eventType, Number.MAX_SAFE_INTEGER),
	}),
	defect({
		name: "a repeated decision is refused",
		promise: "an answer follows from the state of the conversion",
		seed: 12,
		module: () => import("#core/domain/conversion.ts"),
		replaces: "judgeMove",
		by: (genuine) => (present, move) => {
			const verdict = genuine(present, move);
			return verdict.kind === "already" ? genuine("PARKED", move) : verdict;
		},
	}),
	defect({
		name: "a callback leaves out the reason",
		promise: "the body describes the event as it happened",
		seed: 1,
		module: () => import("#core/domain/event.ts"),
		replaces: "bodySentAt",
		by: (genuine) => (event, composedEvent, sentAtMs) =>
			JSON.stringify({ ...JSON.parse(genuine(event, composedEvent, sentAtMs)), reason: null }),
	}),
	defect({
		name: "a better credit in a repeated report is not stored",
		promise: "a credit follows from what the shop's server signed",
		seed: 8,
		module: () => import("#core/store/sqlite/batch.ts"),
		replaces: "createSqliteBatch",
		by: (genuine) => (database) =>
			changeRows(genuine(database), ({ moves = [], ofModules = [] }) => {
				const repeated = new Set<number | null>(
					moves.filter(({ move }) => move === "credit").map(({ conversion_id }) => conversion_id),
				);
				return {
					ofModules: ofModules.map(({ table, rows }) =>
						table.name === "credits"
							? { table, rows: rows.filter(({ conversion_id }) => !repeated.has(conversion_id)) }
							: { table, rows },
					),
				};
			}),
	}),
	defect({
		name: "an adjustment is entered twice",
		promise: "a partner's balance follows from the answers",
		seed: 1,
		module: () => import("#core/store/sqlite/batch.ts"),
		replaces: "createSqliteBatch",
		by: (genuine) => (database) =>
			changeRows(genuine(database), ({ ofModules = [] }) => ({
				ofModules: ofModules.map(({ table, rows }) =>
					// Only entries of adjustments and payments have no conversion, and payments are not written here.
					table.name === "entries"
						? { table, rows: rows.flatMap((row) => (row.conversion_id === null ? [row, row] : [row])) }
						: { table, rows },
				),
			})),
	}),
	defect({
		name: "callbacks go to the first URL that a shop ever had",
		promise: "requests use the current URL and secret",
		seed: 16,
		module: () => import("#core/callbacks/targets.ts"),
		replaces: "createTargetOpener",
		by:
			(genuine) =>
			(...deps) => {
				const open = genuine(...deps);
				const firstOf = new Map<number, ReturnType<typeof open>["target"]>();
				return (found, when) => {
					const { target, ...known } = open(found, when);
					const first = firstOf.get(found.receiverId) ?? target;
					firstOf.set(found.receiverId, first);
					if (target === null || first === null) return { ...known, target };
					const { url, pathAndQuery, endpointId } = first;
					return { ...known, target: { ...target, url, pathAndQuery, endpointId } };
				};
			},
	}),
	defect({
		name: "a 500 counts as a final refusal",
		promise: "the verdict follows from the answer",
		seed: 8,
		module: () => import("#core/domain/verdict.ts"),
		replaces: "judgeOutcome",
		by: (genuine) => (outcome) =>
			outcome.kind === "answered" && outcome.status === 500 ? "refused" : genuine(outcome),
	}),
	defect({
		name: "no conversion is approved at the end of its window",
		promise: "everything due ends",
		seed: 10,
		module: () => import("#core/conversions/end-windows.ts"),
		replaces: "approveDue",
		by: () => async () => 0,
	}),
	defect({
		name: "engines do not see a hold",
		promise: "nothing is sent during a hold",
		seed: 10,
		module: () => import("#core/store/queries/delivery-pause.ts"),
		replaces: "readIsHeld",
		by: () => async () => false,
	}),
	defect({
		name: "a shop gets one request more at a time than its cap",
		promise: "nothing unexpected happens",
		seed: 12,
		module: () => import("#core/callbacks/send-buffer.ts"),
		replaces: "SendBuffer",
		by: (Genuine) =>
			class extends Genuine {
				constructor({ perReceiver, overall }: ConstructorParameters<typeof Genuine>[0]) {
					super({ perReceiver: perReceiver + 1, overall });
				}
			},
	}),
];

function defect<Module, Name extends keyof Module & string>({
	module,
	by,
	...spec
}: DefectSpec<Module, Name>): Defect {
	return {
		...spec,
		async plant(put) {
			const imported = await module();
			put(by(imported[spec.replaces]));
		},
	};
}

/** Returns a faulty batch store, which changes the rows before it writes them. */
function changeRows(
	batch: BatchStore,
	changeOf: (rows: Partial<BatchRows>) => Partial<BatchRows>,
): BatchStore {
	return { ...batch, write: (db, rows) => batch.write(db, { ...rows, ...changeOf(rows) }) };
}

/** Returns a faulty queue, in which deliveries that ended in the given state stay, due after the end of the run. */
function leaveInQueue(queue: Queue, state: "delivered" | "failed"): Queue {
	return {
		...queue,
		async settle(trx, engineId, settlements) {
			const settled = await queue.settle(trx, engineId, settlements);
			for (const { delivery, ...end } of settlements) {
				if (end.kind !== "finished" || end.state !== state || settled?.has(delivery.id) !== true) continue;
				const { id, receiverId, run, counted, seq } = delivery;
				const tried = { run, counted: counted + 1, seq: seq + 1 };
				const row = { id, receiver_id: receiverId, due_at_ms: NEVER_MS, endpoint_epoch: 0, ...tried };
				await trx.insertInto("queue").values(row).execute();
			}
			return settled;
		},
	};
}
