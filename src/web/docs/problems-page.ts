// /problems: every code with its page, by HTTP status.

import { html } from "hono/html";
import type { NetworkFace } from "../../store/known-network.ts";
import { dataTable } from "../components/lists.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { Html } from "../html.ts";
import { API_REFERENCE_PATH, problemPath } from "../paths.ts";
import { titledPart } from "./api-calls.ts";
import { answerDocs, type DocsPage } from "./docs-document.ts";
import type { ExplainedCode } from "./explained-code.ts";
import { renderLine } from "./markdown.ts";
import { meaningOf, statusWords } from "./problem-page.ts";
import { EXPLAINED_CODES } from "./problem-words.ts";

type IndexDeps = Pick<PageDeps, "network" | "apiDocument">;

const pages = new WeakMap<NetworkFace, DocsPage>();

export function showProblems(c: WebContext, deps: IndexDeps): Promise<Response> {
	const { face } = deps.network;
	const page = pages.get(face) ?? problemsPage(deps);
	pages.set(face, page);
	return answerDocs(c, page);
}

function problemsPage(deps: IndexDeps): DocsPage {
	const byStatus = [...Map.groupBy(EXPLAINED_CODES, statusWords)].sort(([one], [other]) =>
		one.localeCompare(other),
	);
	const parts = byStatus.map(([status, codes]) =>
		titledPart(status.toLowerCase().replaceAll(" ", "-"), status, 2, codeTable(status, codes, deps)),
	);
	return {
		title: "Problems",
		active: "problems",
		outline: parts,
		body: html`<p>When the API refuses a request, its answer has a <code>code</code>. Here is what each code means, why it is answered and what to do. Codes never change their meaning. The calls themselves are in the <a href="${API_REFERENCE_PATH}">API reference</a>.</p>
${parts.map(({ body }) => body)}`,
	};
}

function codeTable(status: string, codes: readonly ExplainedCode[], { apiDocument }: IndexDeps): Html {
	const table = dataTable({
		caption: `Problems: ${status}`,
		rows: codes,
		empty: null,
		columns: [
			{ title: "Code", cell: (code) => html`<a href="${problemPath(code)}"><code>${code}</code></a>` },
			{ title: "Meaning", cell: (code) => renderLine(meaningOf(code, apiDocument())) },
		],
	});
	return html`<div class="problem-table">${table}</div>`;
}
