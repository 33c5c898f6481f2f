// /docs as people get it, with this instance's own brand and address, in each language.

import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight } from "../components/highlight.ts";
import { codeLanguageOf, EXAMPLE_LANGUAGES, fillIn, readExample } from "../examples.ts";
import { openTestSite } from "../test-site.test-support.ts";

test("headers, agent and address are this instance's own; those of the file show nowhere", async (t) => {
	const site = await openTestSite(t, { publicUrl: "https://track.acme.example", brand: "Acme" });
	for (const { value } of EXAMPLE_LANGUAGES) {
		const { text } = await site.browser().open(`/docs?lang=${value}`);
		assert.match(text, /X-Acme-Signature: [0-9a-f]{64}/);
		assert.match(text, /User-Agent: acme-postback\/1/);
		assert.match(text, /RINGBACK_URL=https:\/\/track\.acme\.example\nexport RINGBACK_BRAND=Acme\n/);
		assert.doesNotMatch(
			text,
			/X-Service-|HTTP_X_SERVICE_|service-postback|https:\/\/ringback\.example/i,
			value,
		);
	}
});

test("each language shows its own receiver and sender, escaped, and an unknown one the first", async (t) => {
	const site = await openTestSite(t);
	const { publicUrl, network } = site.deps;
	const { brand } = network.face;
	const open = async (query: string) => (await site.browser().open(`/docs${query}`)).text;
	for (const { value, label } of EXAMPLE_LANGUAGES) {
		const text = await open(`?lang=${value}`);
		for (const kind of ["receiver", "sender"] as const) {
			const code = highlight(fillIn(readExample(value, kind), { publicUrl, brand }), codeLanguageOf(value));
			assert.ok(text.includes(`<code>${code}</code>`), `${value} ${kind}`);
			assert.ok(
				text.includes(
					`<a href="/docs?lang=${value}#${kind}-code" aria-current="true">${escapeHtml(label)}</a>`,
				),
			);
		}
		assert.equal(text.split('aria-current="true"').length, 4, "the document, and one tab a kind");
	}
	assert.equal(await open("?lang=%3Cscript%3E"), await open(""));
});

test("pages lead to it: sign-in, Integration, and every page of those who are signed in", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	const { text: signIn } = await site.browser().open("/sign-in");
	assert.match(signIn, /<a href="\/docs">/);
	for (const [page, id] of [
		["integration", "callback"],
		["integration/keys", "snippets"],
	] as const) {
		const { text } = await owner.open(`/programmes/${programme.public_id}/${page}`);
		const part = text.split("<section ").find((section) => section.includes(`id="${id}"`)) ?? "";
		assert.match(part, /<a href="\/docs(?:#[a-z-]+)?">/, id);
	}
	const { text: account } = await owner.open("/account");
	assert.match(account, /<a href="\/docs" class="wide-only" *>Docs<\/a>/);
	assert.match(account, /<a href="\/docs">Documentation for developers<\/a>/, "in the menu, for phones");
});

function escapeHtml(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;")
		.replaceAll("'", "&#39;");
}
