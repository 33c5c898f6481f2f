// /docs: docs/receiver-guide.md as a page, rendered once for each language of its examples (when it is first asked
// for: nothing has to wait for it at the start), with this instance's brand and address filled in.

import { userAgent } from "../../domain/signature.ts";
import { readShippedFile } from "../../shipped-files.ts";
import type { NetworkFace } from "../../store/queries/known-network.ts";
import {
	codeLanguageOf,
	EXAMPLE_LANGUAGES,
	type ExampleLanguage,
	type ExampleRole,
	type ExampleValues,
	fillIn,
	parseLanguage,
	readExample,
} from "../examples.ts";
import type { WebContext, WebDeps } from "../page.ts";
import { API_REFERENCE_PATH, DOCS_PATH, DOWNLOADS_PATH, PROBLEMS_PATH, withQuery } from "../paths.ts";
import { codeBlock, type Html, html, tabs } from "../ui.ts";
import { answerDocs, type DocsPage } from "./docs-document.ts";
import { type RenderedMarkdown, renderMarkdown } from "./markdown.ts";

export const EXAMPLE_ROLES: readonly ExampleRole[] = ["receiver", "sender"];

/** In the file, links to the examples stand where the page has tabs with their code. */
const LINKED_EXAMPLES = /(<!-- examples: [a-z]+ -->).*?<!-- \/examples -->/gs;
const GUIDE = readShippedFile("docs/receiver-guide.md").replace(LINKED_EXAMPLES, "$1");

/** How the file writes the brand, besides what `fillIn` replaces in the examples too. */
const NEUTRAL_AGENT = userAgent("Service");
const NEUTRAL_BRAND = "RINGBACK_BRAND=Service";

/** Documents of the repository that are pages of the site; the others lead nowhere from here. */
const PAGES: ReadonlyMap<string, string> = new Map([
	["api.md", API_REFERENCE_PATH],
	["api.md#refusals", PROBLEMS_PATH],
	["../receiver/downloads", DOWNLOADS_PATH],
]);

/** By language, for the network whose values they hold. */
const pages = new WeakMap<NetworkFace, Map<ExampleLanguage, DocsPage>>();

export function showGuide(
	c: WebContext,
	{ network: { face }, publicUrl }: Pick<WebDeps, "network" | "publicUrl">,
): Promise<Response> {
	const { value: language } = parseLanguage(c.req.query("lang"));
	const known = pages.get(face) ?? new Map<ExampleLanguage, DocsPage>();
	const page = known.get(language) ?? renderGuide(language, { publicUrl, brand: face.brand });
	pages.set(face, known.set(language, page));
	return answerDocs(c, page);
}

function renderGuide(language: ExampleLanguage, instance: ExampleValues): DocsPage {
	const { title, outline, body } = renderText(instance, (role) => exampleTabs(role, language, instance));
	return { title, active: "guide", outline, body };
}

/** Without its examples. */
export function guideText(instance: ExampleValues): Pick<DocsPage, "title" | "body"> {
	return renderText(instance, () => null);
}

function renderText(instance: ExampleValues, example: (role: ExampleRole) => Html | null): RenderedMarkdown {
	const filled = fillIn(GUIDE, instance)
		.replaceAll(NEUTRAL_AGENT, userAgent(instance.brand))
		.replaceAll(NEUTRAL_BRAND, () => `RINGBACK_BRAND=${instance.brand}`);
	return renderMarkdown(filled, {
		linkTo: resolveLink,
		fillComment: (comment) => {
			const role = EXAMPLE_ROLES.find((known) => comment === `examples: ${known}`);
			return role === undefined ? null : example(role);
		},
	});
}

function resolveLink(href: string): string | null {
	if (href.startsWith("#") || href.startsWith("https://")) return href;
	return PAGES.get(href) ?? null;
}

/** Links, as on the Integration page: they work without scripts, and one choice holds for the whole page. */
function exampleTabs(role: ExampleRole, language: ExampleLanguage, instance: ExampleValues): Html {
	return html`<div class="example" id="${role}-code">${tabs(
		`Language of the ${role}`,
		EXAMPLE_LANGUAGES.map((other) => ({
			label: other.label,
			href: exampleHref(role, other.value),
			isActive: other.value === language,
		})),
	)}${codeBlock(fillIn(readExample(language, role), instance), `${parseLanguage(language).label}, ${role}`, codeLanguageOf(language))}</div>`;
}

export function exampleHref(role: ExampleRole, language: ExampleLanguage): string {
	return `${withQuery(DOCS_PATH, { lang: language })}#${role}-code`;
}
