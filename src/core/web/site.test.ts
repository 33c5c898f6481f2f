import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE } from "../people/actor.ts";
import { endSetUp } from "../programmes/network.ts";
import { openAsOwner, openAsStaff, openTestSite } from "./test-site.test-support.ts";

test("style sheets and scripts may be cached for a year, and their address changes with their content", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const page = await owner.open(`/programmes/${programme.public_id}/overview`);
	const urls = [...page.text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, url = ""]) => url);
	assert.ok(urls.length >= 5);
	const plain = await site.browser().open("/sign-in");
	assert.doesNotMatch(plain.text, /uplot/, "charts are for pages that have some");
	for (const url of urls) {
		const { status, headers } = await site.browser().open(url);
		assert.equal(status, 200, url);
		assert.match(headers.get("cache-control") ?? "", /max-age=31536000, immutable/);
		assert.match(url, /\?v=[0-9a-f]{12}$/);
		// During an upgrade, a page of another version may request the file with another hash. The response to it must not
		// be cached.
		for (const other of [url.replace(/.$/, "x"), url.replace(/\?.*/, "")]) {
			assert.equal((await site.browser().open(other)).headers.get("cache-control"), "no-store", other);
		}
	}
	assert.equal((await site.browser().open("/assets/none.js")).status, 404);
});

test("/programmes/new is not mistaken for the page of a programme, and has no pages below it", async (t) => {
	const { browser: staff } = await openAsStaff(t);
	assert.equal((await staff.open("/programmes/new")).status, 200);
	assert.equal((await staff.open("/programmes/new/overview")).status, 404);
});

test("an unknown address has the guards of the known addresses around it, so that nobody learns which pages exist", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const paths = [
		`/programmes/${programme.public_id}/x`,
		"/programmes/x",
		"/programmes/x/y",
		"/conversions/x",
		"/people/x",
		"/account/x",
	];
	for (const path of paths) {
		const nobody = await site.browser().open(path);
		assert.deepEqual([nobody.status, nobody.location], [303, `/sign-in?next=${encodeURIComponent(path)}`]);
		assert.equal((await owner.open(path)).status, 404, path);
	}
	for (const path of ["/sign-in", "/account", "/programmes", `/programmes/${programme.public_id}/settings`]) {
		for (const method of ["PUT", "DELETE", "PATCH"]) {
			const headers = { accept: "text/html" };
			assert.equal((await owner.send(path, { method, headers })).status, 405, `${method} ${path}`);
		}
	}
});

test("a GET of a form's address redirects to the page that has the form", async (t) => {
	const { site, browser: staff } = await openAsStaff(t);
	const programme = await site.addProgramme();
	const base = `/programmes/${programme.public_id}`;
	for (const [form, page] of [
		[`${base}/integration/keys/key_x/revoke`, `${base}/integration/keys`],
		[`${base}/integration/postback-url/remove`, `${base}/integration`],
		[`${base}/deliveries/a%20b/resend`, `${base}/deliveries/a%20b`],
		[`${base}/conversions/decide`, `${base}/conversions`],
		[`${base}/people/invite`, `${base}/people`],
		["/account/sessions/end", "/account"],
		["/conversions/decide", "/conversions"],
		["/sign-out", "/"],
	] as const) {
		const { status, location } = await staff.open(form);
		assert.deepEqual([status, location], [303, page]);
	}
});

test("a text that is too long is refused at its field, and no browser is told to cut it", async (t) => {
	const { site, browser: staff } = await openAsStaff(t);
	await endSetUp(site.deps, COMMAND_LINE);
	const terms = { commissionRate: "5", feeRate: "1", approvalDays: "30", parkedDays: "30" };
	for (const [path, field, tooLong, others] of [
		["/programmes/new", "currency", "EURO", { ...terms, name: "Shop" }],
		["/programmes/new", "name", "x".repeat(101), { ...terms, currency: "EUR" }],
		["/programmes/new", "basketNote", "x".repeat(301), { ...terms, name: "Shop", currency: "EUR" }],
		["/network", "name", "x".repeat(101), {}],
		["/network", "brand", "x".repeat(32), { name: "Acme" }],
		["/network", "colour", "#3b4fd8ff", { name: "Acme" }],
		["/network", "senderName", "x".repeat(101), { name: "Acme" }],
		["/network/payouts", "postalAddress", "x".repeat(501), {}],
		["/network/tokens", "name", "x".repeat(101), { right: "read", days: "30" }],
	] as const) {
		const refused = await staff.submit(path, { ...others, [field]: tooLong });
		assert.equal(refused.status, 422, `${path} ${field}`);
		assert.match(refused.text, new RegExp(`id="${field}-error"`), `${path} ${field}`);
		assert.ok(refused.text.includes(tooLong), `${path} ${field}: what was typed stays`);
		assert.doesNotMatch(refused.text, /maxlength/i);
	}
});

test("for an unknown address people get a page, and programs get the API's answer", async (t) => {
	const site = await openTestSite(t);
	const page = await site.browser().open("/nowhere");
	assert.equal(page.status, 404);
	assert.match(page.text, /Page not found/);
	const problem = await site.browser().open("/nowhere", { accept: "*/*" });
	assert.equal(problem.headers.get("content-type"), "application/problem+json");
	for (const path of ["/docs/nothing-here", "/docs/nothing.md", "/docs/api/x"]) {
		const documentation = await site.browser().open(path);
		assert.equal(documentation.status, 404, `${path} is not behind the sign-in page`);
		assert.match(documentation.text, /Page not found/);
		assert.equal((await site.browser().open(path, { accept: "*/*" })).status, 404);
	}
	assert.equal((await site.browser().open("/docs/operations/install")).status, 303, "for staff only");
	const below = await (await site.signIn(await site.addStaff())).open("/account/nowhere");
	assert.equal(below.status, 404);
	assert.match(below.text, /Sign out/, "in the look of somebody who is signed in");
});

test("a page that fails shows no details of the error, and the log has them", async (t) => {
	const { site, browser: staff } = await openAsStaff(t);
	await site.store.db.schema.dropTable("programmes").execute();
	assert.equal((await staff.open("/account")).status, 200, "programmes are read where they are shown alone");
	const answer = await staff.open("/programmes");
	assert.equal(answer.status, 500);
	assert.match(answer.text, /Something went wrong/);
	assert.doesNotMatch(answer.text, /no such table|programmes where|at \w+ \(/);
	assert.match(site.log.text(), /a page failed/);
});

test("the development setting is shown on every page to people who are signed in, and to nobody else", async (t) => {
	for (const allowsPrivateRanges of [true, false]) {
		const site = await openTestSite(t, { change: { allowsPrivateRanges } });
		const page = await (await site.signIn(await site.addStaff())).open("/account");
		assert.equal(/private addresses/.test(page.text), allowsPrivateRanges);
	}
});

test("the message of a form is shown once, and a forged message is not shown", async (t) => {
	const site = await openTestSite(t);
	const browser = site.browser();
	const forged = Buffer.from(JSON.stringify({ tone: "bad", text: "Call 555-1234 now" })).toString(
		"base64url",
	);
	browser.cookies.set("__Host-ringback.flash", `${forged}.${"A".repeat(43)}`);
	assert.doesNotMatch((await browser.open("/sign-in")).text, /555-1234/);
	assert.equal(browser.cookies.has("__Host-ringback.flash"), false);
});
