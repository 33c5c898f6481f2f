import assert from "node:assert/strict";
import { test } from "node:test";
import { mailOwners } from "../../callbacks/mail-owners.ts";
import { setEndpoint } from "../../store/programmes.ts";
import { openTestSite, type SiteOptions, START_MS, type TestSite } from "../test-site.test-support.ts";

test("nothing to tell: without a URL the page says how to be told, with one it says that all is well", async (t) => {
	const { site, programme, open } = await openNotices(t);
	assert.match((await open()).text, /No Postback URL is saved.*Go to Integration/s);
	await setEndpoint(site.store.db, programme.id, "https://shop.example/postback", START_MS);
	const { text } = await open();
	assert.match(text, /No callback has finally failed/);
	assert.doesNotMatch(text, /badge-bad/);
});

test("an open notice says since when, how many, why, what to do, and leads to what failed", async (t) => {
	const { site, programme, path, open } = await openNotices(t);
	await site.store.db
		.insertInto("deliveries")
		.values({
			id: 9,
			public_id: "dlv_9",
			programme_id: programme.id,
			receiver_id: programme.id,
			state: "failed",
			run: 1,
			attempts: 7,
			created_at_ms: START_MS,
		})
		.execute();
	await addNotice(site, programme.id, {
		failures: 42,
		last_delivery_id: 9,
		last_verdict: "refused",
		last_http_status: 401,
	});
	const { text } = await open();
	assert.match(text, /Callbacks are failing.*Open.*2026-03-01 12:00:00 UTC.*still failing.*42 callbacks/s);
	assert.match(text, /HTTP 401, which we take as a deliberate refusal.*Check a signature/s);
	assert.ok(text.includes(`href="${path}/deliveries/dlv_9"`));
	assert.ok(text.includes(`href="${path}/integration?state=failed`));
	assert.match(text, /Notices<span class="badge badge-bad">1</);
	assert.match(text, /no mail can be sent from here/);
});

test("a notice that is over, and the one that callbacks work again", async (t) => {
	const { site, programme, open } = await openNotices(t, { hasMail: true });
	await addNotice(site, programme.id, { ended_at_ms: START_MS + 60_000, last_verdict: "retry" });
	await addNotice(site, programme.id, { public_id: "ntc_2", kind: "callbacks_working_again", failures: 0 });
	const { text } = await open();
	assert.ok(text.indexOf("Callbacks work again") < text.indexOf("Callbacks failed"), "the newest first");
	assert.match(text, /Callbacks failed.*Over.*12:01:00 UTC.*1 callback<.*no answer came in seven attempts/s);
	assert.doesNotMatch(text, /badge-bad/);
});

test("when it was mailed and to whom is what the mail itself left behind", async (t) => {
	const { site, programme, owner, open } = await openNotices(t, { hasMail: true });
	await addNotice(site, programme.id, { mail_due_at_ms: START_MS });
	assert.match((await open()).text, /not sent yet; the next at/);
	const mailer = { send: async () => null };
	await mailOwners({ ...site.deps, mailer }, () => false);
	const { text } = await open();
	assert.match(text, /2026-03-01 12:00:00 UTC<\/time> to /);
	assert.ok(text.includes(`to <span class="break">${owner.email}</span>`));
});

test("a long history goes on page by page", async (t) => {
	const { site, programme, path, open, browser } = await openNotices(t);
	for (let n = 1; n <= 21; n++)
		await addNotice(site, programme.id, { public_id: `ntc_${n}`, ended_at_ms: START_MS });
	const first = await open();
	assert.doesNotMatch(first.text, /id="ntc_1"/);
	const next = /href="([^"]+)" rel="next"/.exec(first.text)?.[1] ?? "";
	assert.match((await browser.open(next)).text, /id="ntc_1"/);
	assert.doesNotMatch((await browser.open(next)).text, /id="ntc_2"/);
	assert.equal((await browser.open(`${path}/notices?before=x'%20or`)).status, 200);
});

test("another programme's notices and deliveries do not show", async (t) => {
	const { site, open } = await openNotices(t);
	const other = await site.addProgramme("Other");
	await addNotice(site, other.id, { public_id: "ntc_other" });
	assert.doesNotMatch((await open()).text, /ntc_other|Callbacks are failing/);
});

async function openNotices(t: Parameters<typeof openTestSite>[0], options: SiteOptions = {}) {
	const site = await openTestSite(t, options);
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	const browser = await site.signIn(owner);
	const path = `/programmes/${programme.public_id}`;
	return { site, programme, owner, browser, path, open: () => browser.open(`${path}/notices`) };
}

async function addNotice({ store }: TestSite, programmeId: number, change: object = {}): Promise<void> {
	await store.db
		.insertInto("notices")
		.values({
			public_id: "ntc_1",
			receiver_id: programmeId,
			kind: "callbacks_failing",
			opened_at_ms: START_MS,
			updated_at_ms: START_MS,
			failures: 1,
			mailed_failures: 0,
			...change,
		})
		.execute();
}
