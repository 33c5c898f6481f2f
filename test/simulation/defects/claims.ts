// Defects of claims and ends: who may send, who may store, and what ends a delivery.

import type { Defect, Edit } from "./defect.ts";

/** Or else the key of the attempts stands in the way, and the defect shows as its error. */
const ATTEMPTS_MAY_REPEAT: Edit = {
	file: "store/sqlite-queue.ts",
	find: "insert into attempts (delivery_id, seq, run, result, http_status,",
	put: "insert or replace into attempts (delivery_id, seq, run, result, http_status,",
};

export const CLAIM_DEFECTS: readonly Defect[] = [
	{
		name: "a claim that is not fenced when a delivery ends",
		edits: [
			{
				file: "store/sqlite-queue.ts",
				find: '"delete from queue where id = ? and claim = ?"',
				put: '"delete from queue where id = ? and ? is not null"',
			},
			ATTEMPTS_MAY_REPEAT,
		],
		breaks: ["5 one holder of a lane, results of its own"],
	},
	{
		name: "a result stored for another's claim",
		edits: [
			{
				file: "store/sqlite-queue.ts",
				find: "counted = ?, seq = ? where id = ? and claim = ?",
				put: "counted = ?, seq = ? where id = ? and ? is not null",
			},
			ATTEMPTS_MAY_REPEAT,
		],
		breaks: ["5 one holder of a lane, results of its own"],
	},
	{
		name: "a claim that does not keep others away",
		edits: [
			{
				file: "store/sqlite-queue.ts",
				find: "statements.markClaimed.run(claim, nowMs + CLAIM_LAPSE_MS, ",
				put: "statements.markClaimed.run(claim, nowMs, ",
			},
		],
		breaks: ["5 one holder of a lane, results of its own"],
	},
	{
		name: "a claim that lapses while its request is under way",
		edits: [
			{
				file: "store/queue.ts",
				find: "CLAIM_LAPSE_MS = 30_000",
				put: "CLAIM_LAPSE_MS = 3_000",
			},
			{
				file: "callbacks/sending.ts",
				find: "CLAIM_LAPSE_MS - 10_000",
				put: "20_000",
			},
		],
		breaks: ["5 one holder of a lane, results of its own", "4 seven attempts at their time"],
	},
	{
		name: "what is pending outlives the removal of its URL",
		edits: [
			{
				file: "callbacks/sending.ts",
				find: "if (delivery.endpointEpoch < endpointEpoch) {",
				put: "if (delivery.endpointEpoch < endpointEpoch - 1_000) {",
			},
		],
		breaks: ["the URL and secret of now", "everything due ends"],
	},
	{
		name: "a delivery given back for another's claim",
		edits: [
			{
				file: "store/sqlite-queue.ts",
				find: "update queue set due_at_ms = ?, claim = null where id = ? and claim = ?",
				put: "update queue set due_at_ms = ?, claim = null where id = ? and ? is not null",
			},
		],
		breaks: ["5 one holder of a lane, results of its own"],
		seenWith: 98,
	},
	{
		name: "a clean stop that keeps what it holds",
		edits: [
			{
				file: "callbacks/sending.ts",
				find: "giveBack(lanes.takeWaiting());",
				put: "lanes.takeWaiting();",
			},
		],
		breaks: ["5 one holder of a lane, results of its own"],
		seenWith: 17,
	},
	{
		name: "deliveries dropped after four failures",
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
		name: "a failure without its date",
		edits: [
			{
				file: "store/sqlite-queue.ts",
				find: 'if (state === "failed") statements.noteFailure.run(endedAtMs, id);',
				put: "",
			},
		],
		breaks: ["3 one end or a due time"],
	},
];
