// `ringback import programmes|people|conversions FILE`: what would come of the file, and, once somebody says so, what came
// of it.

import { createReadStream, statSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline/promises";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { SECOND_MS } from "../domain/time.ts";
import {
	IMPORT_KINDS,
	type ImportDeps,
	type ImportKind,
	type ImportKindName,
	type JudgedRow,
} from "../jobs/import-kind.ts";
import { importKind } from "../jobs/import-kinds.ts";
import { applyImport, type CheckedFile, previewImport, readThrough } from "../jobs/run-import.ts";
import type { ImportSummary } from "../jobs/summary.ts";
import type { Workplace } from "../service/workplace.ts";
import type { Command, Options, Screen } from "./command.ts";
import { openResultFile, type ResultFile } from "./import-result.ts";
import { describeSummary } from "./import-words.ts";
import { type Answer, workplaceCommand } from "./workplace-command.ts";

const SUMMARIES: Readonly<Record<ImportKindName, string>> = {
	programmes: "Imports programmes from other software, with their owners. Nobody is mailed.",
	people:
		"Imports people from other software into their programmes. Nobody is mailed, unless --invite says so.",
	conversions: "Imports decided conversions from other software. No callback is sent for them.",
};

const PROGRESS_EVERY_MS = 2 * SECOND_MS;

export const IMPORT_COMMANDS: readonly Command[] = IMPORT_KINDS.map((name) =>
	workplaceCommand({
		name: `import ${name}`,
		summary: `${SUMMARIES[name]} Shows what would happen and asks first. The same file may be run again: what is there already stays as it is.`,
		argument: { value: "FILE", help: "a CSV file; `ringback guide import` shows one of each kind" },
		options: {
			"dry-run": { type: "boolean", help: "only show what would happen" },
			yes: { type: "boolean", help: "do not ask" },
			...(name === "people"
				? { invite: { type: "boolean", help: "mail everybody their invitation" } as const }
				: {}),
			result: { type: "string", value: "FILE", help: "write every line with its result into a new CSV file" },
		},
		work: (workplace, options, screen) => runImport(importKind(name), workplace, options, screen),
	}),
);

async function runImport(
	kind: ImportKind,
	workplace: Workplace,
	options: Options,
	screen: Screen,
): Promise<Result<Answer>> {
	const path = options.argument;
	const deps: ImportDeps = {
		...workplace,
		personId: null,
		inviting: options.flag("invite") ? workplace : null,
	};
	if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
		return refuse("malformed_file", `There is no file ${path}. Check the name.`, "file");
	}
	const checked = await readThrough(deps, kind, { read: () => createReadStream(path) }, basename(path));
	if (!checked.ok) return checked;
	const isJson = options.flag("json");
	const preview = await go(deps, screen, kind, checked.value, "checked", (tell) =>
		previewImport(deps, kind, checked.value, tell),
	);
	const answerOf = (summary: ImportSummary, isApplied: boolean, next?: string): Result<Answer> =>
		succeed({
			json: { applied: isApplied, ...summary },
			text: describeSummary({ kind, name: checked.value.name, summary, isApplied, next }),
			isIncomplete: summary.counts.refused > 0 || next !== undefined,
		});
	const writeResult = async <Value>(
		isApplied: boolean,
		work: (file: ResultFile | null) => Promise<Value>,
	): Promise<Result<Value>> => {
		const resultPath = options.text("result");
		if (resultPath === "") return succeed(await work(null));
		const opened = await openResultFile(resultPath, kind, isApplied);
		if (!opened.ok) return opened;
		try {
			return succeed(await work(opened.value));
		} finally {
			await opened.value.close();
		}
	};
	if (options.flag("dry-run") || preview.counts.import === 0) {
		const written = await writeResult(false, async (file) => {
			if (file !== null) await previewImport(deps, kind, checked.value, (rows) => file.write(rows));
		});
		return written.ok ? answerOf(preview, false) : written;
	}
	if (!options.flag("yes")) {
		if (isJson || process.stdin.isTTY !== true) {
			return answerOf(preview, false, "Nothing was imported yet: run it again with --yes.");
		}
		screen.out(describeSummary({ kind, name: checked.value.name, summary: preview, isApplied: false }));
		const question = `Import ${preview.counts.import} ${kind.noun[preview.counts.import === 1 ? 0 : 1]}? Type yes: `;
		if (!(await isAgreed(question))) return refuse("not_allowed", "Nothing was imported.");
	}
	const done = await writeResult(true, (file) =>
		go(deps, screen, kind, checked.value, "imported", (tell) =>
			applyImport(deps, kind, checked.value, async (rows) => {
				await file?.write(rows);
				await tell(rows);
			}),
		),
	);
	return done.ok ? answerOf(done.value, true) : done;
}

/** With a line on standard error every two seconds: whoever waits sees that it goes on. */
async function go(
	{ clock }: Pick<ImportDeps, "clock">,
	screen: Screen,
	{ noun }: ImportKind,
	{ rows: all }: CheckedFile,
	done: string,
	work: (tell: (rows: readonly JudgedRow[]) => Promise<void>) => Promise<ImportSummary>,
): Promise<ImportSummary> {
	let rows = 0;
	let toldAtMs = clock.nowMs();
	return work(async (batch) => {
		rows += batch.length;
		if (clock.nowMs() - toldAtMs < PROGRESS_EVERY_MS) return;
		toldAtMs = clock.nowMs();
		screen.error(`${rows} of ${all} ${noun[1]} ${done}`);
	});
}

async function isAgreed(question: string): Promise<boolean> {
	const terminal = createInterface({ input: process.stdin, output: process.stderr });
	try {
		return /^y(?:es)?$/i.test((await terminal.question(question)).trim());
	} finally {
		terminal.close();
	}
}
