// Tests the warnings about the installation. Only staff see them, and nobody else can cause them.

import { doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { setUrl } from "../../../test/support/change-rows.ts";
import type { ChoreRecord } from "../domain/chore.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { openAsStaff, openTestSite, START_MS } from "./test-site.test-support.ts";

const HEADING = /warnings? about this installation/;
const UNSET = { warned: { publicUrl: null } };
const HERE = { host: "ringback.example" };

test("staff who use plain HTTP at a public host name see a warning on their pages, with advice", async (t) => {
	const { browser } = await openAsStaff(t, UNSET);
	const home = await browser.open("/programmes", HERE);
	match(home.text, /2 warnings about this installation/);
	const system = await browser.open("/system", HERE);
	match(system.text, /plain HTTP at ringback\.example\.<\/strong>.*https:\/\/ address/s);
	match(system.text, /PUBLIC_URL is not set/);
	for (const path of ["/conversions", "/people"]) match((await browser.open(path, HERE)).text, HEADING);
	doesNotMatch((await browser.open("/account", HERE)).text, HEADING);
});

test("staff see since when callbacks are held, who held them, how many wait and how to release them", async (t) => {
	const pause = { sinceMs: START_MS, heldBy: "staff@network.example", waiting: 12, due: 3 };
	const { browser } = await openAsStaff(t, { read: { pause } });
	match((await browser.open("/programmes", HERE)).text, /1 warning about this installation/);
	const { text } = await browser.open("/system", HERE);
	match(
		text,
		/All callbacks have been held since 2026-03-01 12:00 UTC by staff@network\.example, and 12 wait\./,
	);
	match(text, /Release them on System or with <code>ringback release<\/code>\./);
});

test("people of a shop with a Postback URL see that callbacks are paused, but not by whom or how many wait", async (t) => {
	const pause = { sinceMs: START_MS, heldBy: "staff@network.example", waiting: 12, due: 3 };
	const site = await openTestSite(t, { read: { pause } });
	const programme = await site.addProgramme();
	const path = `/programmes/${programme.public_id}`;
	const viewer = await site.signIn(await site.addPerson(programme, "viewer"));
	doesNotMatch((await viewer.open(`${path}/overview`, HERE)).text, /paused/);
	await setUrl(site.store.db, programme.id, "https://shop.example/postback", START_MS);
	for (const page of ["overview", "integration", "conversions"]) {
		const { text } = await viewer.open(`${path}/${page}`, HERE);
		match(
			text,
			/Callbacks are paused<\/strong> by the network since <time[^>]*>2026-03-01 12:00:00 UTC/,
			page,
		);
		doesNotMatch(text, /staff@network|\b12\b wait/, page);
	}
});

const FAILING: ChoreRecord = {
	name: "approvals",
	since_ms: 0,
	last_success_ms: START_MS - 5 * MINUTE_MS,
	working_at_ms: START_MS,
	last_failure_ms: START_MS,
	failures: 12,
	error: "canceling statement due to <statement timeout>.",
};

test("owners never see warnings about the installation, whatever headers they send", async (t) => {
	const warned = { publicUrl: null, hasMail: false };
	const site = await openTestSite(t, { warned, read: { chores: [FAILING] } });
	const programme = await site.addProgramme();
	const other = await site.addProgramme("Other");
	const owner = await site.addOwner(programme);
	await site.store.db
		.insertInto("programme_people")
		.values({ programme_id: other.id, person_id: owner.id, role: "owner" })
		.execute();
	const browser = await site.signIn(owner);
	for (const path of ["/programmes", `/programmes/${programme.public_id}/overview`]) {
		const { status, text } = await browser.open(path, { ...HERE, "x-forwarded-for": "203.0.113.9" });
		equal(status, 200);
		doesNotMatch(text, HEADING);
	}
});

test("strangers and owners cannot cause warnings on staff's pages or in the log", async (t) => {
	const { site, browser: staff } = await openAsStaff(t, UNSET);
	const owner = await site.signIn(await site.addOwner(await site.addProgramme()));
	const evil = { host: "evil.example", "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" };
	for (let n = 0; n < 50; n++) {
		await site.browser().open("/sign-in", { host: `stranger-${n}.example` });
		await site.browser().open("/programmes", evil);
		await owner.open("/programmes", evil);
		await owner.open("/programmes", { host: '"><script>alert(1)</script>.example' });
	}
	for (const path of ["/programmes", "/system"]) {
		const { text } = await staff.open(path, { host: "localhost:8080" });
		doesNotMatch(text, /evil\.example|stranger-|203\.0\.113\.9|198\.18|<script>alert/);
		doesNotMatch(text, HEADING);
	}
	equal(site.log.lines.filter(({ level }) => level === "warn").length, 0, site.log.text());
});
