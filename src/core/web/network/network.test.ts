import assert from "node:assert/strict";
import { test } from "node:test";
import { pngOf } from "../../../../test/support/images.ts";
import { composeTestMail } from "../../mail/letters.ts";
import { addressMail } from "../../mail/network-mailer.ts";
import { COMMAND_LINE } from "../../people/actor.ts";
import type { Mailer } from "../../ports.ts";
import { issueKey } from "../../programmes/keys.ts";
import { changeNetwork, endSetUp, removeLogo, saveLogo } from "../../programmes/network.ts";
import { findNetwork } from "../../store/queries/network.ts";
import { type Browser, openTestSite, type Shown, type TestSite } from "../test-site.test-support.ts";

const SAVED = {
	name: "Acme Partners",
	brand: "Acme",
	colour: "#FFD400",
	supportAddress: "help@acme.example",
	senderName: "Acme, Partners",
	senderAddress: "no-reply@acme.example",
};

async function openStaff(
	t: Parameters<typeof openTestSite>[0],
	options = {},
): Promise<{ site: TestSite; staff: Browser }> {
	const site = await openTestSite(t, { hasMail: true, ...options });
	// These tests start after the set-up, which has its own tests in set-up.test.ts.
	await endSetUp(site.deps, COMMAND_LINE);
	return { site, staff: await site.signIn(await site.addStaff("mira@network.example")) };
}

async function save(staff: Browser, fields: Partial<typeof SAVED>): Promise<Shown> {
	return staff.submit("/network", fields);
}

function upload(staff: Browser, bytes: Uint8Array, name = "logo.png", type = "image/png"): Promise<Shown> {
	const form = new FormData();
	form.append("file", new File([Uint8Array.from(bytes)], name, { type }));
	return staff.submitForm("/network/logo", form);
}

test("a person who was just deactivated cannot change the network", async (t) => {
	const { site } = await openStaff(t);
	const { id: personId } = await site.addStaff();
	const actor = { personId, kind: "staff", sessionId: "ended" } as const;
	const refused = [
		await changeNetwork(site.deps, actor, { name: "Taken" }),
		await saveLogo(site.deps, actor, pngOf(32, 32)),
		await removeLogo(site.deps, actor),
		await endSetUp(site.deps, actor),
	];
	for (const one of refused) assert.equal(one.ok || one.fault.code, "not_allowed");
	assert.doesNotMatch((await site.browser().open("/sign-in")).text, /Taken/);
});

test("saved network settings appear on every page at once, and Ringback only in the footer", async (t) => {
	const { site, staff } = await openStaff(t);
	const programme = await site.addProgramme("Garden & Tools");
	const owner = await site.signIn(await site.addOwner(programme));
	const before = await owner.open(`/programmes/${programme.public_id}/overview`);
	assert.match(before.text, /<title>Overview · Garden &amp; Tools · Ringback<\/title>/);
	assert.equal((await save(staff, SAVED)).location, "/network");

	const strangers = [
		"/sign-in",
		"/docs",
		"/docs/api",
		"/welcome/nothing",
		"/nothing-here",
		"/forgot-password",
	];
	const pages = [
		...(await Promise.all(strangers.map((path) => site.browser().open(path)))),
		await owner.open(`/programmes/${programme.public_id}/overview`),
		await staff.open("/programmes"),
	];
	for (const { text } of pages) {
		assert.match(text, /<title>[^<]* · Acme Partners<\/title>/);
		assert.match(text, /class="brand"[\s\S]*?Acme Partners<\/span><\/a>/);
		assert.match(text, /<link rel="stylesheet" href="\/assets\/theme\/ffd400\.css">/);
		assert.match(text, /<footer[\s\S]*mailto:help@acme\.example[\s\S]*Runs on Ringback[\s\S]*<\/footer>/);
		const outside = text.replace(/<footer[\s\S]*<\/footer>/, "");
		const mentions = outside.match(/(?<![@/\w-])Ringback(?!-|\.example)/g) ?? [];
		const isDocs = /class="docs"/.test(text);
		assert.ok(isDocs || mentions.length === 0, outside);
	}
	const { text } = await staff.open("/openapi.json");
	assert.equal(JSON.parse(text).info.title, "Acme Partners");
});

test("the colour is served as a style sheet that is the same in every process", async (t) => {
	const { site } = await openStaff(t);
	const sheet = await site.browser().open("/assets/theme/ffd400.css");
	assert.equal(sheet.headers.get("content-type"), "text/css; charset=utf-8");
	assert.match(sheet.headers.get("cache-control") ?? "", /immutable/);
	assert.equal(sheet.headers.get("x-content-type-options"), "nosniff");
	assert.match(sheet.text, /:root\{--accent:light-dark\(oklch\(from #ffd400 /);
	for (const name of ["red.css", "ffd4000.css", "%7Dbody%7B.css", "FFD400"]) {
		assert.equal((await site.browser().open(`/assets/theme/${name}`)).status, 404, name);
	}
});

test("each mistake of the form is shown at its field, and nothing is saved", async (t) => {
	const { site, staff } = await openStaff(t);
	const wrong = {
		name: "",
		brand: "Two words",
		colour: "red",
		supportAddress: "help",
		senderName: "Acme <x@y.example>",
		senderAddress: "a@b.example\r\nBcc: all@shop.example",
	};
	const shown = await save(staff, wrong);
	assert.equal(shown.status, 422);
	for (const field of Object.keys(wrong)) assert.match(shown.text, new RegExp(`id="${field}-error"`), field);
	assert.match(shown.text, /value="Two words"/, "what was typed is still there");
	assert.equal((await findNetwork(site.store.db)).name, null);
	assert.equal((await save(staff, SAVED)).status, 303);
	assert.equal((await findNetwork(site.store.db)).colour, "#ffd400");
	assert.match((await staff.open("/network")).text, /value="Acme, Partners"/);
});

test("the brand can be chosen, with a warning, until a programme has a key", async (t) => {
	const { site, staff } = await openStaff(t);
	const open = await staff.open("/network");
	assert.match(open.text, /The brand is permanent</);
	assert.match(open.text, /name="brand"/);
	await save(staff, SAVED);
	const programme = await site.addProgramme();
	assert.equal((await issueKey(site.deps, programme.public_id, COMMAND_LINE)).ok, true);
	site.moveClock(1_000);
	const fixed = await staff.open("/network");
	assert.doesNotMatch(fixed.text, /name="brand"/);
	assert.match(fixed.text, /X-Acme-Signature<\/code>\. The brand cannot be changed any more/);
	// This form was opened before the brand became permanent.
	await staff.submit("/network", { ...SAVED, brand: "Other" });
	assert.equal((await findNetwork(site.store.db)).brand, "Acme");
});

test("a brand from the setting RINGBACK_BRAND is shown and cannot be changed", async (t) => {
	const { staff } = await openStaff(t, { brand: "Given" });
	const { text } = await staff.open("/network");
	assert.match(text, /X-Given-Signature<\/code>: the brand is given by <code>RINGBACK_BRAND/);
	assert.doesNotMatch(text, /name="brand"/);
});

test("a logo is validated by its bytes, served under its hash, and can be removed", async (t) => {
	const { site, staff } = await openStaff(t);
	await staff.open("/network");
	for (const bytes of [pngOf(64, 64), pngOf(300, 100)]) {
		// The file name and the content type of the upload are ignored.
		assert.equal((await upload(staff, bytes, "x.html", "text/html")).location, "/network#logo");
		const { text } = await site.browser().open("/sign-in");
		const [, src = ""] = /<img class="brand-logo" src="([^"]+)" alt=""/.exec(text) ?? [];
		assert.match(src, /^\/assets\/logo\/[\da-f]{16}$/);
		const logo = await site.browser().send(src, {});
		assert.equal(logo.headers.get("content-type"), "image/png");
		assert.equal(logo.headers.get("x-content-type-options"), "nosniff");
		assert.match(logo.headers.get("content-security-policy") ?? "", /default-src 'none'/);
		assert.match(logo.headers.get("cache-control") ?? "", /immutable/);
		assert.equal(logo.setCookies.length, 0);
	}
	const { text } = await staff.open("/network");
	const [, last = ""] = /src="(\/assets\/logo\/[^"]+)"/.exec(text) ?? [];
	await staff.submit("/network/logo/remove", {});
	assert.equal((await site.browser().open(last)).status, 404);
	assert.doesNotMatch((await site.browser().open("/sign-in")).text, /brand-logo/);
});

test("a logo twice as wide as high replaces the visible name, which screen readers still read", async (t) => {
	const { site, staff } = await openStaff(t);
	await save(staff, SAVED);
	const nameOf = async () =>
		/<span class="(brand-name[^"]*)">Acme Partners/.exec((await site.browser().open("/sign-in")).text)?.[1];
	await upload(staff, pngOf(40, 28));
	assert.equal(await nameOf(), "brand-name");
	await upload(staff, pngOf(120, 28));
	assert.equal(await nameOf(), "brand-name visually-hidden");
});

test("a file that is not a picture, or is too large, is refused at its field, and the old logo stays", async (t) => {
	const { site, staff } = await openStaff(t);
	await upload(staff, pngOf(64, 64));
	const { logo_hash } = await findNetwork(site.store.db);
	const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
	for (const [bytes, words] of [
		[svg, /id="file-error">This is not a PNG picture/],
		[Buffer.concat([pngOf(64, 64)], 300_000), /id="file-error">The file is larger than 256 KB/],
		[Buffer.alloc(11 * 1_024 * 1_024, 1), /id="file-error">The file is larger than 256 KB/],
		[pngOf(2_000, 20), /id="file-error">The picture has 2000 × 20 pixels/],
	] as const) {
		const shown = await upload(staff, bytes);
		assert.match(shown.text, words);
		assert.ok(shown.status === 422 || shown.status === 413, String(shown.status));
	}
	const none = await staff.submitForm("/network/logo", new FormData());
	assert.match(none.text, /Choose a picture first/);
	assert.equal((await findNetwork(site.store.db)).logo_hash, logo_hash);
});

test("a test mail is sent to the person who asks, under the network's name", async (t) => {
	const { site, staff } = await openStaff(t);
	await save(staff, SAVED);
	assert.equal((await staff.submit("/network/test-mail", {})).location, "/network#mail");
	assert.match((await staff.open("/network")).text, /Your mail server accepted the test mail/);
	assert.deepEqual(site.mailbox, [
		addressMail(
			composeTestMail("mira@network.example"),
			await site.deps.network.read(),
			"https://ringback.example",
		),
	]);
	const [mail] = site.mailbox;
	assert.deepEqual(mail?.from, { name: "Acme, Partners", address: "no-reply@acme.example" });
	assert.equal(mail?.replyTo, "help@acme.example");
	assert.notEqual((await findNetwork(site.store.db)).mail_tested_at_ms, null);
});

test("if the mail server refuses the test mail, its own words are shown and the step stays open", async (t) => {
	const failures: readonly [Mailer["send"], RegExp][] = [
		[
			async () => ({ reason: "550 5.7.1 Sender address rejected" }),
			/It said: 550 5\.7\.1 Sender address rejected/,
		],
		[
			() => Promise.reject(new Error("connect ECONNREFUSED 127.0.0.1:25")),
			/It said: connect ECONNREFUSED 127\.0\.0\.1:25/,
		],
		[() => Promise.reject(new AggregateError([new Error("one"), new Error("other")])), /It said: one; other/],
	];
	for (const [send, words] of failures) {
		const { site, staff } = await openStaff(t, { change: { mailer: { send } } });
		await staff.submit("/network/test-mail", {});
		assert.match((await staff.open("/network")).text, words);
		assert.equal((await findNetwork(site.store.db)).mail_tested_at_ms, null);
	}
	const { staff } = await openStaff(t, { hasMail: false });
	assert.match((await staff.open("/network")).text, /Mail is off\./);
	await staff.submit("/network/test-mail", {});
	assert.match((await staff.open("/network")).text, /Mail is off\. Set SMTP_URL and MAIL_FROM/);
});

test("the number of test mails is limited", async (t) => {
	const { site, staff } = await openStaff(t);
	for (let sent = 0; sent < 51; sent++) await staff.submit("/network/test-mail", {});
	assert.equal(site.mailbox.length, 50);
	assert.match((await staff.open("/network")).text, /You have sent 50 mails within an hour/);
});

test("staff save the postal address and a minimum payout for each currency in use, and the audit log has both", async (t) => {
	const { site, staff } = await openStaff(t);
	await site.addProgramme("Garden");
	const shown = await staff.open("/network");
	assert.match(shown.text, /Statements and payouts[\s\S]+name="minimumEUR"/);
	assert.doesNotMatch(shown.text, /name="minimumUSD"/, "no programme uses it");
	const typed = { postalAddress: " Acme\r\n1 Main Street \r\n", minimumEUR: "25,5", minimumUSD: "9" };
	assert.equal((await staff.submit("/network/payouts", typed)).location, "/network#payouts");
	const { postal_address, minimum_payouts } = await findNetwork(site.store.db);
	assert.deepEqual([postal_address, minimum_payouts], ["Acme\n1 Main Street", "EUR 25.50"]);
	assert.match((await staff.open("/network")).text, /value="25\.50"/);
	await staff.submit("/network/payouts", typed);
	const audited = await site.audit("network.changed");
	assert.equal(
		audited.at(-1)?.detail,
		"postal address: none → Acme, 1 Main Street; minimum payouts: none → EUR 25.50",
	);
	assert.equal(
		audited.filter(({ detail }) => detail?.includes("postal")).length,
		1,
		"saved twice, changed once",
	);
});

test("a wrong minimum payout is refused at its field, and nothing is saved", async (t) => {
	const { site, staff } = await openStaff(t);
	await site.addProgramme("Garden");
	const typed = { postalAddress: "Acme", minimumEUR: "1.005" };
	const refused = await staff.submit("/network/payouts", typed);
	assert.equal(refused.status, 422);
	assert.match(refused.text, /id="minimumEUR-error">The minimum payout has too many decimals for EUR/);
	assert.match(refused.text, /value="1\.005"/);
	assert.equal((await findNetwork(site.store.db)).postal_address, null);
	const hidden = await staff.submit("/network/payouts", { postalAddress: "a\u202eb", minimumEUR: "" });
	assert.match(hidden.text, /id="postalAddress-error"/);
});

test("staff choose the network's time zone from a list, another one is refused, and the change is audited", async (t) => {
	const { site, staff } = await openStaff(t);
	assert.match((await staff.open("/network")).text, /<option value="UTC" selected>UTC<\/option>/);
	const refused = await staff.submit("/network", { ...SAVED, timeZone: "+01:00" });
	assert.equal(refused.status, 422);
	assert.match(refused.text, /id="timeZone-error">There is no time zone &quot;\+01:00&quot;/);
	assert.equal((await findNetwork(site.store.db)).time_zone, "UTC");
	await staff.submit("/network", { ...SAVED, timeZone: "Europe/Berlin" });
	assert.match((await staff.open("/network")).text, /<option value="Europe\/Berlin" selected>/);
	const [entry] = (await site.audit("network.changed")).slice(-1);
	assert.match(entry?.detail ?? "", /timeZone: UTC → Europe\/Berlin/);
	await staff.submit("/network", { ...SAVED, name: "Other" });
	assert.equal(
		(await findNetwork(site.store.db)).time_zone,
		"Europe/Berlin",
		"a form without the field keeps it",
	);
});
