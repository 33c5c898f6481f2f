// Defects of attempts: how many, when, to whom, and how they are signed and judged.

import type { Defect } from "./defect.ts";

export const ATTEMPT_DEFECTS: readonly Defect[] = [
	{
		name: "an attempt too many",
		seenWith: 5,
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
		seenWith: 4,
		edits: [{ file: "domain/retry.ts", find: "\t1 * MINUTE_MS,", put: "\t2 * MINUTE_MS," }],
		breaks: ["4 seven attempts at their time"],
	},
	{
		name: "a delay off by one step, too early",
		seenWith: 4,
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
		seenWith: 4,
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
		name: "a retry after a 404",
		seenWith: 4,
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
		seenWith: 4,
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
		name: "a last HTTP status that is lost when the seventh attempt gets no answer",
		seenWith: 14,
		edits: [
			{
				file: "store/sqlite/queue.ts",
				find: "last_http_status = coalesce(?, last_http_status)",
				put: "last_http_status = ?",
			},
		],
		breaks: ["the verdict follows from the answer"],
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
		seenWith: 16,
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
		name: "a private address dialled after rebinding",
		seenWith: 6,
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
		seenWith: 6,
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
		name: "callbacks of another content type",
		edits: [{ file: "callbacks/attempt.ts", find: '"application/json",', put: '"text/plain",' }],
		breaks: ["6 verifiable, fresh requests"],
	},
	{
		name: "an attempt sent now that does not count",
		seenWith: 5,
		edits: [
			{
				file: "store/queries/bring-forward.ts",
				find: "update queue set due_at_ms = ",
				put: "update queue set counted = counted - 1, due_at_ms = ",
			},
		],
		breaks: ["4 seven attempts at their time", "the verdict follows from the answer"],
	},
];
