// Tests the pages that docs/rendered-pages.ts makes of the documents.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DOCUMENT_PATHS, renderedMarkdownPath, renderedPagePath } from "#core/web/docs/documents.ts";
import { renderPages } from "../../docs/rendered-pages.ts";

const RENDERED = renderPages();

test("every page of the site has a rendered file that begins with its title", () => {
	for (const path of DOCUMENT_PATHS) {
		assert.match(RENDERED.get(renderedPagePath(path)) ?? "", /^<h1>[^<]+<\/h1>\n/, path);
		assert.match(RENDERED.get(renderedMarkdownPath(path)) ?? "", /^# [^\n]+\n/, path);
	}
});

test("documents use the word Service only for the brand, because pages replace it", () => {
	for (const path of DOCUMENT_PATHS) {
		const markup = RENDERED.get(renderedPagePath(path)) ?? "";
		const [prose] = /(?<!X-|RINGBACK_BRAND=|&quot;|<code>)\bService\b.{20}/.exec(markup) ?? [];
		if (!path.startsWith("/docs/operations")) assert.equal(prose, undefined, path);
	}
});
