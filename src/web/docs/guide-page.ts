// /docs: docs/receiver-guide.md as a page, rendered once for each language of its examples (when it is first asked
// for: nothing has to wait for it at the start), with this instance's brand and address filled in.

import { html } from "hono/html";
import { userAgent } from "../../domain/signature.ts";
import { readShippedFile } from "../../shipped-files.ts";
import type { NetworkFace } from "../../store/known-network.ts";
import { tabs } from "../components/blocks.ts";
import { codeBlock } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import {
	EXAMPLE_LANGUAGES,
	type ExampleLanguage,
	type ExampleRole,
	type ExampleValues,
	fillIn,
	readExample,
} from "../examples.ts";
import type { Html } from "../html.ts";
import { answerDocs, type DocsPage } from "./docs-document.ts";
import { EXAMPLE_ROLES, foldExamples, GUIDE_PATH } from "./guide-examples.ts";
import { renderMarkdown } from "./markdown.ts";

const GUIDE = foldExamples(readShippedFile(GUIDE_PATH));

/** How the file writes the brand, besides what `fillIn` replaces in the examples too. */
const NEUTRAL_AGENT = userAgent("Service");
const NEUTRAL_BRAND = "RINGBACK_BRAND=Service";

/** Documents of the repository that are pages of the site; the others lead nowhere from here. */
const PAGES: ReadonlyMap<string, string> = new Map([["api.md", "/docs/api"]]);

/** By language, for the network whose values they hold. */
const pages = new WeakMap<NetworkFace, Map<ExampleLanguage, DocsPage>>();

export function showGuide(
	c: WebContext,
	{ network: { face }, publicUrl }: Pick<WebDeps, "network" | "publicUrl">,
): Promise<Response> {
	const asked = c.req.query("lang");
	const [first] = EXAMPLE_LANGUAGES;
	const { value: language } = EXAMPLE_LANGUAGES.find(({ value }) => value === asked) ?? first;
	const known = pages.get(face) ?? new Map<ExampleLanguage, DocsPage>();
	const page = known.get(language) ?? renderGuide(language, { publicUrl, brand: face.brand });
	pages.set(face, known.set(language, page));
	return answerDocs(c, page);
}

function renderGuide(language: ExampleLanguage, instance: ExampleValues): DocsPage {
	const filled = fillIn(GUIDE, instance)
		.replaceAll(NEUTRAL_AGENT, userAgent(instance.brand))
		.replaceAll(NEUTRAL_BRAND, () => `RINGBACK_BRAND=${instance.brand}`);
	const { title, outline, body } = renderMarkdown(filled, {
		linkTo: resolveLink,
		fillComment: (comment) => {
			const role = EXAMPLE_ROLES.find((known) => comment === `examples: ${known}`);
			return role === undefined ? null : exampleTabs(role, language, instance);
		},
	});
	return { title, active: "guide", outline, body };
}

function resolveLink(href: string): string | null {
	if (href.startsWith("#") || href.startsWith("https://")) return href;
	return PAGES.get(href) ?? null;
}

/** Links, as on the Integration page: they work without scripts, and one choice holds for the whole page. */
function exampleTabs(role: ExampleRole, language: ExampleLanguage, instance: ExampleValues): Html {
	const label = EXAMPLE_LANGUAGES.find(({ value }) => value === language)?.label ?? language;
	const id = `${role}-code`;
	return html`<div class="example" id="${id}">${tabs(
		`Language of the ${role}`,
		EXAMPLE_LANGUAGES.map((other) => ({
			label: other.label,
			href: `/docs?lang=${other.value}#${id}`,
			isActive: other.value === language,
		})),
	)}${codeBlock(fillIn(readExample(language, role), instance), `${label}, ${role}`)}</div>`;
}
