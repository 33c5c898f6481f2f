// /docs/operations: the operations guide for staff, a page for each part. The same text is on the machine, by
// `ringback guide`.

import { findLinked, GUIDE_PARTS, GUIDE_START, type GuideFile, readGuide } from "../../operations-guide.ts";
import { answerError } from "../error-page.ts";
import type { WebContext } from "../page.ts";
import { operationsPath } from "../paths.ts";
import { answerDocs, type DocsPage } from "./docs-document.ts";
import { renderMarkdown } from "./markdown.ts";

/** Rendered when one is first asked for. */
const pages = new Map<GuideFile, DocsPage>();

export function showOperations(c: WebContext): Response | Promise<Response> {
	const name = c.req.param("part") ?? "";
	const part = name === "" ? GUIDE_START : GUIDE_PARTS.find((known) => known.name === name);
	return part === undefined ? answerError(c, "not_found") : answerDocs(c, operationsPage(part));
}

export function operationsPage(part: GuideFile): DocsPage {
	const page = pages.get(part) ?? renderPart(part);
	pages.set(part, page);
	return page;
}

function renderPart(part: GuideFile): DocsPage {
	const { title, outline, body } = renderMarkdown(readGuide(part), {
		linkTo: resolveLink,
		fillComment: () => null,
	});
	return {
		title,
		active: "operations",
		outline,
		body,
		parts: GUIDE_PARTS.map((other) => ({
			label: other.label,
			href: operationsPath(other.name),
			isActive: other === part,
		})),
	};
}

/** Documents of the repository that are no part of the guide lead nowhere from here. */
function resolveLink(href: string): string | null {
	if (href.startsWith("#") || href.startsWith("https://")) return href;
	const found = findLinked(href);
	if (found === null) return null;
	return `${operationsPath(found.part.name)}${found.anchor === "" ? "" : `#${found.anchor}`}`;
}
