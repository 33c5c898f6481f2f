// `ringback key issue-many` issues API keys for many programmes and writes them into a file.

import { readFileSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { csvFile } from "#core/conversions/csv-file.ts";
import { type Fault, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import {
	issueManyKeys,
	KEY_FILE_COLUMNS,
	MAX_MANY_KEYS,
	type ProgrammeKey,
} from "#core/programmes/many-keys.ts";
import { findListedProgrammes } from "#core/programmes/named-programmes.ts";
import type { Workplace } from "../service/workplace.ts";
import { workplaceCommand } from "./command.ts";

export const keyIssueManyCommand = workplaceCommand({
	name: "key issue-many",
	summary:
		"Issues an API key for every programme that has none, or for those in a file, and writes the keys into a new CSV file. They are shown only there.",
	options: {
		result: {
			type: "string",
			value: "FILE",
			help: "the new CSV file for the keys and signing secrets; only its owner may read it",
			isRequired: true,
		},
		programmes: {
			type: "string",
			value: "FILE",
			help: "a file with one programme on each line, by name or ID; those that have a key are left out",
		},
		right: {
			type: "string",
			value: "decide|report",
			help: "`report` takes sales and reversals only; `decide`, if not given, approvals and rejections too",
		},
	},
	async work(workplace, options) {
		const path = options.text("result");
		if (statSync(path, { throwIfNoEntry: false }) !== undefined) {
			return refuse("invalid_field", `There is a file ${path} already. Choose another name for the result.`);
		}
		const chosen = await readProgrammes(workplace, options.text("programmes"));
		if (!chosen.ok) return chosen;
		const issuing = createIssuing(workplace, chosen.value, options.text("right"));
		const file = await open(path, "wx", 0o600);
		try {
			for await (const text of csvFile(KEY_FILE_COLUMNS, issuing.batches())) await file.writeFile(text);
		} finally {
			await file.close();
		}
		const { issued, skipped, fault } = issuing.result();
		if (issued === 0) await rm(path);
		if (fault !== null) return { ok: false, fault };
		const text = [
			issued === 0
				? "Issued no key, because every programme has one."
				: `Issued ${issued} API ${issued === 1 ? "key" : "keys"}. They are in ${path} and are not shown again.`,
			...(skipped === 0
				? []
				: [`${skipped} of the named programmes have a key already and got no other one.`]),
		].join("\n");
		return succeed({ json: { issued, skipped, file: issued === 0 ? null : path }, text });
	},
});

async function readProgrammes({ store }: Workplace, path: string): Promise<Result<readonly number[] | null>> {
	if (path === "") return succeed(null);
	if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
		return refuse("malformed_file", `There is no file ${path}. Check the name.`, "programmes");
	}
	const listed = await findListedProgrammes(store.db, readFileSync(path, "utf8"));
	return listed.ok ? succeed(listed.value.map(({ id }) => id)) : listed;
}

/**
 * Issues the keys in batches. Each batch is written to the file before the next one is issued, so no key is lost if
 * the command breaks off.
 */
function createIssuing(workplace: Workplace, chosen: readonly number[] | null, right: string) {
	let issued = 0;
	let skipped = 0;
	let fault: Fault | null = null;
	return {
		async *batches(): AsyncGenerator<readonly ProgrammeKey[]> {
			for (let start = 0, hasMore = true; hasMore; start += MAX_MANY_KEYS) {
				const programmeIds = chosen?.slice(start, start + MAX_MANY_KEYS) ?? null;
				const done = await issueManyKeys(workplace, COMMAND_LINE, { programmeIds, right });
				if (!done.ok) {
					fault = done.fault;
					return;
				}
				issued += done.value.issued.length;
				skipped += done.value.skipped;
				hasMore = chosen === null ? done.value.hasMore : start + MAX_MANY_KEYS < chosen.length;
				yield done.value.issued;
			}
		},
		result: () => ({ issued, skipped, fault }),
	};
}
