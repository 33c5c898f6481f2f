// Every problem the API can answer, by status: what it means and what to do.

import { html } from "hono/html";
import type { OpenApiDocument, ProblemEntry } from "../../openapi.ts";
import { dataTable } from "../components/lists.ts";
import type { Html } from "../html.ts";
import { renderLine } from "./api-text.ts";

export function problemAnchor(code: string): string {
	return `problem-${code}`;
}

export function statusAnchor(status: string): string {
	return `problems-${status}`;
}

export function problemsByStatus(document: OpenApiDocument): [status: string, problems: ProblemEntry[]][] {
	const byStatus = Map.groupBy(document["x-problems"], ({ status }) => String(status));
	return [...byStatus].sort(([one], [other]) => Number(one) - Number(other));
}

export function problemTables(document: OpenApiDocument): Html[] {
	return problemsByStatus(document).map(
		([status, problems]) =>
			html`<h3 id="${statusAnchor(status)}">Status ${status}</h3>${dataTable({
				caption: `Problems with status ${status}`,
				rows: problems,
				empty: null,
				rowId: ({ code }) => problemAnchor(code),
				columns: [
					{ title: "Code", cell: ({ code }) => html`<code>${code}</code>` },
					{
						title: "Meaning, and what to do",
						cell: ({ meaning, remedy }) =>
							html`${renderLine(meaning)}<span class="api-remedy">${renderLine(remedy)}</span>`,
					},
				],
			})}`,
	);
}
