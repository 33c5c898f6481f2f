// `ringback import KIND FILE` creates the same job as the import page and runs it to its end. Without --yes it prints a preview of the result. With --yes it imports the file.

import { createReadStream, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Job } from "#modules/jobs/store/jobs.ts";
import { discardJob, startJob } from "#modules/jobs/use-cases/job.ts";
import type { JobKind } from "#modules/jobs/use-cases/kind.ts";
import { IMPORT_KINDS, JOB_KINDS } from "#modules/jobs/use-cases/kinds.ts";
import { jobResult } from "#modules/jobs/use-cases/lines.ts";
import { uploadFile } from "#modules/jobs/use-cases/make-job.ts";
import { type JobSummary, parseSummary } from "#modules/jobs/use-cases/summary.ts";
import { finishJob } from "#modules/jobs/use-cases/work.ts";
import type { Workplace } from "../service/workplace.ts";
import { type Answer, type Command, type Options, type Screen, workplaceCommand } from "./command.ts";

const PROGRESS_EVERY_MS = 2 * SECOND_MS;

export const IMPORT_COMMANDS: readonly Command[] = IMPORT_KINDS.map((name) =>
	workplaceCommand({
		name: `import ${name}`,
		summary: `${JOB_KINDS[name].importSummary} Shows a preview, and imports with --yes. You can run the same file again: existing values stay as they are.`,
		argument: { value: "FILE", help: "a CSV file; `ringback guide import` shows one of each kind" },
		options: {
			yes: {
				type: "boolean",
				help: "import it; without it, only a preview is shown, and the exit code is 1",
			},
			...(JOB_KINDS[name].invitesLater === undefined
				? {}
				: { invite: { type: "boolean", help: "mail everybody their invitation" } as const }),
			result: { type: "string", value: "FILE", help: "write every line with its result into a new CSV file" },
		},
		work: (workplace, options, screen) => runImport(JOB_KINDS[name], workplace, options, screen),
	}),
);

async function runImport(
	kind: JobKind,
	workplace: Workplace,
	options: Options,
	screen: Screen,
): Promise<Result<Answer>> {
	const path = options.argument;
	const stats = statSync(path, { throwIfNoEntry: false });
	if (stats?.isFile() !== true) {
		return refuse("malformed_file", `There is no file ${path}. Check the name.`, "file");
	}
	const result = options.text("result");
	if (result !== "" && statSync(result, { throwIfNoEntry: false }) !== undefined) {
		return refuse("invalid_field", `There is a file ${result} already. Choose another name for the result.`);
	}
	const file = { name: basename(path), bytes: stats.size, read: () => createReadStream(path) };
	const uploaded = await uploadFile(workplace, kind, { actor: COMMAND_LINE }, file);
	if (!uploaded.ok) return uploaded;
	const work = (done: string) =>
		finishJob(workplace, uploaded.value, tellProgress(workplace, screen, kind, done));
	const previewed = await work("checked");
	if (previewed?.state !== "previewed") return refuseElsewhere();
	const answer = async (job: Job, next?: string): Promise<Result<Answer>> => {
		const isApplied = job.state !== "previewed";
		if (result !== "") await writeResult(result, workplace, job);
		if (!isApplied) await discardJob(workplace, job, COMMAND_LINE, next ?? "only looked at");
		const summary = parseSummary(job.summary);
		const { change, ...counts } = summary.counts;
		return succeed({
			json: { applied: isApplied, ...summary, counts: { import: change, ...counts } },
			text: describeSummary({ kind, name: file.name, summary, isApplied, next }),
			isIncomplete: summary.counts.refused > 0 || next !== undefined,
		});
	};
	if (parseSummary(previewed.summary).counts.change === 0) return answer(previewed);
	if (!options.flag("yes")) {
		return answer(previewed, "Nothing was imported yet: run it again with --yes.");
	}
	const started = await startJob(workplace, previewed, COMMAND_LINE, options.flag("invite"));
	if (!started.ok) return started;
	const done = await work("imported");
	return done?.state === "done" ? answer(done) : refuseElsewhere();
}

function refuseElsewhere(): ReturnType<typeof refuse> {
	return refuse("job_not_ready", "This import was stopped or discarded on the page Import. Look there.");
}

/** Prints a line of progress on standard error every two seconds. */
function tellProgress({ clock }: Workplace, screen: Screen, { noun }: JobKind, done: string) {
	let toldAtMs = clock.nowMs();
	return ({ done_rows, row_count }: Job): void => {
		if (clock.nowMs() - toldAtMs < PROGRESS_EVERY_MS) return;
		toldAtMs = clock.nowMs();
		screen.error(`${done_rows} of ${row_count} ${noun[1]} ${done}`);
	};
}

/**
 * Writes the result to a new file that only its owner may read, because it names people. It never overwrites
 * a file, which could be the one being imported.
 */
async function writeResult(path: string, { store }: Workplace, job: Job): Promise<void> {
	const file = await open(path, "wx", 0o600);
	try {
		for await (const text of jobResult(store.db, job, false)) await file.writeFile(text);
	} finally {
		await file.close();
	}
}

interface SummaryView {
	kind: JobKind;
	name: string;
	summary: JobSummary;
	isApplied: boolean;
	/** Sentence that says what the person should do next. */
	next?: string | undefined;
}

function describeSummary({ kind, name, summary, isApplied, next }: SummaryView): string {
	const { rows, counts, money, problems, remarks } = summary;
	const remarkable = `${remarks} ${kind.noun[remarks === 1 ? 0 : 1]}`;
	const width = String(rows).length;
	const countLine = (label: string, count: number) =>
		`  ${label.padEnd(16)}  ${String(count).padStart(width)}`;
	const moreProblems = counts.refused - problems.length;
	return [
		`${name}: ${rows} ${rows === 1 ? "line" : "lines"} about ${kind.noun[1]}`,
		countLine(isApplied ? "Imported" : "Will be imported", counts.change),
		countLine("No change needed", counts.already),
		countLine("Needs fixing", counts.refused),
		...money.map(
			(total) =>
				`  ${total.status.toLowerCase().padEnd(8)}  ${total.rows} ${total.rows === 1 ? "conversion" : "conversions"}, amount ${total.basket}, commission ${total.commission}, fee ${total.fee} ${total.currency}`,
		),
		...(problems.length === 0 ? [] : ["Needs fixing:"]),
		...problems.map(({ line, detail }) => `  line ${line}: ${detail}`),
		...(moreProblems > 0 ? [`  and ${moreProblems} more: --result FILE writes all of them`] : []),
		...(remarks === 0 || kind.sayRemarks === undefined ? [] : [kind.sayRemarks(remarkable, isApplied)]),
		...(isApplied || counts.change === 0 ? [] : [kind.advice]),
		...(next === undefined ? [] : [next]),
	].join("\n");
}
