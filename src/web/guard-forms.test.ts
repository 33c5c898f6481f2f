import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestSite, PASSWORD, type Shown } from "./test-site.test-support.ts";

const OTHERS_TOKEN = "A".repeat(43);

test("a form without a token, with a wrong one or with another session's changes nothing", async (t) => {
	const site = await openTestSite(t);
	const [staff, other] = [await site.addStaff(), await site.addStaff()];
	const [mine, theirs] = [await site.signIn(staff), await site.signIn(other)];
	await mine.open("/account");
	await theirs.open("/account");
	const before = await site.storedText();
	for (const csrf of [null, "", OTHERS_TOKEN, theirs.csrf, `${mine.csrf}x`, mine.csrf.slice(1)]) {
		const fields = { currentPassword: PASSWORD, newPassword: "another horse battery" };
		assertRefused(await mine.submit("/account/password", fields, { csrf }));
		assertRefused(await mine.submit("/sign-out", {}, { csrf }));
	}
	assert.equal(await site.storedText(), before);
	assert.equal((await mine.open("/account")).status, 200);
});

test("the token of a visit is worth nothing after signing in, nor one session's for the same person's next", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const browser = site.browser();
	await browser.open("/sign-in");
	const visitToken = browser.csrf;
	await browser.submit("/sign-in", { email: staff.email, password: PASSWORD });
	assertRefused(await browser.submit("/sign-out", {}, { csrf: visitToken }));
	await browser.open("/account");
	const firstToken = browser.csrf;
	await browser.submit("/sign-out", {});
	await browser.open("/sign-in");
	await browser.submit("/sign-in", { email: staff.email, password: PASSWORD });
	assertRefused(await browser.submit("/sign-out", {}, { csrf: firstToken }));
	await browser.open("/account");
	assert.equal((await browser.submit("/sign-out", {})).status, 303);
});

test("before signing in, forms are bound to the visit: another site cannot sign people in as somebody else", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const [attacker, victim] = [site.browser(), site.browser()];
	await attacker.open("/sign-in");
	await victim.open("/sign-in");
	const fields = { email: staff.email, password: PASSWORD };
	assertRefused(await victim.submit("/sign-in", fields, { csrf: attacker.csrf }));
	assertRefused(await site.browser().submit("/sign-in", fields, { csrf: attacker.csrf }));
	assert.equal((await victim.submit("/sign-in", fields)).status, 303);
});

const ORIGINS: readonly [what: string, headers: Record<string, string>, isTaken: boolean][] = [
	["another site, by Sec-Fetch-Site", { "sec-fetch-site": "cross-site" }, false],
	["a sister domain, by Sec-Fetch-Site", { "sec-fetch-site": "same-site" }, false],
	[
		"another site that brings our Origin too",
		{ "sec-fetch-site": "cross-site", origin: "https://ringback.example" },
		false,
	],
	["another Origin", { origin: "https://evil.example" }, false],
	["another port", { origin: "https://ringback.example:8443" }, false],
	["plain HTTP", { origin: "http://ringback.example" }, false],
	["an Origin that hides itself", { origin: "null" }, false],
	["an Origin that is none", { origin: "ringback.example" }, false],
	["our own Origin", { origin: "https://ringback.example" }, true],
	["the name it was opened by", { origin: "http://localhost:8080", host: "localhost:8080" }, true],
	["the person themselves, by reloading", { "sec-fetch-site": "none" }, true],
	["a browser that says nothing", {}, true],
];

for (const [what, headers, isTaken] of ORIGINS) {
	test(`a form with the right token that comes from ${what} is ${isTaken ? "taken" : "refused"}`, async (t) => {
		const site = await openTestSite(t);
		const browser = site.browser();
		await browser.open("/sign-in");
		const answer = await browser.submit("/forgot-password", { email: "a@b.example" }, { headers });
		if (isTaken) assert.equal(answer.status, 200);
		else assertRefused(answer);
	});
}

test("nothing but GET, HEAD and POST is spoken on pages", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.signIn(await site.addStaff());
	for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
		const { status } = await staff.send("/account", { method });
		assert.equal(status, 405, method);
	}
});

test("a form longer than anybody needs is refused: a stranger's early, a person's late", async (t) => {
	const site = await openTestSite(t);
	const stranger = site.browser();
	await stranger.open("/sign-in");
	const long = { email: "a@b.example", password: "x".repeat(20_000) };
	assert.equal((await stranger.submit("/sign-in", long)).status, 413);
	const staff = await site.signIn(await site.addStaff());
	await staff.open("/account");
	assert.equal((await staff.submit("/account/sessions/end", { sessionId: "x".repeat(20_000) })).status, 303);
	const huge = { sessionId: "x".repeat(17 * 1024 * 1024) };
	assert.equal((await staff.submit("/account/sessions/end", huge)).status, 413);
});

test("a form of very many fields or parts is refused before it is read, and one with a page's worth is taken", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	const path = `/programmes/${programme.public_id}/conversions/bulk`;
	await owner.open(path);
	const boundary = "-".repeat(20).concat("0123456789");
	const part = (name: string, value: string) =>
		`--${boundary}\r\nCoNtent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
	const parts = (count: number) =>
		`${part("csrf", owner.csrf)}${part("a", "").repeat(count)}--${boundary}--\r\n`;
	const fields = (count: number) => `csrf=${owner.csrf}${"&a".repeat(count)}`;
	const kinds = [
		[`multipart/form-data; boundary=${boundary}`, parts],
		["application/x-www-form-urlencoded", fields],
	] as const;
	for (const [type, body] of kinds) {
		const send = (count: number) =>
			owner.send(path, {
				method: "POST",
				headers: { "content-type": type, accept: "text/html" },
				body: body(count),
			});
		const taken = await send(200);
		assert.deepEqual([taken.status, /Choose a CSV file first/.test(taken.text)], [422, true], type);
		assert.equal((await send(1_001)).status, 413, type);
		assert.equal((await send(150_000)).status, 413, type);
	}
	assert.equal(site.log.text(), "", "nothing of it is our failure");
});

function assertRefused({ status, text, setCookies }: Shown): void {
	assert.equal(status, 403);
	assert.match(text, /This form is out of date/);
	assert.ok(!setCookies.some((line) => line.includes("session_token")));
}
