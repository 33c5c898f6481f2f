import assert from "node:assert/strict";
import { test } from "node:test";
import { setUrl } from "../../../../test/support/change-rows.ts";
import { newNotice } from "../../../../test/support/notices.ts";
import { addConversion, addDeliveries, newSecret } from "../../../../test/support/rows.ts";
import { failDeliveries } from "../../../../test/support/undelivered.ts";
import { excerptAnswer } from "../../domain/answer-excerpt.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { insertSecret } from "../../store/queries/signing-secrets.ts";
import { runCallbacks } from "../integration/callback-run.test-support.ts";
import { openTestSite, type SiteOptions, START_MS, type TestSite } from "../test-site.test-support.ts";

test("without a URL the overview has no section for notices, and with one the section is empty", async (t) => {
	const { site, programme, open } = await openNotices(t, { hasNoUrl: true });
	assert.doesNotMatch((await open()).text, /id="notices"/);
	await setUrl(site.store.db, programme.id, "https://shop.example/postback", START_MS);
	const { text } = await open();
	assert.match(text, /If callbacks to your shop fail, this list says why/);
	assert.doesNotMatch(text, /badge-bad/);
});

test("an open notice shows its start, count, cause and cure, and leads to the failed callbacks", async (t) => {
	const { site, programme, path, open } = await openNotices(t);
	const [lost = 0] = await addDeliveries(site.store, programme, START_MS, START_MS + 300_000);
	await failForGood(site, lost);
	await addNotice(site, programme, {
		failed_attempts: 44,
		failures: 42,
		last_failed_at_ms: START_MS + 90_000,
		last_delivery_id: lost,
		last_http_status: 401,
	});
	const { text } = await open();
	const row = text.slice(text.indexOf('id="notices"'));
	assert.match(
		row,
		/badge-bad">Callbacks are failing<.*since <time[^>]*>2026-03-01 12:00:00 UTC.*44 attempts in a row.*42 callbacks permanently; no more retries/s,
	);
	assert.match(row, /Last permanent failure <time[^>]*>2026-03-01 12:01:30 UTC<.*HTTP 401/s);
	assert.match(text, /HTTP 401.*Check a signature/s);
	assert.ok(text.includes(`href="${path}/deliveries/${await publicIdOf(site, lost)}"`));
	assert.ok(text.includes(`href="${path}/integration?state=failed#deliveries"`));
	assert.match(text, /Overview<span class="badge badge-bad">1</);
	assert.match(text, /No mail is sent: this installation has no mail server/);
});

test("a trouble that has ended is one row, with its times and its last failure", async (t) => {
	const { site, programme, open } = await openNotices(t, { hasMail: true });
	await addNotice(site, programme, {
		ended_at_ms: START_MS + 60_000,
		ended_by: "success",
		last_failed_at_ms: START_MS + 30_000,
		last_result: "timeout",
		last_verdict: "retry",
		last_http_status: null,
	});
	await addNotice(site, programme, { kind: "callbacks_working_again", failures: 0 });
	const { text } = await open();
	assert.equal(text.split("Callbacks recovered<").length, 2, "the recovery has no row of its own");
	assert.match(
		text,
		/badge-good">Callbacks recovered<.*failing from <time.*12:00:00 UTC.*to <time.*12:01:00 UTC.*failure <time[^>]*>2026-03-01 12:00:30 UTC.*did not answer within 5 seconds/s,
	);
	assert.doesNotMatch(text, /badge-bad/);
});

test("a notice that is not serious yet is shown only in the programme's health", async (t) => {
	const { site, programme, open, browser, path } = await openNotices(t);
	await addNotice(site, programme, { told_at_ms: null, failures: 0, failed_attempts: 2 });
	assert.doesNotMatch((await open()).text, /Callbacks are failing|badge-bad/);
	const { text } = await browser.open(`${path}/integration`);
	assert.doesNotMatch(text, /Callbacks are failing/);
	assert.match(text, /step-faltering.*Callback answered 2xx<span class="visually-hidden">: faltering/s);
	assert.match(text, /Retrying.*2 attempts failed since/s);
});

test("failing callbacks are shown on every page of the programme with cause, times, backlog and cure", async (t) => {
	const { site, programme, browser, path } = await openNotices(t);
	const [waiting = 0] = await addDeliveries(site.store, programme, START_MS + 60_000);
	await addNotice(site, programme, {
		failures: 0,
		failed_attempts: 5,
		last_failed_at_ms: START_MS + 1_000,
		last_delivery_id: waiting,
		last_result: "network-error",
		last_verdict: "retry",
		last_http_status: null,
		last_detail: "ECONNREFUSED (connect)",
	});
	const delivery = await publicIdOf(site, waiting);
	const pages = [
		"overview",
		"conversions",
		"integration",
		"integration/inbound",
		"integration/signature",
		"people",
		"settings",
		`deliveries/${delivery}`,
	];
	for (const page of pages) {
		const { text } = await browser.open(`${path}/${page}`);
		const banner = /<section class="message message-bad".*?<\/section>/s.exec(text)?.[0] ?? "";
		assert.match(banner, /Callbacks are failing<\/strong> since <time[^>]*>2026-03-01 12:00:00 UTC/, page);
		assert.match(banner, /Last failed attempt <time[^>]*>2026-03-01 12:00:01 UTC/, page);
		assert.match(banner, /Connection refused\./, page);
		assert.match(banner, /Start the server|Check that/, page);
		assert.ok(banner.includes(`href="${path}/deliveries/${delivery}"`), page);
	}
	const { text } = await browser.open(`${path}/integration`);
	assert.match(text, /step-failing.*Callback answered 2xx<span class="visually-hidden">: failing/s);
	assert.match(text, /badge-bad">Failing</);
	await site.store.db.updateTable("receivers").set({ endpoint_id: null }).execute();
	assert.doesNotMatch(
		(await browser.open(`${path}/overview`)).text,
		/message-bad/,
		"nothing is sent without a URL",
	);
});

test("a viewer reads about the problem, but not about buttons and mails that viewers do not get", async (t) => {
	const { site, programme, path } = await openNotices(t, { hasMail: true });
	const [lost = 0] = await addDeliveries(site.store, programme, START_MS);
	await failForGood(site, lost);
	await addNotice(site, programme, { last_delivery_id: lost, last_http_status: 401, failures: 1 });
	const viewer = await site.signIn(await site.addPerson(programme, "viewer"));
	for (const page of ["/overview", "/integration", `/deliveries/${await publicIdOf(site, lost)}`]) {
		const { status, text } = await viewer.open(`${path}${page}`);
		assert.equal(status, 200, page);
		assert.doesNotMatch(text, /Check a signature|You are mailed|Paste what|Resend it/, page);
	}
	const { text } = await viewer.open(`${path}/overview`);
	assert.match(text, /did not accept the signature/);
	assert.match(text, /owners and developers are mailed at once/);
});

test("permanently failed callbacks stay on the badge and the overview until they are resent or set aside", async (t) => {
	const { site, programme, browser, path } = await openNotices(t);
	await addConversion(site.store, programme.id);
	const look = async (page = "overview") => (await browser.open(`${path}/${page}`)).text;
	const badge = /badge-bad">(\d+)<span class="visually-hidden"> failed/;
	assert.doesNotMatch(await look(), /failed permanently/);
	const [, , later = 0, ...lost] = await addDeliveries(site.store, programme, ...Array(5).fill(START_MS));
	const [one = 0, two = 0] = lost;
	for (const id of [one, two]) await failForGood(site, id);
	// A later callback succeeded and ended the notice, so the banner is gone.
	await addNotice(site, programme, { ended_at_ms: START_MS, ended_by: "success", failures: 2 });
	const text = await look();
	assert.match(text, /2 callbacks<\/a> failed permanently<\/strong> and were not resent\./);
	assert.match(
		text,
		new RegExp(`action="${path}/integration/resend-failed\\?state=pending".*Resend all 2`, "s"),
	);
	assert.equal(badge.exec(await look("conversions"))?.[1], "2");
	const viewer = await site.signIn(await site.addPerson(programme, "viewer"));
	const seen = (await viewer.open(`${path}/overview`)).text;
	assert.match(seen, /integration\?state=failed#deliveries">2 callbacks<\/a> failed permanently/);
	assert.doesNotMatch(seen, /resend-failed|set-aside/);
	// A callback that fails after the page was opened is not set aside together with the others.
	const until = /name="until" value="(\d+)"/.exec(text)?.[1] ?? "";
	await failForGood(site, later, START_MS + 1);
	await browser.submit(`${path}/overview/set-aside`, { until });
	assert.match(await look(), /2 callbacks are set aside, and still in the list of failed callbacks/);
	assert.match(await look(), /1 callback<\/a> failed permanently<\/strong> and was not resent\./);
	assert.equal(
		(await look("integration?state=failed")).split("set aside</span>").length,
		3,
		"still in the list",
	);
	site.moveClock(1_000);
	await browser.submit(`${path}/integration/resend-failed?state=pending`, {});
	assert.doesNotMatch(await look(), /failed permanently<|visually-hidden"> failed/);
	const runs = await site.store.db.selectFrom("deliveries").select("run").where("run", ">", 1).execute();
	assert.equal(runs.length, 1, "what was set aside is not resent with the rest");
});

test("a failed test is shown beside the test and in the list, and raises no alarm", async (t) => {
	const { site, programme, browser, path } = await openNotices(t);
	await browser.submit(`${path}/integration/test`, {});
	const excerpt = excerptAnswer(
		{},
		Buffer.from("The timestamp is 600 s behind this clock\nat line 1"),
		false,
	);
	await runCallbacks(site, programme, { kind: "answered", status: 401 }, excerpt);
	const integration = (await browser.open(`${path}/integration?state=failed`)).text;
	assert.match(
		integration,
		/id="test-live".*HTTP 401.*Your server said: “The timestamp is 600 s behind this clock”.*id="deliveries-live".*badge-bad">Failed</s,
	);
	const text = (await browser.open(`${path}/overview`)).text;
	for (const page of [text, integration]) {
		assert.doesNotMatch(
			page,
			/Callbacks are failing|failed permanently|visually-hidden"> (failed|open)|ntc_/,
		);
		assert.match(page, /nothing was sent \(tests do not count\)/);
	}
	assert.deepEqual(await site.store.db.selectFrom("notices").selectAll().execute(), []);
});

test("a notice shows when it was mailed and to whom, as the mail recorded it", async (t) => {
	const { site, programme, owner, open, browser } = await openNotices(t, { hasMail: true });
	const [lost = 0] = await addDeliveries(site.store, programme, START_MS, START_MS);
	await failForGood(site, lost);
	await addNotice(site, programme, { mail_due_at_ms: START_MS, last_delivery_id: lost });
	assert.match((await open()).text, /will be sent after <time[^>]*>2026-03-01 12:00:00 UTC/);
	await site.tellChanges();
	const { text } = await open();
	assert.match(text, /2026-03-01 12:00:00 UTC<\/time> to /);
	assert.ok(text.includes(`to <span class="break">${owner.email}</span>`));
	const links = [...((site.mailbox[0]?.text ?? "").split("\n--\n")[0]?.matchAll(/^https?:.*$/gm) ?? [])].map(
		([link]) => link,
	);
	assert.ok(links.some((link) => link.includes("/deliveries/")) && links.length === 4, links.join(" "));
	for (const link of links) {
		const path = link.slice(site.deps.publicUrl.length);
		assert.equal((await browser.open(path)).status, 200, link);
	}
});

test("staff who want it are mailed about failing shops at most once a day, and System shows it", async (t) => {
	const { site, programme } = await openNotices(t, { hasMail: true });
	const [wants, wantsNot] = [await site.addStaff(), await site.addStaff()];
	const staff = await site.signIn(wantsNot);
	const tell = async (afterMs: number) => {
		site.moveClock(afterMs);
		await site.tellChanges();
		return site.mailbox.splice(0).filter(({ subject }) => subject.startsWith("Callbacks to"));
	};
	assert.match((await staff.open("/account")).text, /name="shops_failing"[^>]* checked/);
	await staff.submit("/account/settings", { name: "Quiet", zone: "", locale: "" });
	assert.doesNotMatch((await staff.open("/account")).text, /name="shops_failing"[^>]* checked/);
	assert.deepEqual(await tell(0), [], "nothing fails");
	assert.match((await staff.open("/system")).text, /No problems found/);
	await addNotice(site, programme, { last_http_status: 503, failures: 1 });
	const system = (await staff.open("/system")).text;
	assert.match(
		system,
		/id="warnings".*Callbacks to 1 shop are failing\..*id="queue".*Programmes failing<\/dt><dd>1</s,
	);
	assert.doesNotMatch(system, /No problems found/);
	const [mail, ...more] = await tell(1_000);
	assert.deepEqual([mail?.to, mail?.subject, more], [wants.email, "Callbacks to 1 shop are failing", []]);
	assert.match(mail?.text ?? "", /"Shop" \(prg_\w+\), failing since 2026-03-01 12:00 UTC: HTTP 503\./);
	assert.deepEqual(await tell(23 * 3_600_000), [], "once a day");
	assert.equal((await tell(3_600_000)).length, 1, "still failing");
	await site.store.db.updateTable("notices").set({ ended_at_ms: START_MS, ended_by: "success" }).execute();
	assert.deepEqual(await tell(25 * 3_600_000), [], "only while some are failing");
});

test("a long history is shown in pages", async (t) => {
	const { site, programme, path, open, browser } = await openNotices(t);
	for (let n = 1; n <= 21; n++)
		await addNotice(site, programme, { public_id: `ntc_${n}`, ended_at_ms: START_MS });
	const first = await open();
	assert.doesNotMatch(first.text, /id="ntc_1"/);
	const next = /href="([^"]+)" rel="next"/.exec(first.text)?.[1] ?? "";
	assert.match((await browser.open(next)).text, /id="ntc_1"/);
	assert.doesNotMatch((await browser.open(next)).text, /id="ntc_2"/);
	assert.equal((await browser.open(`${path}/overview?cursor=x'%20or`)).status, 200);
});

test("another programme's notices and deliveries are not shown", async (t) => {
	const { site, open } = await openNotices(t);
	const other = await site.addProgramme("Other");
	await addNotice(site, other, { public_id: "ntc_other" });
	assert.doesNotMatch((await open()).text, /ntc_other|Callbacks are failing/);
});

async function openNotices(
	t: Parameters<typeof openTestSite>[0],
	{ hasNoUrl = false, ...options }: SiteOptions & { hasNoUrl?: boolean } = {},
) {
	const site = await openTestSite(t, options);
	const programme = await site.addProgramme();
	if (!hasNoUrl) {
		await setUrl(site.store.db, programme.id, "https://shop.example/postback", START_MS);
		await insertSecret(site.store.db, newSecret(programme.receiver_id));
	}
	const owner = await site.addOwner(programme);
	const browser = await site.signIn(owner);
	const path = `/programmes/${programme.public_id}`;
	return { site, programme, owner, browser, path, open: () => browser.open(`${path}/overview`) };
}

async function addNotice(
	{ store }: TestSite,
	{ receiver_id: receiverId }: Programme,
	change: Parameters<typeof newNotice>[1] = {},
): Promise<void> {
	const times = { opened_at_ms: START_MS, told_at_ms: START_MS };
	await store.db
		.insertInto("notices")
		.values(newNotice(receiverId, { ...times, ...change }))
		.execute();
}

async function failForGood({ store }: TestSite, deliveryId: number, atMs = START_MS): Promise<void> {
	await failDeliveries(store.db, atMs, [deliveryId]);
}

async function publicIdOf({ store }: TestSite, deliveryId: number): Promise<string> {
	const query = store.db.selectFrom("deliveries").select("public_id").where("id", "=", deliveryId);
	return (await query.executeTakeFirstOrThrow()).public_id;
}
