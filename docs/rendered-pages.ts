// The pages of the documentation and the highlighted examples, as `npm run docs` writes them into docs/rendered/. The
// server fills in the brand, the address and a few slots: see src/web/docs/docs-pages.ts.

import { EXPLAINED_CODES } from "../src/domain/fault.ts";
import { GUIDE_PARTS, GUIDE_START } from "../src/operations-guide.ts";
import { renderedPagePath } from "../src/web/docs/documents.ts";
import { EXAMPLE_LANGUAGES, EXAMPLE_ROLES, renderedExamplePath } from "../src/web/examples.ts";
import * as paths from "../src/web/paths.ts";
import { highlight } from "./highlight.ts";
import { renderMarkdown } from "./markdown.ts";
import { writeProblem, writeProblemList } from "./problem-pages.ts";
import { readExample, readSource } from "./source-files.ts";

/** On GitHub the guide links to the example files. On the site it shows their code, one language at a time. */
const LINKED_EXAMPLES = /(<!-- examples: [a-z]+ -->).*?<!-- \/examples -->/gs;

/** Returns every rendered file by its path in the repository. */
export function renderPages(): ReadonlyMap<string, string> {
	const page = (path: string, source: string, markdown = readSource(source)) =>
		[renderedPagePath(path), renderMarkdown(markdown, source)] as const;
	const guide = readSource("docs/receiver-guide.md").replace(LINKED_EXAMPLES, "$1");
	return new Map([
		page(paths.DOCS_PATH, "docs/receiver-guide.md", guide),
		page(paths.API_REFERENCE_PATH, "docs/api.md"),
		page(paths.PARTNER_DOCS_PATH, "docs/partners.md"),
		page(paths.DOWNLOADS_PATH, "docs/downloads.md"),
		page(paths.PROBLEMS_PATH, "docs/problems.md", writeProblemList()),
		...EXPLAINED_CODES.map((code) => page(paths.problemPath(code), "docs/problems.md", writeProblem(code))),
		...[GUIDE_START, ...GUIDE_PARTS].map(({ name, file }) => page(paths.operationsPath(name), file)),
		...EXAMPLE_LANGUAGES.flatMap(({ value, fence }) =>
			EXAMPLE_ROLES.map(
				(role) => [renderedExamplePath(value, role), highlight(readExample(value, role), fence)] as const,
			),
		),
	]);
}
