import assert from "node:assert/strict";
import { test } from "node:test";
import { createApiDocument } from "../../api/openapi/document.ts";
import { codesOf } from "../../domain/fault.ts";
import type { OpenApiDocument } from "../../openapi.ts";
import { createAuth } from "../../people/auth.ts";
import { createTurns } from "../../turns.ts";
import { createSite } from "../site.ts";
import { Browser, openTestSite, type Shown, type TestSite } from "../test-site.test-support.ts";
import { headingId } from "./markdown.ts";

async function openPage(t: Parameters<typeof openTestSite>[0]): Promise<{ site: TestSite; shown: Shown }> {
	const site = await openTestSite(t);
	const shown = await site.browser().open("/docs/api");
	assert.equal(shown.status, 200);
	return { site, shown };
}

test("every call, callback and problem of the document is on the page", async (t) => {
	const { site, shown } = await openPage(t);
	const { paths, webhooks } = createApiDocument(site.deps)();
	for (const [path, item] of Object.entries(paths)) {
		for (const [method, { summary }] of Object.entries(item)) {
			assert.ok(shown.text.includes(`<code>${method.toUpperCase()} ${path}</code>`), path);
			assert.ok(shown.text.includes(`<h3 id="${headingId(summary)}">`), summary);
		}
	}
	for (const event of Object.keys(webhooks))
		assert.ok(shown.text.includes(`<h3 id="${headingId(event)}">`), event);
	for (const code of codesOf("body", "fields", "sale", "decision", "reason", "cursor", "stream", "own"))
		assert.ok(shown.text.includes(`<a href="/problems/${code}">`), code);
	assert.match(shown.text, /href="\/openapi\.json"/);
});

test("whatever the document says, none of it is taken for markup", async (t) => {
	const site = await openTestSite(t);
	const mark = `<i onclick="x">&amp;'`;
	const text = JSON.stringify(createApiDocument(site.deps)(), (key, value: unknown) =>
		typeof value === "string" && !/^(?:\$ref|operationId|openapi|in|type)$/.test(key)
			? `${value}${mark}`
			: value,
	);
	const document: OpenApiDocument = JSON.parse(text);
	const app = createSite({
		...site.deps,
		auth: createAuth(site.deps),
		apiDocument: () => document,
		turns: createTurns(site.deps.clock, undefined),
	});
	const shown = await new Browser((path, init, env) => app.request(path, init, env)).open("/docs/api");
	assert.equal(shown.status, 200);
	assert.doesNotMatch(shown.text, /<i[ >]/);
	assert.ok(shown.text.includes("&lt;i onclick=&quot;x&quot;&gt;&amp;amp;&#39;"));
});
