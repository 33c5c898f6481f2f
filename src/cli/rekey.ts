// `ringback rekey` replaces the sealing key, or continues an interrupted replacement.

import { succeed } from "#core/domain/fault.ts";
import type { RekeyPlan, RekeyReport } from "../service/rekey.ts";
import { type Answer, workplaceCommand } from "./command.ts";

export const rekeyCommand = workplaceCommand({
	name: "rekey",
	summary:
		"Replaces the sealing key while the service runs, and seals everything again that the former key sealed. It can be interrupted and started again.",
	options: {
		"dry-run": { type: "boolean", help: "change nothing, only say what would be done" },
		"end-clicks": {
			type: "boolean",
			help: "let click IDs that were made with a former key credit nobody; without it they stay good for their click windows",
		},
	},
	notes: [
		"If the key is in a file beside the SQLite file, the command makes a new key and replaces the file. Nothing else is to be done.",
		"If RINGBACK_SECRET_KEY is set: make a new key with `openssl rand -hex 32`, set RINGBACK_SECRET_KEY to it and RINGBACK_FORMER_SECRET_KEY to the present key, restart every process one by one, and then run this with the same settings. When it is done, remove RINGBACK_FORMER_SECRET_KEY.",
		"`ringback guide sealing-key` says what to do when the key leaked.",
	],
	async work(workplace, options, screen) {
		const { planRekey, rekey } = await import("../service/rekey.ts");
		if (options.flag("dry-run")) return succeed(answerPlan(await planRekey(workplace)));
		const tell = (stage: string) => screen.error(`${stage} …`);
		const done = await rekey(workplace, { endClicks: options.flag("end-clicks"), tell });
		return done.ok ? succeed(answerReport(done.value)) : done;
	},
});

/** Words that the command's output uses for the sealed values of each table. */
const WORDS: Readonly<Record<string, string>> = {
	signing_secrets: "signing secrets",
	authenticators: "secrets and backup codes of authenticators",
	payment_details: "payment details",
	mail_queue: "mails that wait",
	statements: "statements",
	erasures: "names that an erasure still looks for",
	kept_keys: "keys that are kept for click IDs, sessions and cursors",
};

function describeCounts(counts: ReadonlyMap<string, number>): string[] {
	return [...counts].map(([table, count]) => `  ${count}  ${WORDS[table] ?? table}`);
}

function total(counts: ReadonlyMap<string, number>): number {
	return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** Says how many values were sealed again, with a colon if the list of them follows. */
function sayResealed(count: number): string {
	if (count === 0) return "Nothing had to be sealed again.";
	return count === 1 ? "1 value was sealed again:" : `${count} values were sealed again:`;
}

const UNOPENED =
	"WARNING: these values open with no key that is known here. They could not be read before either, and stay as they are:";

function answerPlan(plan: RekeyPlan): Answer {
	const { presentId, nextId, stale, unopened, unaware, isInFiles } = plan;
	const isDone = nextId === presentId && total(stale) === 0;
	const text = [
		isDone
			? `The key ${presentId} seals, and sealed everything. ${TO_REPLACE}`
			: `The key ${presentId} seals. ${nextId === null ? "A new one would be made" : `The key ${nextId} would replace it`}, and these values would be sealed again:`,
		...(isDone ? [] : describeCounts(stale)),
		...(unopened.size === 0 ? [] : [UNOPENED, ...describeCounts(unopened)]),
		...(unaware.length === 0
			? []
			: [
					`These processes do not know the new key yet, so restart them with the new settings first: ${unaware.join(", ")}.`,
				]),
		"Nothing was changed.",
	].join("\n");
	const counts = { stale: Object.fromEntries(stale), unopened: Object.fromEntries(unopened) };
	return { json: { isDryRun: true, presentId, nextId, ...counts, unaware, isInFiles }, text };
}

const TO_REPLACE =
	"To replace it, set RINGBACK_SECRET_KEY to a new key (`openssl rand -hex 32`) and RINGBACK_FORMER_SECRET_KEY to this one, restart every process, and run `ringback rekey` again.";

function answerReport(report: RekeyReport): Answer {
	const { presentId, formerId, resealed, unopened, hasEndedClicks, keptAside, isInFiles } = report;
	const { isReplaced } = report;
	const text = [
		isReplaced
			? `The key ${presentId} has replaced ${formerId ?? "the former one"}, and sealed everything. ${sayResealed(total(resealed))}`
			: `Nothing was replaced: the key ${presentId} in RINGBACK_SECRET_KEY already seals everything. ${TO_REPLACE}`,
		...describeCounts(resealed),
		...(unopened.size === 0 ? [] : [UNOPENED, ...describeCounts(unopened)]),
		...(hasEndedClicks
			? [
					"Click IDs that were made with a former key credit nobody any more, in every process within five seconds.",
				]
			: []),
		...(isReplaced ? nextSteps(report) : []),
	].join("\n");
	const counts = { resealed: Object.fromEntries(resealed), unopened: Object.fromEntries(unopened) };
	const facts = { isReplaced, presentId, formerId, ...counts, hasEndedClicks, keptAside, isInFiles };
	return { json: facts, text, isIncomplete: unopened.size > 0 };
}

function nextSteps({ keptAside, isInFiles }: RekeyReport): string[] {
	const files =
		keptAside === null
			? []
			: [
					`The former key is kept in ${keptAside}, because backups made with --without-key need it. Delete it when you have none of them left.`,
				];
	const settings = isInFiles
		? []
		: ["Now remove RINGBACK_FORMER_SECRET_KEY from the settings of every process, and restart them."];
	return [
		...files,
		...settings,
		"Make a backup now. One from before contains the former key and what it sealed: after restoring it, run `ringback rekey` again.",
	];
}
