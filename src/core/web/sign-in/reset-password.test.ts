import assert from "node:assert/strict";
import { test } from "node:test";
import { MAIL_OFF } from "../../../../test/support/app-deps.ts";
import { HOUR_MS } from "../../domain/time.ts";
import { NEW_PASSWORD, openTestSite, type TestSite } from "../test-site.test-support.ts";

test("a reset link that is an hour old or was never issued changes nothing", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const staff = await site.addStaff();
	const path = await askForLink(site, staff.email);
	site.moveClock(HOUR_MS - 1);
	assert.equal((await site.browser().open(path)).status, 200);
	site.moveClock(1);
	for (const dead of [path, "/welcome/made-up", `/welcome/${"0".repeat(64)}`]) {
		const browser = site.browser();
		assert.equal((await browser.submit(dead, { password: NEW_PASSWORD })).status, 410);
	}
	await site.signIn(staff);
});

test("the answer is the same for every address, and only people with an account get a mail", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const staff = await site.addStaff();
	const texts: string[] = [];
	for (const email of [staff.email, "nobody@shop.example", "no address"]) {
		const browser = site.browser();
		const answer = await browser.submit("/forgot-password", { email });
		assert.equal(answer.status, 200);
		texts.push(answer.text.replaceAll(email, ""));
	}
	assert.deepEqual(texts, [texts[0], texts[0], texts[0]]);
	assert.deepEqual(
		site.mailbox.map(({ to }) => to),
		[staff.email],
	);
});

test("a mail server that does not answer does not delay the page, and its failure is not shown", async (t) => {
	let sent = 0;
	const site = await openTestSite(t, {
		change: {
			mails: {
				...MAIL_OFF,
				isOn: true,
				later: () => {
					sent += 1;
				},
				settled: () => new Promise(() => undefined),
			},
		},
	});
	const staff = await site.addStaff();
	sent = 0;
	const browser = site.browser();
	assert.equal((await browser.submit("/forgot-password", { email: staff.email })).status, 200);
	assert.equal(sent, 1);
});

test("an address gets at most five reset links an hour, regardless of who requests them and whether it has an account", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const staff = await site.addStaff();
	for (const email of [staff.email, "nobody@shop.example"]) {
		const ask = async () => {
			const browser = site.browser();
			return browser.submit("/forgot-password", { email });
		};
		for (let asked = 0; asked < 5; asked += 1) assert.equal((await ask()).status, 200);
		const refused = await ask();
		assert.equal(refused.status, 429);
		assert.match(refused.text, /Check the inbox and the spam folder, or try again in 60 minutes/);
	}
	assert.equal(site.mailbox.length, 5);
	const asked = await site.audit("password.reset_asked");
	assert.deepEqual(new Set(asked.map(({ subject }) => subject)), new Set([staff.email]));
	assert.equal(asked.length, 5);
	site.moveClock(60 * 60_000);
	await askForLink(site, staff.email);
});

test("without mail the page refers to the staff and to the operator's command, and no link is created", async (t) => {
	const site = await openTestSite(t);
	const staff = await site.addStaff();
	const browser = site.browser();
	const page = await browser.open("/forgot-password");
	assert.match(page.text, /cannot send mail\. Ask the network's staff/);
	assert.match(page.text, /<code>npx --no-install ringback user link --email you@example\.com<\/code>/);
	assert.doesNotMatch(
		page.text,
		new RegExp(process.cwd()),
		"the page is public and must not show a path of the server",
	);
	assert.match((await browser.submit("/forgot-password", { email: staff.email })).text, /cannot send mail/);
	assert.match(await site.storedText(), /^sign_in_links: \[\]$/m);
});

async function askForLink(site: TestSite, email: string): Promise<string> {
	const browser = site.browser();
	const answer = await browser.submit("/forgot-password", { email });
	assert.match(answer.text, /Check your inbox/);
	const [, path = ""] =
		/^https:\/\/ringback\.example(\/welcome\/\w+)$/m.exec(site.mailbox.at(-1)?.text ?? "") ?? [];
	assert.notEqual(path, "");
	return path;
}
