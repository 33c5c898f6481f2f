import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFilesOfSystem } from "../outside/temporary-files.ts";
import type { TemporaryFiles } from "../ports.ts";
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

test("an upload is taken only behind its token, and nothing of it is kept otherwise", async (t) => {
	let made = 0;
	let removed = 0;
	const temporaryFiles: TemporaryFiles = {
		async create() {
			made += 1;
			const file = await temporaryFilesOfSystem().create();
			return {
				...file,
				remove: async () => {
					removed += 1;
					await file.remove();
				},
			};
		},
	};
	const site = await openTestSite(t, { change: { temporaryFiles } });
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	const path = `/programmes/${programme.public_id}/conversions/bulk`;
	await owner.open(path);
	const file = new File(["orderId,decision\nA,approve\n"], "decisions.csv");
	const send = (fields: readonly (readonly [string, string | File])[], headers = {}) => {
		const body = new FormData();
		for (const [name, value] of fields) {
			if (typeof value === "string") body.append(name, value);
			else body.append(name, value);
		}
		return owner.send(path, {
			method: "POST",
			headers: { accept: "text/html", "sec-fetch-site": "same-origin", ...headers },
			body,
		});
	};
	const before = await site.storedText();
	assertRefused(await send([["file", file]]));
	assertRefused(
		await send([
			["csrf", OTHERS_TOKEN],
			["file", file],
		]),
	);
	assertRefused(
		await send([
			["file", file],
			["csrf", owner.csrf],
		]),
	);
	assertRefused(await send([["csrf", OTHERS_TOKEN]]));
	assertRefused(
		await send(
			[
				["csrf", owner.csrf],
				["file", file],
			],
			{ "sec-fetch-site": "cross-site" },
		),
	);
	assert.equal(made, 0, "nothing was written");
	assert.equal(await site.storedText(), before);
	const twice = await send([
		["csrf", owner.csrf],
		["file", file],
		["file", file],
	]);
	assert.equal(twice.status, 413);
	const broken = await owner.send(path, {
		method: "POST",
		headers: { accept: "text/html", "content-type": "multipart/form-data; boundary=x" },
		body: `--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n${owner.csrf}\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\norderId,dec`,
	});
	assert.equal(broken.status, 422);
	assert.equal(
		(
			await send([
				["csrf", owner.csrf],
				["other", file],
			])
		).status,
		422,
	);
	const unbounded = {
		method: "POST",
		headers: { accept: "text/html", "content-type": "multipart/form-data" },
		body: "x",
	};
	assertRefused(await owner.send(path, unbounded));
	assert.equal(await site.storedText(), before);
	assert.equal(
		(
			await send([
				["csrf", owner.csrf],
				["file", file],
			])
		).status,
		303,
	);
	assert.deepEqual([made, removed], [3, 3], "each file that was begun is gone");
	assert.equal(site.log.text(), "", "nothing of it is our failure");
});

test("a disk that takes nothing is our failure: it is told and logged, and the slot is free again", async (t) => {
	let isFull = true;
	const temporaryFiles: TemporaryFiles = {
		async create() {
			const file = await temporaryFilesOfSystem().create();
			const full = async () => {
				throw new Error("ENOSPC: no space left on device");
			};
			return isFull ? { ...file, append: full } : file;
		},
	};
	const site = await openTestSite(t, { change: { temporaryFiles } });
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	const path = `/programmes/${programme.public_id}/conversions/bulk`;
	await owner.open(path);
	const form = new FormData();
	form.set("file", new File([`orderId,decision\n${"A,approve\n".repeat(50_000)}`], "decisions.csv"));
	for (let time = 0; time < 5; time++) assert.equal((await owner.submitForm(path, form)).status, 500);
	assert.match(site.log.text(), /ENOSPC/);
	isFull = false;
	form.set("file", new File(["orderId,decision\nA,approve\n"], "decisions.csv"));
	assert.equal((await owner.submitForm(path, form)).status, 303);
});

function assertRefused({ status, text, setCookies }: Shown): void {
	assert.equal(status, 403);
	assert.match(text, /This form is out of date/);
	assert.ok(!setCookies.some((line) => line.includes("session_token")));
}
