// Defects of telling the owners.

import type { Defect } from "./defect.ts";

export const TELLING_DEFECTS: readonly Defect[] = [
	{
		name: "a lost notice",
		seenWith: 2,
		edits: [
			{
				file: "callbacks/pass.ts",
				find: "await noteFailures(trx, random, settled, failing, nowMs)",
				put: "settled.length > 1 ? await noteFailures(trx, random, settled, failing, nowMs) : { failing: [], recovered: [], hasNews: false }",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "a flood of mails",
		seenWith: 4,
		edits: [
			{
				file: "domain/notice.ts",
				find: "MAIL_INTERVAL_MS = 15 * MINUTE_MS",
				put: "MAIL_INTERVAL_MS = 60_000",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "a mail that the server did not take and that is not tried again",
		seenWith: 5,
		edits: [
			{
				file: "mail/dispatcher.ts",
				find: "const delayMs = isServers ? SERVER_RETRY_MS",
				put: "const delayMs = isServers ? undefined",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "nobody told that callbacks work again",
		seenWith: 2,
		edits: [
			{
				file: "callbacks/failure-notices.ts",
				find: "await addRecoveries(trx, recoveries, nowMs);",
				put: "if (nowMs < 0) await addRecoveries(trx, recoveries, nowMs);",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "a success that does not end the trouble",
		seenWith: 6,
		edits: [
			{
				file: "callbacks/failure-notices.ts",
				find: "if (failing.has(receiverId)) recovered.add(receiverId);",
				put: "if (failing.has(receiverId) && receiverId % 2 === 0) recovered.add(receiverId);",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "trouble of which nobody takes note before the final failure",
		seenWith: 25,
		edits: [
			{
				file: "callbacks/failure-notices.ts",
				find: 'settlement.kind === "retry" || (settlement.kind',
				put: "(settlement.kind",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "trouble that is told too early",
		seenWith: 4,
		edits: [
			{
				file: "domain/notice.ts",
				find: "SERIOUS_AFTER_ATTEMPTS = 5",
				put: "SERIOUS_AFTER_ATTEMPTS = 2",
			},
		],
		breaks: ["8 owners are told"],
	},
	{
		name: "trouble that lasts and is not told",
		seenWith: 6,
		edits: [
			{
				file: "store/queries/notices.ts",
				find: "order by opened_at_ms limit 1)",
				put: "order by opened_at_ms limit 1 offset 1)",
			},
		],
		breaks: ["everything due ends"],
	},
	{
		name: "trouble that is told and not mailed",
		seenWith: 6,
		edits: [
			{
				file: "store/queries/notices.ts",
				find: ", mail_due_at_ms = $",
				put: ", mailed_failures = 0 * $",
			},
		],
		breaks: ["8 owners are told"],
	},
];
