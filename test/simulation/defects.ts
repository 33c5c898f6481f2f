// Defects to be planted into the sources, one at a time, to prove that the auditors can see: each is an edit of a
// file as it is loaded, and names the promise that it breaks. An edit that finds nothing to change is an error, so
// that none silently stops being planted.

import type { PromiseName } from "./broken.ts";

export interface Defect {
	name: string;
	edits: readonly Edit[];
	/** Any of these shows that it was seen. */
	breaks: readonly PromiseName[];
}

export interface Edit {
	/** Below src/. */
	file: string;
	/** Occurs exactly once. */
	find: string;
	put: string;
}

/** Or else the key of the attempts stands in the way, and the defect shows as its error. */
const ATTEMPTS_MAY_REPEAT: Edit = {
	file: "store/sqlite-queue.ts",
	find: "insert into attempts (delivery_id, seq, run, result, http_status,",
	put: "insert or replace into attempts (delivery_id, seq, run, result, http_status,",
};

export const DEFECTS: readonly Defect[] = [
	{
		name: "an attempt too many",
		edits: [
			{
				file: "domain/delivery.ts",
				find: "countedAttempts >= MAX_ATTEMPTS ? null : nextDueAtMs(countedAttempts, endedAtMs)",
				put: "countedAttempts > MAX_ATTEMPTS ? null : nextDueAtMs(Math.min(countedAttempts, 6), endedAtMs)",
			},
		],
		breaks: ["4 seven attempts at their time", "the verdict follows from the answer"],
	},
	{
		name: "a first delay of two minutes",
		edits: [{ file: "domain/retry.ts", find: "\t1 * MINUTE_MS,", put: "\t2 * MINUTE_MS," }],
		breaks: ["4 seven attempts at their time"],
	},
	{
		name: "a delay off by one step, too early",
		edits: [
			{
				file: "domain/retry.ts",
				find: "RETRY_DELAYS_MS[countedAttempts - 1]",
				put: "RETRY_DELAYS_MS[Math.max(0, countedAttempts - 2)]",
			},
		],
		breaks: ["4 seven attempts at their time"],
	},
	{
		name: "a delay off by one step, too late",
		edits: [
			{
				file: "domain/retry.ts",
				find: "RETRY_DELAYS_MS[countedAttempts - 1]",
				put: "RETRY_DELAYS_MS[Math.min(countedAttempts, 5)]",
			},
		],
		breaks: ["4 seven attempts at their time"],
	},
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
		breaks: ["5 one live claim, results of its own"],
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
		breaks: ["5 one live claim, results of its own"],
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
		breaks: ["5 one live claim, results of its own"],
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
		breaks: ["5 one live claim, results of its own"],
	},
	{
		name: "an outbox row outside the transaction of its status change",
		edits: [
			{
				file: "store/outbox.ts",
				find: "const events = await trx\n",
				put: 'await trx.executeQuery(CompiledQuery.raw("commit"));\n\tawait trx.executeQuery(CompiledQuery.raw("begin immediate"));\n\tconst events = await trx\n',
			},
			{
				file: "store/outbox.ts",
				find: 'import type { EventName } from "../domain/event-name.ts";',
				put: 'import { CompiledQuery } from "kysely";\nimport type { EventName } from "../domain/event-name.ts";',
			},
		],
		breaks: ["2 one event per move"],
	},
	{
		name: "a retry after a 404",
		edits: [
			{
				file: "domain/verdict.ts",
				find: 'if (status >= 400 && status <= 499) return "refused";',
				put: "",
			},
		],
		breaks: ["4 seven attempts at their time", "the verdict follows from the answer"],
	},
	{
		name: "a redirect that is tried again",
		edits: [
			{
				file: "domain/verdict.ts",
				find: 'if (status >= 300 && status <= 399) return "redirect";',
				put: "",
			},
		],
		breaks: ["4 seven attempts at their time", "the verdict follows from the answer"],
	},
	{
		name: "an old timestamp used again",
		edits: [
			{
				file: "callbacks/attempt.ts",
				find: "const timestamp = String(Math.floor(nowMs / 1000));",
				put: "const timestamp = (firstStamps[delivery.id] ??= String(Math.floor(nowMs / 1000)));",
			},
			{
				file: "callbacks/attempt.ts",
				find: "const NONCE_BYTES = 16;",
				put: "const NONCE_BYTES = 16;\nconst firstStamps: Record<number, string> = {};",
			},
		],
		breaks: ["6 verifiable, fresh requests"],
	},
	{
		name: "a secret that is kept after its replacement",
		edits: [
			{
				file: "callbacks/targets.ts",
				find: "known?.endpointId === endpointId && known.secretId === secretId",
				put: "known?.endpointId === endpointId",
			},
		],
		breaks: ["6 verifiable, fresh requests"],
	},
	{
		name: "a lost notice",
		edits: [
			{
				file: "callbacks/pass.ts",
				find: "const hasNotice = await noteFailures(trx, random, settled, failingProgrammeIds, nowMs);",
				put: "const hasNotice = settled.length > 1 && (await noteFailures(trx, random, settled, failingProgrammeIds, nowMs));",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "a flood of mails",
		edits: [
			{
				file: "domain/notice.ts",
				find: "MAIL_INTERVAL_MS = 15 * 60_000",
				put: "MAIL_INTERVAL_MS = 60_000",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "a second event for one move",
		edits: [
			{
				file: "conversions/decide.ts",
				find: 'if (verdict.kind === "already") return',
				put: 'if (verdict.kind === "already" && decision.move === "approve") await oweEvents(trx, deps, "conversion.approved", [present]);\n\t\tif (verdict.kind === "already") return',
			},
			{
				file: "store/migrations.ts",
				find: "create unique index events_once_per_conversion",
				put: "create index events_once_per_conversion",
			},
		],
		breaks: ["2 one event per move", "5 one live claim, results of its own"],
	},
	{
		name: "an event for a confirmed pixel conversion",
		edits: [
			{
				file: "conversions/confirm.ts",
				find: 'return succeed({ outcome: "CONFIRMED", conversion, owedProgrammeIds: [] });',
				put: 'const { oweEvents } = await import("./owe.ts");\n\tconst owedProgrammeIds = await oweEvents(trx, arguments[1], "conversion.recorded", [conversion]);\n\treturn succeed({ outcome: "CONFIRMED", conversion, owedProgrammeIds });',
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
	},
	{
		name: "a private address dialled after rebinding",
		edits: [
			{
				file: "outside/https-target.ts",
				find: "target.judgement = judgeRoutes(target.url, addresses, allowedPrivateRanges);",
				put: "target.judgement = target.judgement?.ok ? { ok: true, routes: addresses.map((address) => ({ address, key: address })) } : judgeRoutes(target.url, addresses, allowedPrivateRanges);",
			},
		],
		breaks: ["7 no forbidden address"],
	},
	{
		name: "only the first of several addresses judged",
		edits: [
			{
				file: "outside/https-target.ts",
				find: "for (const address of addresses) {",
				put: "for (const address of addresses.slice(0, 1)) {",
			},
		],
		breaks: ["7 no forbidden address"],
	},
	{
		name: "an interrupted attempt that is counted",
		edits: [
			{
				file: "store/sqlite-queue.ts",
				find: "counted: row.counted,",
				put: "counted: row.claim === null ? row.counted : row.counted + 1,",
			},
		],
		breaks: ["4 seven attempts at their time", "the verdict follows from the answer"],
	},
	{
		name: "what is pending outlives the removal of its URL",
		edits: [
			{
				file: "callbacks/sending.ts",
				find: "if (delivery.endpointEpoch < lane.endpointEpoch) {",
				put: "if (delivery.endpointEpoch < lane.endpointEpoch - 1_000) {",
			},
		],
		breaks: ["the URL and secret of now", "everything due ends"],
	},
	{
		name: "a commission rounded down",
		edits: [
			{
				file: "domain/money.ts",
				find: "(scaled + RATE_UNITS_PER_WHOLE / 2n) / RATE_UNITS_PER_WHOLE",
				put: "scaled / RATE_UNITS_PER_WHOLE",
			},
		],
		breaks: ["the body is the event as it happened"],
	},
	{
		name: "a status change that forgets who may make it",
		edits: [
			{
				file: "domain/conversion.ts",
				find: 'reject: { from: ["RECORDED"], ',
				put: 'reject: { from: ["RECORDED", "APPROVED"], ',
			},
		],
		breaks: ["the answer follows from the life of a conversion"],
	},
];
