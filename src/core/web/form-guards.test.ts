import assert from "node:assert/strict";
import { test } from "node:test";
import { createSubTotals } from "#modules/partners/use-cases/sub-totals.ts";
import { createClock, settle } from "../../../test/support/clock.ts";
import { PATIENCE_MS } from "../../../test/support/patience.ts";
import { createAdmission } from "../../concurrency/admission.ts";
import { temporaryFilesOfSystem } from "../../outside/temporary-files.ts";
import { SITE_LISTS } from "../../site-modules.ts";
import { createNetworkTallies } from "../conversions/tally.ts";
import { createAuth } from "../people/auth.ts";
import type { LookUp, TemporaryFiles } from "../ports.ts";
import { createSite } from "./site.ts";
import { Browser, openAsOwner, openTestSite, type Shown } from "./test-site.test-support.ts";

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
	["a program that says nothing", {}, true],
];

for (const [what, headers, isAccepted] of ORIGINS) {
	test(`a form that comes from ${what} is ${isAccepted ? "accepted" : "refused"}`, async (t) => {
		const site = await openTestSite(t);
		const browser = site.browser();
		const answer = await browser.submit("/forgot-password", { email: "a@b.example" }, { headers });
		if (isAccepted) assert.equal(answer.status, 200);
		else assertRefused(answer);
	});
}

test("a form that is too long is refused, and the limit is lower for visitors who are not signed in", async (t) => {
	const site = await openTestSite(t);
	const stranger = site.browser();
	const long = { email: "a@b.example", password: "x".repeat(20_000) };
	assert.equal((await stranger.submit("/sign-in", long)).status, 413);
	const staff = await site.signIn(await site.addStaff());
	assert.equal((await staff.submit("/account/sessions/end", { sessionId: "x".repeat(20_000) })).status, 303);
	const huge = { sessionId: "x".repeat(17 * 1024 * 1024) };
	assert.equal((await staff.submit("/account/sessions/end", huge)).status, 413);
});

test("a form with very many fields or parts is refused before it is parsed, and one with 200 fields is accepted", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const path = `/programmes/${programme.public_id}/conversions/bulk`;
	const boundary = "-".repeat(20).concat("0123456789");
	const part = (name: string, value: string) =>
		`--${boundary}\r\nCoNtent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
	const parts = (count: number) => `${part("a", "").repeat(count)}--${boundary}--\r\n`;
	const fields = (count: number) => `b=1${"&a".repeat(count)}`;
	const kinds = [
		[`multipart/form-data; boundary=${boundary}`, parts],
		["application/x-www-form-urlencoded", fields],
	] as const;
	for (const [type, body] of kinds) {
		const send = (count: number) =>
			owner.send(path, {
				method: "POST",
				headers: { "content-type": type, accept: "text/html", "sec-fetch-site": "same-origin" },
				body: body(count),
			});
		const accepted = await send(200);
		assert.deepEqual([accepted.status, /Choose a CSV file first/.test(accepted.text)], [422, true], type);
		assert.equal((await send(1_001)).status, 413, type);
		assert.equal((await send(150_000)).status, 413, type);
	}
	assert.equal(site.log.text(), "", "nothing of it is our failure");
});

test("nothing is stored of an upload that comes from another site, is cut off or has more than one file", async (t) => {
	let created = 0;
	let removed = 0;
	const temporaryFiles: TemporaryFiles = {
		async create() {
			created += 1;
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
	const { site, programme, browser: owner } = await openAsOwner(t, { change: { temporaryFiles } });
	const path = `/programmes/${programme.public_id}/conversions/bulk`;
	const formOf = (...names: readonly string[]) => {
		const form = new FormData();
		for (const name of names) form.append(name, new File(["orderId,decision\nA,approve\n"], "decisions.csv"));
		return form;
	};
	const sendText = (type: string, body: string) =>
		owner.send(path, {
			method: "POST",
			headers: { accept: "text/html", "content-type": type, "sec-fetch-site": "same-origin" },
			body,
		});
	const before = await site.storedText();
	assertRefused(await owner.submitForm(path, formOf("file"), { "sec-fetch-site": "cross-site" }));
	assert.equal(created, 0, "nothing was written");
	assert.equal((await owner.submitForm(path, formOf("file", "file"))).status, 413);
	const cut = `--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\norderId,dec`;
	assert.equal((await sendText("multipart/form-data; boundary=x", cut)).status, 422);
	assert.equal((await owner.submitForm(path, formOf("other"))).status, 422);
	assertRefused(await sendText("multipart/form-data", "x"));
	assert.equal(await site.storedText(), before);
	assert.equal((await owner.submitForm(path, formOf("file"))).status, 303);
	assert.deepEqual([created, removed], [3, 3], "each file that was begun is gone");
	assert.equal(site.log.text(), "", "nothing of it is our failure");
});

test("if the disk is full, an upload gets 500, the error is logged, and later uploads are accepted", async (t) => {
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
	const { site, programme, browser: owner } = await openAsOwner(t, { change: { temporaryFiles } });
	const path = `/programmes/${programme.public_id}/conversions/bulk`;
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
	assert.match(text, /This form cannot be accepted/);
	assert.ok(!setCookies.some((line) => line.includes("ringback.session=")));
}

test("pages are served while forms wait for name servers that do not answer", {
	timeout: PATIENCE_MS,
}, async (t) => {
	const answered = Promise.withResolvers<LookUp>();
	const hosts: string[] = [];
	const asked: string[] = [];
	const { site, programme, owner } = await openAsOwner(t);
	const admission = createAdmission({ clock: createClock(), log: site.deps.log });
	const watched = createSite(
		{
			...site.deps,
			auth: createAuth(site.deps),
			networkTallies: createNetworkTallies(site.deps),
			subTotals: createSubTotals(site.deps),
			transport: {
				lookUp: (host) => {
					hosts.push(host);
					return answered.promise;
				},
			},
			admission: {
				...admission,
				admit: (className, client, origin) => {
					asked.push(`${className} ${client}`);
					return admission.admit(className, client, origin);
				},
			},
		},
		SITE_LISTS,
	);
	const signIn = async (person: Parameters<typeof site.signIn>[0]): Promise<Browser> => {
		const browser = new Browser((path, init, env) => watched.request(path, init, env));
		for (const [name, value] of (await site.signIn(person)).cookies) browser.cookies.set(name, value);
		return browser;
	};
	const path = `/programmes/${programme.public_id}/integration`;
	const saves: Promise<Shown>[] = [];
	for (let n = 0; n < 4; n++) {
		const browser = await signIn(await site.addOwner(programme));
		const save = () => browser.submit(`${path}/postback-url`, { postbackUrl: "https://slow.example/" });
		saves.push(save(), save());
	}
	while (hosts.length < saves.length) await settle();
	assert.equal((await (await signIn(owner)).open(path)).status, 200);
	answered.resolve({ ok: true, addresses: ["93.184.215.14"] });
	for (const saved of await Promise.all(saves)) assert.equal(saved.status, 303);
	const staff = await site.addStaff();
	await (await signIn(staff)).submit("/network/test-mail", {});
	assert.equal(asked.at(-1), `outsideRequests ${staff.public_id}`);
});
