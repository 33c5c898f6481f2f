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
				put: "settled.length > 1 ? await noteFailures(trx, random, settled, failing, nowMs) : { failing: [], recovered: [] }",
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
		name: "failures that come while a mail is under way",
		seenWith: 15,
		edits: [
			{
				file: "store/notices.ts",
				find: "mailed_failures: told,",
				put: 'mailed_failures: eb.ref("failures"),',
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
				find: "await insertNotice(trx, {",
				put: "if (nowMs > 0) return;\n\tawait insertNotice(trx, {",
			},
		],
		breaks: ["8 owners are told"],
	},
];
