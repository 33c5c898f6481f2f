// /problems/<code>: what a refusal means. The `type` of every problem that the API answers leads here, and so do the
// refusals in the inbound log.

import { html } from "hono/html";
import { fault, titleOfFault } from "../../domain/fault.ts";
import type { OpenApiDocument } from "../../openapi.ts";
import type { NetworkFace } from "../../store/known-network.ts";
import { badge, codeBlock } from "../components/text.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import { type ExampleValues, fillIn } from "../examples.ts";
import type { Content, Html } from "../html.ts";
import { PROBLEMS_PATH, problemPath } from "../paths.ts";
import { titledPart } from "./api-calls.ts";
import { answerDocs, type DocsPage } from "./docs-document.ts";
import type { ExplainedCode } from "./explained-code.ts";
import { renderLinkedLine } from "./markdown.ts";
import { isExplained, problemWords } from "./problem-words.ts";

type ProblemDeps = Pick<PageDeps, "network" | "publicUrl" | "apiDocument">;

const pages = new WeakMap<NetworkFace, Map<ExplainedCode, DocsPage>>();

export function showProblem(c: WebContext, deps: ProblemDeps): Response | Promise<Response> {
	const code = c.req.param("code") ?? "";
	if (!isExplained(code)) return answerError(c, "not_found");
	const { face } = deps.network;
	const known = pages.get(face) ?? new Map<ExplainedCode, DocsPage>();
	const page = known.get(code) ?? problemPage(code, deps);
	pages.set(face, known.set(code, page));
	return answerDocs(c, page);
}

export function problemPage(code: ExplainedCode, deps: ProblemDeps): DocsPage {
	const instance = { publicUrl: deps.publicUrl, brand: deps.network.face.brand };
	const line = (text: string) => renderLinkedLine(fillIn(text, instance));
	const { causes, cure, retry } = problemWords(code);
	const parts = [
		titledPart(
			"example",
			code === "pixel_limited" ? "In the inbound log" : "Example answer",
			2,
			exampleOf(code, instance),
		),
		titledPart("causes", "Likely causes", 2, listOf("ol", causes.map(line))),
		titledPart("cure", "What to do", 2, listOf("ul", cure.map(line))),
		titledPart("retry", "Sending it again", 2, html`<p>${line(retry)}</p>`),
	];
	return {
		title: titleOfFault(code),
		active: "problems",
		outline: parts,
		body: html`<p class="problem-code"><code>${code}</code>${badge("plain", statusWords(code))}</p>
<p>${line(meaningOf(code, deps.apiDocument()))}</p>
${parts.map(({ body }) => body)}
<p class="soft">The refused call is also in your inbound log, under Integration → <em>Inbound log</em>, with this code and the same sentence. <a href="${PROBLEMS_PATH}">All problems</a></p>`,
	};
}

/** One sentence. */
export function meaningOf(code: ExplainedCode, document: OpenApiDocument): string {
	if (code === "pixel_limited")
		return "More pixel calls came than the limits allow, and some were not taken.";
	return document["x-problems"].find((entry) => entry.code === code)?.meaning ?? "";
}

/** A pixel call that is not taken gets its image all the same. */
export function statusWords(code: ExplainedCode): string {
	return code === "pixel_limited" ? "Inbound log only" : `HTTP ${fault(code, "").httpStatus}`;
}

function exampleOf(code: ExplainedCode, instance: ExampleValues): Content {
	const { detail, field } = problemWords(code).example;
	const filled = fillIn(detail, instance);
	if (code === "pixel_limited") {
		return html`<p>The customer's browser gets the image with HTTP 200, as always. The log has one row for the minute:</p><div class="problem-example">${codeBlock(filled, "Row of the inbound log")}</div>`;
	}
	const answer = {
		type: `${instance.publicUrl}${problemPath(code)}`,
		title: titleOfFault(code),
		status: fault(code, "").httpStatus,
		detail: filled,
		code,
		...(field === undefined ? {} : { field }),
	};
	return html`<p>Sent as <code>application/problem+json</code>. Let your code decide by <code>code</code>; <code>detail</code> is for people and says what is wrong with this very request.</p><div class="problem-example">${codeBlock(JSON.stringify(answer, null, 2), "Example answer", "json")}</div>`;
}

function listOf(kind: "ol" | "ul", lines: readonly Content[]): Html {
	const items = lines.map((text) => html`<li>${text}</li>`);
	return kind === "ol" ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`;
}
