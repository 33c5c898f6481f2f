// One call: what it does, what to send, what comes back.

import { html } from "hono/html";
import type { ApiResponse, HttpMethod, MediaType, OpenApiDocument, Operation } from "../../openapi.ts";
import { dataTable } from "../components/lists.ts";
import { badge, codeBlock } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import { fieldRows, fieldTable, parameterRows, resolveSchema } from "./api-fields.ts";
import { problemAnchor, statusAnchor } from "./api-problems.ts";
import { renderLine, renderText } from "./api-text.ts";

/** The ten ways in which a signature can be wrong are the same for every call: they are listed once. */
const SIGNING_STATUS = "401";

export function operationSection(
	document: OpenApiDocument,
	method: HttpMethod,
	path: string,
	operation: Operation,
): Html {
	const { operationId: id, summary, parameters = [], requestBody } = operation;
	return html`<section class="api-operation" aria-labelledby="${id}">
	<h3 id="${id}">${summary}</h3>
	<p class="api-line"><span class="api-method api-method-${method}">${method.toUpperCase()}</span><code class="break">${path}</code>${
		operation.security.length === 0 ? null : html`<a href="#signing">${badge("info", "signed")}</a>`
	}</p>
	${renderText(operation.description)}
	${parameters.length === 0 ? null : part("Parameters", fieldTable(`Parameters of ${summary}`, parameterRows(parameters), "request"))}
	${requestBody === undefined ? null : part("Body", bodyTable(document, summary, requestBody.content))}
	${(operation["x-codeSamples"] ?? []).map(({ source, label }) => part("Example request", codeBlock(source, `${summary}: request, ${label}`)))}
	${part("Answers", answersTable(summary, operation.responses))}
	${exampleAnswers(summary, operation.responses)}
</section>`;
}

function part(title: string, content: Content): Html {
	return html`<h4>${title}</h4>${content}`;
}

function bodyTable(
	document: OpenApiDocument,
	summary: string,
	content: Readonly<Record<string, MediaType>>,
): Content {
	return Object.values(content).map(({ schema = {} }) =>
		fieldTable(`Body of ${summary}`, fieldRows(resolveSchema(document, schema)), "request"),
	);
}

function answersTable(summary: string, responses: Readonly<Record<string, ApiResponse>>): Html {
	return dataTable({
		caption: `Answers of ${summary}`,
		rows: Object.entries(responses),
		empty: null,
		columns: [
			{ title: "Status", cell: ([status]) => html`<code>${status}</code>` },
			{ title: "Meaning", cell: ([status, response]) => answerCell(status, response) },
		],
	});
}

function answerCell(status: string, response: ApiResponse): Content {
	const codes = codesOf(response);
	if (codes.length === 0) return html`${renderLine(response.description)}${schemaLinks(response)}`;
	if (status === SIGNING_STATUS) {
		return html`The call is not <a href="#signing">signed</a> as it must be: <a href="#${statusAnchor(status)}">${codes.length} codes</a> say how.`;
	}
	return codes.map(
		(code, index) =>
			html`${index === 0 ? "" : ", "}<a href="#${problemAnchor(code)}"><code>${code}</code></a>`,
	);
}

/** What the answer consists of, where the reference has a table of it. */
function schemaLinks({ content = {} }: ApiResponse): Content {
	return Object.values(content).map(({ schema }) => {
		const { conversion, conversions } = schema?.properties ?? {};
		const named = schema?.$ref ?? conversion?.$ref ?? conversions?.items?.$ref;
		const name = named?.split("/").at(-1);
		return name === undefined ? null : html` <a class="nowrap" href="#schema-${name}">${name}</a>`;
	});
}

function codesOf({ content = {} }: ApiResponse): string[] {
	const [, narrowed] = content["application/problem+json"]?.schema?.allOf ?? [];
	return (narrowed?.properties?.["code"]?.enum ?? []).map(String);
}

function exampleAnswers(summary: string, responses: Readonly<Record<string, ApiResponse>>): Content {
	const [status, response] = Object.entries(responses).find(([code]) => code.startsWith("2")) ?? [];
	const [[type, media] = []] = Object.entries(response?.content ?? {});
	const [example] = Object.values(media?.examples ?? {});
	if (status === undefined || type === undefined || example === undefined) return null;
	return part("Example answer", codeBlock(exampleText(example.value), `${summary}: answer, ${status}`));
}

export function exampleText(value: unknown): string {
	return typeof value === "string" ? value.trimEnd() : JSON.stringify(value, null, 2);
}
