// Defects of slots and ends: who may send, who may store, what is heard of, and what ends a delivery.

import type { Defect, Edit } from "./defect.ts";

/** Or else the key of the attempts stands in the way, and the defect shows as its error. */
const ATTEMPTS_MAY_REPEAT: Edit = {
	file: "store/sqlite/queue.ts",
	find: "insert into attempts (",
	put: "insert or replace into attempts (",
};

const OWN_SLOT = "5 one owner of a slot, results of its own";
const ATTEMPTS = "4 seven attempts at their time";

export const SLOT_DEFECTS: readonly Defect[] = [
	{
		name: "a hold that engines do not see",
		seenWith: 5,
		edits: [
			{
				file: "callbacks/hold-watch.ts",
				find: "this.isHeld = isHeld;",
				put: "this.isHeld = isHeld && lookAtMs < 0;",
			},
		],
		breaks: ["nothing is sent while held"],
	},
	{
		name: "a slot with two owners",
		seenWith: 2,
		edits: [
			{
				file: "store/queries/slot-queue.ts",
				find: 'select("slot").where("engine_id", "is", null);',
				put: 'select("slot");',
			},
			{
				file: "callbacks/slots.ts",
				find: "Math.min(free, share - mine.length)",
				put: "share - mine.length",
			},
		],
		breaks: [OWN_SLOT, "nothing unexpected", ATTEMPTS, "everything due ends"],
	},
	{
		name: "a pass that is not fenced",
		seenWith: 2,
		edits: [
			{
				file: "callbacks/pass.ts",
				find: "if (!(await queue.beginPass(trx, engineId, renewal))) return null;",
				put: "await queue.beginPass(trx, engineId, renewal);",
			},
			ATTEMPTS_MAY_REPEAT,
		],
		breaks: [OWN_SLOT, "nothing unexpected", ATTEMPTS, "everything due ends"],
	},
	{
		name: "a renewal after the engine was ended",
		seenWith: 2,
		edits: [
			{
				file: "store/queries/slot-queue.ts",
				find: "return numUpdatedRows > 0n;",
				put: "return numUpdatedRows >= 0n;",
			},
			ATTEMPTS_MAY_REPEAT,
		],
		breaks: [OWN_SLOT, "nothing unexpected", ATTEMPTS, "everything due ends"],
	},
	{
		name: "a request sent long after the last renewal",
		seenWith: 15,
		edits: [
			{
				file: "callbacks/slots.ts",
				find: "const SENDABLE_FOR_MS = 10 * SECOND_MS;",
				put: "const SENDABLE_FOR_MS = 300 * SECOND_MS;",
			},
			{
				// Nor does it go where an engine read long ago that it should.
				file: "callbacks/targets.ts",
				find: "return monotonicMs - learnedAtMs < FRESH_MS && monotonicMs - readAtMs < SENDABLE_MS;",
				put: "return monotonicMs - learnedAtMs + readAtMs >= 0;",
			},
		],
		breaks: [OWN_SLOT, ATTEMPTS],
	},
	{
		name: "an engine taken for silent while its requests are under way",
		seenWith: 4,
		edits: [
			{
				file: "store/queries/queue.ts",
				find: "export const SILENT_MS: number = 15 * SECOND_MS;",
				put: "export const SILENT_MS: number = 3 * SECOND_MS;",
			},
		],
		breaks: [OWN_SLOT],
	},
	{
		name: "a slot given up with requests in flight",
		seenWith: 5,
		edits: [
			{
				file: "callbacks/lanes.ts",
				find: "if (inHand.size > 0) idle.delete(slotOf(programmeId));",
				put: "if (inHand.size < 0) idle.delete(slotOf(programmeId));",
			},
		],
		breaks: [OWN_SLOT, "nothing unexpected"],
	},
	{
		name: "an agenda that forgets when a programme is next due",
		seenWith: 5,
		edits: [
			{
				file: "callbacks/agenda.ts",
				find: "(nextDueAtMs ?? NEVER_MS)",
				put: "(nextDueAtMs === -1 ? nowMs : NEVER_MS)",
			},
		],
		breaks: ["nothing unexpected", "everything due ends", ATTEMPTS],
	},
	{
		name: "new slots whose agenda nobody reads",
		seenWith: 5,
		edits: [
			{
				file: "callbacks/engine.ts",
				find: "if (ours.some((slot) => !known.includes(slot))) {\n\t\t\tthis.#isRereading = true;",
				put: "if (ours.some((slot) => !known.includes(slot))) {",
			},
		],
		breaks: ["nothing unexpected", "everything due ends", ATTEMPTS],
	},
	{
		name: "a lost notification without another read",
		seenWith: 11,
		edits: [
			{
				file: "callbacks/engine.ts",
				find: "onDoubt: () => {\n\t\t\t\tthis.#isRereading = true;",
				put: "onDoubt: () => {",
			},
		],
		breaks: ["nothing unexpected", "everything due ends", ATTEMPTS],
	},
	{
		name: "a sale handed straight through before its commit",
		seenWith: 115,
		edits: [
			{
				file: "api/intake.ts",
				find: "isUncertain = true;\n\t\t\t\t\treturn stored;",
				put: "isUncertain = true;\n\t\t\t\t\tstore.announceDue(stored.owed);\n\t\t\t\t\treturn stored;",
			},
		],
		breaks: ["2 one event per move", "nothing unexpected", OWN_SLOT],
	},
	{
		name: "a clock that is not corrected",
		seenWith: 5,
		edits: [
			{
				file: "service/shared-clock.ts",
				find: "const nowMs = (): number => Math.floor(machine.monotonicMs() + zeroMs);",
				put: "const nowMs = (): number => (zeroMs === 0 ? 0 : machine.nowMs());",
			},
		],
		breaks: [ATTEMPTS, "6 verifiable, fresh requests", "the answer follows from the life of a conversion"],
	},
	{
		name: "leases by each process's own clock",
		seenWith: 5,
		edits: [
			{
				file: "test/simulation/service-process.ts",
				find: "databaseNowMs: () => timeline.nowMs,",
				put: "databaseNowMs: () => timeline.nowMs + this.clockOffsetMs,",
			},
		],
		breaks: [
			// Engines that each take the other for one from the future end each other for ever.
			"everything due ends",
			OWN_SLOT,
			ATTEMPTS,
			"6 verifiable, fresh requests",
			"the answer follows from the life of a conversion",
		],
	},
	{
		name: "a process that sends although it is not sure of the time",
		seenWith: 5,
		edits: [
			{
				file: "callbacks/engine.ts",
				find: "return !this.#isStopping && !this.#hold.isHeld && this.#deps.clock.isSure();",
				put: "return !this.#isStopping && !this.#hold.isHeld;",
			},
		],
		breaks: [ATTEMPTS],
	},
	{
		name: "a clean stop that keeps its slots",
		seenWith: 2,
		edits: [
			{
				file: "callbacks/pass.ts",
				find: "if (input.isLast) await queue.endEngine(trx, engineId);",
				put: "",
			},
		],
		breaks: [OWN_SLOT],
	},
	{
		name: "what is pending outlives the removal of its URL",
		seenWith: 20,
		edits: [
			{
				file: "callbacks/sending.ts",
				find: 'if (delivery.endpointEpoch < endpointEpoch) return { kind: "cancel" };',
				put: "",
			},
		],
		breaks: ["the URL and secret of now", "everything due ends"],
	},
	{
		name: "deliveries dropped after four failures",
		seenWith: 5,
		edits: [
			{
				file: "callbacks/sending.ts",
				find: 'if (delivery.endpointEpoch < endpointEpoch) return { kind: "cancel" };',
				put: 'if (delivery.endpointEpoch < endpointEpoch || delivery.counted >= 4) return { kind: "cancel" };',
			},
		],
		breaks: ["3 one end or a due time"],
	},
	{
		name: "a corrected URL that cancels what is pending",
		seenWith: 26,
		edits: [
			{
				file: "store/queries/programmes.ts",
				find: "set({ endpoint_id: id })",
				put: 'set((eb) => ({ endpoint_id: id, endpoint_epoch: eb("endpoint_epoch", "+", 1) }))',
			},
		],
		breaks: ["3 one end or a due time"],
	},
	{
		name: "a URL that is removed without a new epoch",
		seenWith: 20,
		edits: [
			{
				file: "store/queries/programmes.ts",
				find: 'eb("endpoint_epoch", "+", 1)',
				put: 'eb("endpoint_epoch", "+", 0)',
			},
		],
		breaks: ["the URL and secret of now", "everything due ends"],
	},
	{
		name: "a removal that touches what is in hand",
		seenWith: 20,
		edits: [
			{
				file: "store/queries/bring-forward.ts",
				find: '.where("due_at_ms", ">", dueAtMs + IN_HAND_SOON_MS)',
				put: '.where("due_at_ms", ">", 0)',
			},
			{
				file: "store/queries/bring-forward.ts",
				find: "{ dueAtMs: untilMs, id: Number.MAX_SAFE_INTEGER }",
				put: "{ dueAtMs: 0, id: 0 }",
			},
		],
		// Its result comes in the end, for a row that is due at another time.
		breaks: [OWN_SLOT, "nothing unexpected"],
	},
	{
		name: "a failure without its date",
		seenWith: 2,
		edits: [
			{
				file: "store/sqlite/queue.ts",
				find: 'const failedAtMs = state === "failed" ? finishedAtMs : null;',
				put: "const failedAtMs = null;",
			},
		],
		breaks: ["3 one end or a due time"],
	},
	{
		name: "sending now what is in hand",
		seenWith: 11,
		edits: [
			{
				file: "store/queries/bring-forward.ts",
				find: "queue.due_at_ms > ",
				put: "queue.due_at_ms + 66000 > ",
			},
		],
		breaks: [OWN_SLOT, "nothing unexpected", ATTEMPTS],
	},
	{
		name: "sending now without a word to the engine",
		seenWith: 5,
		edits: [
			{
				file: "programmes/resend.ts",
				find: "if (sent.ok && sent.value > 0) store",
				put: "if (sent.ok && sent.value > 0 && nowMs < 0) store",
			},
		],
		breaks: [ATTEMPTS, "nothing unexpected", "everything due ends"],
	},
	{
		name: "sending now what was tried since",
		seenWith: 18,
		edits: [
			{
				file: "store/queries/bring-forward.ts",
				find: "and queue.seq = seen.seq ",
				put: "",
			},
		],
		breaks: ["4 seven attempts at their time"],
	},
];
