// The list of programmes: what it is called, whether its callbacks work, how much waits for a decision.

import { html } from "hono/html";
import { type ListedProgramme, WAITING_COUNTED } from "../../store/programme-list.ts";
import { dataTable } from "../components/lists.ts";
import { badge, count, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import { conversionsPath, overviewPath } from "../paths.ts";

export function programmeTable(rows: readonly ListedProgramme[], empty: Content): Html {
	return dataTable({
		caption: "Programmes",
		rows,
		stacks: true,
		empty,
		columns: [
			{
				title: "Programme",
				namesRow: true,
				cell: ({ publicId, name }) => html`<a href="${overviewPath(publicId)}">${name}</a>`,
			},
			{ title: "Currency", cell: ({ currency }) => currency },
			{ title: "Callbacks", cell: callbackState },
			{
				title: "Waiting for approval",
				isNumber: true,
				cell: ({ publicId, waiting }) =>
					waiting === 0
						? html`<span class="faint">0</span>`
						: html`<a href="${conversionsPath(publicId)}?status=RECORDED">${sayWaiting(waiting)}</a>`,
			},
		],
	});
}

function callbackState({ hasUrl, failingSinceMs }: ListedProgramme): Html {
	if (failingSinceMs !== null)
		return html`${badge("bad", "Failing")}<span class="secondary">since ${timeTag(failingSinceMs)}</span>`;
	return hasUrl ? badge("good", "URL set") : badge("plain", "No URL");
}

function sayWaiting(waiting: number): string {
	return waiting >= WAITING_COUNTED ? `${count(WAITING_COUNTED)}+` : count(waiting);
}
