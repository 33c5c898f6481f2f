// The documents as Markdown, in this network's own brand and address, and their pages: /docs, /docs/api,
// /docs/partners, /downloads, /problems and, for staff, /docs/operations.

import {
	EXPLAINED_CODES,
	type ExplainedCode,
	exampleFault,
	explainFault,
	isExplained,
	problemBody,
	titleOfFault,
} from "../../domain/fault.ts";
import { userAgent } from "../../domain/signature.ts";
import { findLinked, GUIDE_PARTS, GUIDE_START, type GuideFile, readGuide } from "../../operations-guide.ts";
import { readShippedFile } from "../../shipped-files.ts";
import { DOWNLOADS } from "../downloads.ts";
import { answerError } from "../error-page.ts";
import * as examples from "../examples.ts";
import { fillIn } from "../examples.ts";
import type { PageDeps, WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { codeBlock, count, type Html, html, tabs } from "../ui.ts";
import { answerDocument } from "./docs-document.ts";
import { fence, linkWithin, table } from "./markdown.ts";

export type DocsDeps = Pick<PageDeps, "network" | "publicUrl">;

export function instanceOf({ network, publicUrl }: DocsDeps): examples.ExampleValues {
	return { publicUrl, brand: network.face.brand };
}

/** Documents of the repository that are pages of the site; the others lead nowhere from here. */
const PAGES: ReadonlyMap<string, string> = new Map([
	["receiver-guide.md", paths.DOCS_PATH],
	["api.md", paths.API_REFERENCE_PATH],
	["partners.md", paths.PARTNER_DOCS_PATH],
	["problems.md", paths.PROBLEMS_PATH],
	["../receiver/downloads", paths.DOWNLOADS_PATH],
]);

function linkTo(href: string): string | null {
	const [file = "", ...anchor] = href.split("#");
	const path = PAGES.get(file);
	return path === undefined ? linkWithin(href) : [path, ...anchor].join("#");
}

const API = readShippedFile("docs/api.md");

export function showApiReference(c: WebContext, deps: DocsDeps): Promise<Response> {
	return answerDocument(c, { active: "api", markdown: writeApiReference(instanceOf(deps)), linkTo });
}

export function writeApiReference(instance: examples.ExampleValues): string {
	return fillIn(API, instance).replaceAll("http://127.0.0.1:8080", () => instance.publicUrl);
}

export const PARTNER_GUIDE = readShippedFile("docs/partners.md");

export function showPartnerGuide(c: WebContext): Promise<Response> {
	return answerDocument(c, { active: "partners", markdown: PARTNER_GUIDE, linkTo });
}

// The guide: docs/receiver-guide.md, with the examples in one language at a time.

const EXAMPLE_ROLES: readonly examples.ExampleRole[] = ["receiver", "sender"];

/** In the file, links to the examples stand where the page has tabs with their code. */
const LINKED_EXAMPLES = /(<!-- examples: [a-z]+ -->).*?<!-- \/examples -->/gs;
const GUIDE = readShippedFile("docs/receiver-guide.md").replace(LINKED_EXAMPLES, "$1");

export function showGuide(c: WebContext, deps: DocsDeps): Promise<Response> {
	const { value: language } = examples.parseLanguage(c.req.query("lang"));
	const instance = instanceOf(deps);
	return answerDocument(c, {
		active: "guide",
		markdown: writeGuide(instance),
		variant: language,
		linkTo,
		fillComment: (comment) => {
			const role = EXAMPLE_ROLES.find((known) => comment === `examples: ${known}`);
			return role === undefined ? null : exampleTabs(role, language, instance);
		},
	});
}

/** Besides what is replaced in the examples too. */
export function writeGuide(instance: examples.ExampleValues): string {
	return fillIn(GUIDE, instance)
		.replaceAll(userAgent("Service"), userAgent(instance.brand))
		.replaceAll("RINGBACK_BRAND=Service", () => `RINGBACK_BRAND=${instance.brand}`);
}

/** Links, as on the Integration page: they work without scripts, and one choice holds for the whole page. */
function exampleTabs(
	role: examples.ExampleRole,
	language: examples.ExampleLanguage,
	instance: examples.ExampleValues,
): Html {
	return html`<div class="example" id="${role}-code">${tabs(
		`Language of the ${role}`,
		examples.EXAMPLE_LANGUAGES.map((other) => ({
			label: other.label,
			href: `${paths.withQuery(paths.DOCS_PATH, { lang: other.value })}#${role}-code`,
			isActive: other.value === language,
		})),
	)}${codeBlock(fillIn(examples.readExample(language, role), instance), `${examples.parseLanguage(language).label}, ${role}`, examples.codeLanguageOf(language))}</div>`;
}

// The operations guide, a page for each part. The same text is on the machine, by `ringback guide`.

export function showOperations(c: WebContext): Promise<Response> {
	const name = c.req.param("part") ?? "";
	const part: GuideFile | undefined =
		name === "" ? GUIDE_START : GUIDE_PARTS.find((known) => known.name === name);
	if (part === undefined) return answerError(c, "not_found");
	return answerDocument(c, {
		active: "operations",
		markdown: readGuide(part),
		parts: GUIDE_PARTS.map((other) => ({
			label: other.label,
			href: paths.operationsPath(other.name),
			isActive: other === part,
		})),
		linkTo: (href) => {
			const found = findLinked(href);
			if (found === null) return linkTo(href.replace("../", ""));
			return `${paths.operationsPath(found.part.name)}${found.anchor === "" ? "" : `#${found.anchor}`}`;
		},
	});
}

// What a shop installs from this service, how, and how to be sure that it is what was meant.

const DOWNLOADS_TEXT = readShippedFile("docs/downloads.md");

export function showDownloads(c: WebContext, deps: DocsDeps): Promise<Response> {
	const versions = DOWNLOADS.map(({ version, file, bytes, sha256, integrity }) =>
		[
			`- Version ${version}: [${file}](${paths.DOWNLOADS_PATH}/${file}), ${count(bytes)} bytes`,
			`- SHA-256: \`${sha256}\``,
			`- Integrity, as npm writes it: \`${integrity}\``,
		].join("\n"),
	);
	const markdown = [fillIn(DOWNLOADS_TEXT, instanceOf(deps)), ...versions].join("\n\n");
	return answerDocument(c, { active: "downloads", markdown, linkTo });
}

// What each refusal means. The `type` of every problem that the API answers leads there, and so do the refusals in the
// inbound log.

export function showProblem(c: WebContext, deps: DocsDeps): Promise<Response> {
	const code = c.req.param("code") ?? "";
	if (!isExplained(code)) return answerError(c, "not_found");
	return answerDocument(c, { active: "problems", markdown: writeProblem(code, instanceOf(deps)) });
}

const CORRECT_FIRST =
	"Do not repeat it unchanged: the answer stays the same. Correct it, then sign it again (new timestamp, new nonce, new signature) and send it. Nothing of the refused request was stored.";

/** The sections of docs/problems.md: numbered causes, what to do as a list, and perhaps a paragraph on sending it again. */
const ADVICE: ReadonlyMap<string, Readonly<Record<"causes" | "cure" | "retry", string>>> = new Map(
	readShippedFile("docs/problems.md")
		.split("\n## ")
		.slice(1)
		.map((section) => {
			const [code = "", causes = "", cure = "", retry = CORRECT_FIRST] = section.trim().split("\n\n");
			return [code, { causes, cure, retry }];
		}),
);

export function adviceOn(code: ExplainedCode): { causes: string; cure: string; retry: string } {
	return ADVICE.get(code) ?? { causes: "", cure: "", retry: "" };
}

export function writeProblem(code: ExplainedCode, instance: examples.ExampleValues): string {
	const { causes, cure, retry } = adviceOn(code);
	const found = exampleFault(code, instance.brand);
	const example =
		code === "pixel_limited"
			? `## In the inbound log

The customer's browser gets the image with HTTP 200, as always. The log has one row for the minute:

${fence("", found.detail)}`
			: `## Example answer

Sent as \`application/problem+json\`. Let your code decide by \`code\`; \`detail\` is for people and says what is wrong with this very request.

${fence("json", JSON.stringify(problemBody(instance, found), null, 2))}`;
	return `# ${titleOfFault(code)}

\`${code}\`, ${statusWords(code)}

${fillIn(explainFault(code).meaning, instance)}

${example}

## Likely causes

${fillIn(causes, instance)}

## What to do

${fillIn(cure, instance)}

## Sending it again

${fillIn(retry, instance)}

The refused call is also in your inbound log, under Integration → *Inbound log*, with this code and the same sentence. [All problems](${paths.PROBLEMS_PATH})`;
}

/** A pixel call that is not taken gets its image all the same. */
function statusWords(code: ExplainedCode): string {
	return code === "pixel_limited" ? "Inbound log only" : `HTTP ${explainFault(code).status}`;
}

export function showProblems(c: WebContext, deps: DocsDeps): Promise<Response> {
	const byStatus = [...Map.groupBy(EXPLAINED_CODES, statusWords)].sort(([one], [other]) =>
		one.localeCompare(other),
	);
	const parts = byStatus.flatMap(([status, codes]) => [
		`## ${status}`,
		table(
			["Code", "Meaning, and what to do"],
			codes.map((code) => {
				const [firstStep = ""] = adviceOn(code).cure.split("\n");
				const meaning = `${explainFault(code).meaning} ${firstStep.replace(/^- /, "")}`;
				return [`[\`${code}\`](${paths.problemPath(code)})`, meaning];
			}),
		),
	]);
	const introduction = `When the API refuses a request, its answer has a \`code\`. Here is what each code means, why it is answered and what to do. Codes never change their meaning. The calls themselves are in the [API reference](${paths.API_REFERENCE_PATH}).`;
	const markdown = fillIn(["# Problems", introduction, ...parts].join("\n\n"), instanceOf(deps));
	return answerDocument(c, { active: "problems", markdown });
}
