// Processes and chores, a row each.

import { html } from "hono/html";
import { type ChoreRecord, isLate } from "../../domain/chore.ts";
import { isSilent, type ProcessRecord } from "../../domain/process.ts";
import { emptyState } from "../components/blocks.ts";
import { dataTable } from "../components/lists.ts";
import { badge, count, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";

export function processTable(processes: readonly ProcessRecord[], nowMs: number): Html {
	return dataTable<ProcessRecord>({
		caption: "Processes, the longest running first",
		rows: processes,
		stacks: true,
		empty: emptyState({ title: "None yet", text: "Each process is listed some seconds after its start." }),
		columns: [
			{
				title: "Process",
				namesRow: true,
				cell: ({ instance, host }) =>
					html`<code>${instance}</code> <span class="soft break">on ${host}</span>`,
			},
			{
				title: "State",
				cell: (record) => (isSilent(record, nowMs) ? badge("bad", "Silent") : badge("good", "Running")),
			},
			{ title: "Role", cell: ({ role }) => role },
			{ title: "Version", cell: ({ version }) => version },
			{ title: "Running since", cell: ({ startedAtMs }) => timeTag(startedAtMs) },
			{ title: "Last sign of life", cell: ({ seenAtMs }) => timeTag(seenAtMs) },
			{
				title: "Callbacks in hand",
				isNumber: true,
				cell: ({ engine }) =>
					engine === null ? html`<span class="faint">does not deliver</span>` : count(engine.inHand),
			},
		],
	});
}

export function choreTable(chores: readonly ChoreRecord[], nowMs: number): Html {
	return dataTable<ChoreRecord>({
		caption: "How each chore goes",
		rows: chores,
		stacks: true,
		empty: emptyState({
			title: "None yet",
			text: "Chores are listed half a minute after the first worker has started.",
		}),
		columns: [
			{ title: "Chore", namesRow: true, cell: ({ name }) => name.replaceAll("_", " ") },
			{ title: "State", cell: (record) => stateOf(record, nowMs) },
			{ title: "Last success", cell: ({ lastSuccessMs }) => orNever(lastSuccessMs) },
			{ title: "Last failure", cell: ({ lastFailureMs }) => orNever(lastFailureMs) },
			{
				title: "Last error",
				cell: ({ error, failures }) =>
					error === null || failures === 0 ? null : html`<span class="break">${error}</span>`,
			},
		],
	});
}

function stateOf(record: ChoreRecord, nowMs: number): Html {
	if (isLate(record, nowMs)) return badge("bad", "Overdue");
	return record.failures > 0 ? badge("warn", `Failed ${record.failures} in a row`) : badge("good", "Done");
}

function orNever(atMs: number | null): Content {
	return atMs === null ? html`<span class="faint">never</span>` : timeTag(atMs);
}
