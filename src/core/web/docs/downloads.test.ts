// Tests the page /downloads, and the package files that npm downloads from there.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createApp } from "../../../app.ts";
import { type Download, downloadUrl, LIBRARY, PACKAGES } from "../downloads.ts";
import { openTestSite } from "../test-site.test-support.ts";

const PATH = `/downloads/${LIBRARY.file}`;

test("a visitor sees the commands to install the package from this network, and its checksums", async (t) => {
	const site = await openTestSite(t);
	const { text } = await site.browser().open("/downloads");
	const url = downloadUrl(site.deps.publicUrl);
	assert.equal(url, `${site.deps.publicUrl}${PATH}`);
	const plain = text.replace(/<[^>]+>/g, "");
	const { sha256, integrity } = current();
	for (const shown of [`npm install ${url}`, `npx -p ${url} ringback`, sha256, integrity]) {
		assert.ok(plain.includes(shown), shown);
	}
	assert.ok(text.includes(`<a href="${PATH}">`));
});

test("the page names each package that has not been packed, with how to pack it, and no other", async (t) => {
	const site = await openTestSite(t);
	for (const path of ["/downloads", "/downloads.md"]) {
		const { text } = await site.browser().open(path);
		const plain = text.replace(/<\/?code>/g, "`");
		for (const { file, current, howToPack } of PACKAGES) {
			const isNamed = plain.includes(`${file} is not here`) && plain.includes(howToPack);
			assert.equal(isNamed, current === undefined, `${path} ${file}`);
		}
	}
});

test("the packages match their checksums and may be cached permanently", async (t) => {
	const site = await openTestSite(t);
	assert.ok(LIBRARY.versions.includes(current()));
	for (const { file, sha256, integrity } of PACKAGES.flatMap(({ versions }) => versions)) {
		const answer = await createApp(site.deps).request(`/downloads/${file}`);
		const bytes = Buffer.from(await answer.arrayBuffer());
		assert.equal(answer.status, 200);
		assert.equal(createHash("sha256").update(bytes).digest("hex"), sha256);
		assert.equal(`sha512-${createHash("sha512").update(bytes).digest("base64")}`, integrity);
		assert.match(gunzipSync(bytes).toString("latin1"), /^package\/package\.json\0/);
		const header = (name: string) => answer.headers.get(name);
		assert.equal(header("cache-control"), "public, max-age=31536000, immutable");
		assert.equal(header("content-type"), "application/gzip");
		assert.equal(header("content-disposition"), `attachment; filename="${file}"`);
		assert.equal(header("x-content-type-options"), "nosniff");
		assert.match(header("content-security-policy") ?? "", /^default-src 'none'/);
		assert.equal(header("set-cookie"), null);
	}
});

test("an unknown file name gets 404 without cache headers", async (t) => {
	const site = await openTestSite(t);
	for (const name of ["ringback-receiver-99.0.0.tgz", "versions.json", "..%2Fpackage.json", "toString"]) {
		const answer = await createApp(site.deps).request(`/downloads/${name}`);
		assert.equal(answer.status, 404, name);
		assert.doesNotMatch(answer.headers.get("cache-control") ?? "", /public|max-age/, name);
	}
	assert.notEqual((await createApp(site.deps).request(PATH, { method: "POST" })).status, 200);
});

function current(): Download {
	assert.ok(LIBRARY.current, "run npm run pack:receiver");
	return LIBRARY.current;
}
