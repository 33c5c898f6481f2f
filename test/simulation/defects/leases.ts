// Defects of leases and ends: who may send, who may store, and what ends a delivery.

import type { Defect, Edit } from "./defect.ts";

/** Or else the key of the attempts stands in the way, and the defect shows as its error. */
const ATTEMPTS_MAY_REPEAT: Edit = {
	file: "store/sqlite-queue.ts",
	find: "insert into attempts (delivery_id, seq, programme_id, run, result, http_status,",
	put: "insert or replace into attempts (delivery_id, seq, programme_id, run, result, http_status,",
};

const OWN_LEASE = "5 one holder of a lane, results of its own";

export const LEASE_DEFECTS: readonly Defect[] = [
	{
		name: "results stored without a lease",
		seenWith: 5,
		edits: [
			{
				file: "callbacks/pass.ts",
				find: "if (begun === null) return null;",
				put: "if (begun === null && input.settlements.length === 0) return null;",
			},
			{
				file: "store/sqlite-lanes.ts",
				find: "if (renewal === null) return findEngine.get(engineId) === undefined ? null : BEGUN;",
				put: "if (renewal === null) return BEGUN;",
			},
			ATTEMPTS_MAY_REPEAT,
		],
		breaks: [OWN_LEASE, "nothing unexpected", "4 seven attempts at their time"],
	},
	{
		name: "a request sent long after the last renewal",
		seenWith: 67,
		edits: [
			{
				file: "callbacks/lease.ts",
				find: "const SENDABLE_FOR_MS = LEASE_MS - 10 * SECOND_MS;",
				put: "const SENDABLE_FOR_MS = 10 * LEASE_MS;",
			},
			{
				// Nor does it go where an engine read long ago that it should.
				file: "callbacks/targets.ts",
				find: "return youngForMs(known, SENDABLE_FOR_MS, nowMs) > 0;",
				put: "return known !== null;",
			},
		],
		breaks: [OWN_LEASE, "4 seven attempts at their time"],
	},
	{
		name: "what was in hand forgotten when another takes over",
		seenWith: 5,
		edits: [
			{
				file: "store/sqlite-lanes.ts",
				find: "const interrupted = interruptAll(statements, lapsed);",
				put: "const interrupted = interruptAll(statements, 0);",
			},
		],
		breaks: [OWN_LEASE],
	},
	{
		name: "a lane with two holders",
		edits: [
			{
				file: "store/sqlite-lanes.ts",
				find: "select receiver_id as id from lanes where engine_id is null and next_due_ms <= ?\n\t\t\t\torder by next_due_ms limit ?",
				put: "select receiver_id as id from lanes where next_due_ms <= ?\n\t\t\t\torder by next_due_ms limit ?",
			},
		],
		breaks: [OWN_LEASE, "nothing unexpected", "4 seven attempts at their time"],
	},
	{
		name: "a lease that lapses while its requests are under way",
		edits: [
			{
				file: "callbacks/planner.ts",
				find: "goodUntilMs: nowMs + LEASE_MS",
				put: "goodUntilMs: nowMs + 3 * SECOND_MS",
			},
		],
		breaks: [OWN_LEASE],
	},
	{
		name: "a lane that is closed and not opened by the next event",
		seenWith: 4,
		edits: [
			{
				file: "store/sqlite-writes.ts",
				find: "where lanes.next_due_ms > excluded.next_due_ms",
				put: "where lanes.next_due_ms < excluded.next_due_ms",
			},
		],
		breaks: ["nothing unexpected", "everything due ends"],
	},
	{
		name: "a lane let go although more is due",
		seenWith: 2,
		edits: [
			{
				file: "store/sqlite-lanes.ts",
				find: "letGo: prepare(\n\t\t\t`update lanes set engine_id = null, next_due_ms = ",
				put: "letGo: prepare(\n\t\t\t`update lanes set engine_id = null, next_due_ms = 86400000 + ",
			},
		],
		breaks: ["nothing unexpected", "everything due ends", "4 seven attempts at their time"],
	},
	{
		name: "lanes leased by a pass of which no word came, and nobody looks",
		seenWith: 41,
		edits: [
			{
				file: "callbacks/planner.ts",
				find: "if (output.lanesBefore !== null) this.#held.correct(output.lanesBefore, nowMs);",
				put: "",
			},
		],
		breaks: ["everything due ends"],
	},
	{
		name: "what is pending outlives the removal of its URL",
		seenWith: 9,
		edits: [
			{
				file: "callbacks/sending.ts",
				find: "if (delivery.endpointEpoch < endpointEpoch) {",
				put: "if (delivery.endpointEpoch < endpointEpoch - 1_000) {",
			},
			// Or the chore would be there first.
			{
				file: "store/cancellations.ts",
				find: "({ epoch }) => epoch < cancellation.epoch",
				put: "({ epoch }) => epoch < cancellation.epoch - 1_000",
			},
		],
		breaks: ["the URL and secret of now", "everything due ends"],
	},
	{
		name: "a clean stop that keeps what it holds",
		edits: [
			{
				file: "callbacks/sending.ts",
				find: "release(lanes.takeWaiting(lanes.waitingReceiverIds()));",
				put: "lanes.takeWaiting(lanes.waitingReceiverIds());",
			},
			{
				file: "store/engines.ts",
				find: 'await trx.deleteFrom("handouts")',
				put: 'if (engineId < 0) await trx.deleteFrom("handouts")',
			},
		],
		breaks: [OWN_LEASE],
		seenWith: 33,
	},
	{
		name: "a clean stop that keeps its lanes",
		seenWith: 2,
		edits: [
			{ file: "callbacks/planner.ts", find: "leaving: this.#held.ids(), isLast: true", put: "isLast: true" },
		],
		breaks: [OWN_LEASE],
	},
	{
		name: "deliveries dropped after four failures",
		seenWith: 2,
		edits: [
			{
				file: "callbacks/sending.ts",
				find: "if (delivery.endpointEpoch < endpointEpoch) {",
				put: "if (delivery.endpointEpoch < endpointEpoch || delivery.counted >= 4) {",
			},
		],
		breaks: ["3 one end or a due time"],
	},
	{
		name: "a corrected URL that cancels what is pending",
		seenWith: 26,
		edits: [
			{
				file: "store/programmes.ts",
				find: "set({ endpoint_id: id })",
				put: 'set((eb) => ({ endpoint_id: id, endpoint_epoch: eb("endpoint_epoch", "+", 1) }))',
			},
		],
		breaks: ["3 one end or a due time"],
	},
	{
		name: "a URL that is removed without a new epoch",
		seenWith: 9,
		edits: [
			{
				file: "store/endpoint-removal.ts",
				find: 'eb("endpoint_epoch", "+", 1)',
				put: 'eb("endpoint_epoch", "+", 0)',
			},
		],
		breaks: ["the URL and secret of now", "everything due ends"],
	},
	{
		name: "a removal that cancels what is in hand",
		seenWith: 9,
		edits: [
			{ file: "store/cancellations.ts", find: "=> !inHand.has(", put: "=> inHand !== null || inHand.has(" },
		],
		// Its result comes in the end, for a delivery that is over.
		breaks: [OWN_LEASE, "nothing unexpected"],
	},
	{
		name: "a removal whose rest nobody takes up",
		seenWith: 2,
		edits: [
			{
				file: "store/cancellations.ts",
				find: "if (cancellation === undefined) return;",
				put: "if (cancellation !== null) return;",
			},
		],
		breaks: ["everything due ends"],
	},
	{
		name: "a failure without its date",
		seenWith: 2,
		edits: [
			{
				file: "store/sqlite-queue.ts",
				find: 'if (state === "failed") statements.noteFailure.run(endedAtMs, id);',
				put: "",
			},
		],
		breaks: ["3 one end or a due time"],
	},
	{
		name: "sending now what is in hand",
		seenWith: 59,
		edits: [
			{
				file: "store/bring-forward.ts",
				find: "=> !inHand.has(",
				put: "=> inHand !== null || inHand.has(",
			},
		],
		breaks: [OWN_LEASE, "nothing unexpected"],
	},
	{
		name: "sending now without a word to the lane",
		seenWith: 4,
		edits: [
			{
				file: "store/bring-forward.ts",
				find: "await markDue(trx, [receiverId], nowMs);",
				put: "",
			},
		],
		breaks: ["4 seven attempts at their time", "nothing unexpected", "everything due ends"],
	},
	{
		name: "sending now what was tried since",
		seenWith: 14,
		edits: [
			{
				file: "store/bring-forward.ts",
				find: "=> seqOf.get(id) === seq)",
				put: "=> seqOf.has(id) || seq < 0)",
			},
		],
		breaks: ["4 seven attempts at their time"],
	},
];
