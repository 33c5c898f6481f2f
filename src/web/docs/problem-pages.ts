// /problems, every code by its HTTP status, and /problems/<code>: what a refusal means. The `type` of every problem that
// the API answers leads there, and so do the refusals in the inbound log.

import {
	EXPLAINED_CODES,
	type ExplainedCode,
	exampleFault,
	explainFault,
	isExplained,
	problemBody,
	titleOfFault,
} from "../../domain/fault.ts";
import { readShippedFile } from "../../shipped-files.ts";
import { answerError } from "../error-page.ts";
import { type ExampleValues, fillIn } from "../examples.ts";
import type { PageDeps, WebContext } from "../page.ts";
import { API_REFERENCE_PATH, ownPath, PROBLEMS_PATH, problemPath } from "../paths.ts";
import { badge, type Content, codeBlock, dataTable, type Html, html } from "../ui.ts";
import { answerDocs, type DocsPage, titledPart } from "./docs-document.ts";
import { renderLine } from "./markdown.ts";

type ProblemDeps = Pick<PageDeps, "network" | "publicUrl">;

export function showProblem(
	c: WebContext,
	{ network, publicUrl }: ProblemDeps,
): Response | Promise<Response> {
	const code = c.req.param("code") ?? "";
	if (!isExplained(code)) return answerError(c, "not_found");
	return answerDocs(c, problemPage(code, { publicUrl, brand: network.face.brand }));
}

export function problemPage(code: ExplainedCode, instance: ExampleValues): DocsPage {
	const line = (text: string) => renderLine(fillIn(text, instance), ownPath);
	const { causes, cure, retry } = adviceOn(code);
	const items = (lines: readonly string[]) => lines.map((text) => html`<li>${line(text)}</li>`);
	const parts = [
		titledPart(
			"example",
			code === "pixel_limited" ? "In the inbound log" : "Example answer",
			2,
			exampleOf(code, instance),
		),
		titledPart("causes", "Likely causes", 2, html`<ol>${items(causes)}</ol>`),
		titledPart("cure", "What to do", 2, html`<ul>${items(cure)}</ul>`),
		titledPart("retry", "Sending it again", 2, html`<p>${line(retry)}</p>`),
	];
	return {
		title: titleOfFault(code),
		active: "problems",
		outline: parts,
		body: html`<p class="problem-code"><code>${code}</code>${badge("plain", statusWords(code))}</p>
<p>${line(explainFault(code).meaning)}</p>
${parts.map(({ body }) => body)}
<p class="soft">The refused call is also in your inbound log, under Integration → <em>Inbound log</em>, with this code and the same sentence. <a href="${PROBLEMS_PATH}">All problems</a></p>`,
	};
}

const ADVICE: ReadonlyMap<string, string> = new Map(
	readShippedFile("docs/problems.md")
		.split("\n## ")
		.slice(1)
		.map((section) => [section.split("\n", 1)[0] ?? "", section]),
);
const CORRECT_FIRST =
	"Do not repeat it unchanged: the answer stays the same. Correct it, then sign it again (new timestamp, new nonce, new signature) and send it. Nothing of the refused request was stored.";

/** A section of docs/problems.md: numbered causes, what to do as a list, and perhaps a paragraph on sending it again. */
export function adviceOn(code: ExplainedCode): { causes: string[]; cure: string[]; retry: string } {
	const [, ...lines] = (ADVICE.get(code) ?? "").split("\n");
	const having = (mark: RegExp) =>
		lines.filter((line) => mark.test(line)).map((line) => line.replace(mark, ""));
	return {
		causes: having(/^\d+\. /),
		cure: having(/^- /),
		retry: having(/^(?=[A-Z])/)[0] ?? CORRECT_FIRST,
	};
}

function exampleOf(code: ExplainedCode, instance: ExampleValues): Content {
	const found = exampleFault(code, instance.brand);
	if (code === "pixel_limited") {
		return html`<p>The customer's browser gets the image with HTTP 200, as always. The log has one row for the minute:</p><div class="problem-example">${codeBlock(found.detail, "Row of the inbound log")}</div>`;
	}
	const answer = JSON.stringify(problemBody(instance, found), null, 2);
	return html`<p>Sent as <code>application/problem+json</code>. Let your code decide by <code>code</code>; <code>detail</code> is for people and says what is wrong with this very request.</p><div class="problem-example">${codeBlock(answer, "Example answer", "json")}</div>`;
}

/** A pixel call that is not taken gets its image all the same. */
function statusWords(code: ExplainedCode): string {
	return code === "pixel_limited" ? "Inbound log only" : `HTTP ${explainFault(code).status}`;
}

export function showProblems(c: WebContext): Promise<Response> {
	const byStatus = [...Map.groupBy(EXPLAINED_CODES, statusWords)].sort(([one], [other]) =>
		one.localeCompare(other),
	);
	const parts = byStatus.map(([status, codes]) =>
		titledPart(status.toLowerCase().replaceAll(" ", "-"), status, 2, codeTable(status, codes)),
	);
	return answerDocs(c, {
		title: "Problems",
		active: "problems",
		outline: parts,
		body: html`<p>When the API refuses a request, its answer has a <code>code</code>. Here is what each code means, why it is answered and what to do. Codes never change their meaning. The calls themselves are in the <a href="${API_REFERENCE_PATH}">API reference</a>.</p>
${parts.map(({ body }) => body)}`,
	});
}

function codeTable(status: string, codes: readonly ExplainedCode[]): Html {
	const table = dataTable({
		caption: `Problems: ${status}`,
		rows: codes,
		empty: null,
		columns: [
			{ title: "Code", cell: (code) => html`<a href="${problemPath(code)}"><code>${code}</code></a>` },
			{
				title: "Meaning, and what to do",
				cell: (code) =>
					html`${renderLine(explainFault(code).meaning)}<span class="api-remedy">${renderLine(adviceOn(code).cure[0] ?? "")}</span>`,
			},
		],
	});
	return html`<div class="problem-table">${table}</div>`;
}
