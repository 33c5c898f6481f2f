// Who did what in a programme, the newest first.

import { html } from "hono/html";
import type { AuditEntry } from "../../store/audit.ts";
import { emptyState, section } from "../components/blocks.ts";
import { dataTable } from "../components/lists.ts";
import { timeTag } from "../components/text.ts";
import type { Html } from "../html.ts";

type Entry = AuditEntry & { email: string | null };

export function auditSection(entries: readonly Entry[]): Html {
	return section({
		id: "audit",
		title: "Who did what",
		hint: "The last 50 entries. Only staff see them.",
		body: dataTable<Entry>({
			caption: "What was done, the newest first",
			rows: entries,
			empty: emptyState({
				title: "Nothing yet",
				text: "Changes, keys, decisions and invitations show up here.",
			}),
			columns: [
				{ title: "When", cell: ({ at_ms }) => timeTag(at_ms) },
				{
					title: "Who",
					cell: ({ email }) => email ?? html`<span class="faint">command line or service</span>`,
				},
				{ title: "What", cell: ({ action }) => sayAction(action) },
				{
					title: "Details",
					cell: ({ subject, detail }) =>
						html`<span class="break">${[subject, detail].filter((part) => part !== null).join(" · ")}</span>`,
				},
			],
		}),
	});
}

/** "postback_url.saved" as "Postback url saved": entries of later versions read as well. */
function sayAction(action: string): string {
	const words = action.replace(/[._]/g, " ");
	return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
