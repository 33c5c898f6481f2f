// Who may open and do what on the integration pages, and that nothing a stranger writes becomes markup there.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { issueKey } from "../../accounts/keys.ts";
import { savePostbackUrl } from "../../accounts/postback-url.ts";
import { recordConversion } from "../../conversions/record.ts";
import { insertInboundCalls } from "../../store/inbound.ts";
import { type Programme, setEndpoint } from "../../store/programmes.ts";
import { MAX_STREAMS_A_PERSON } from "../live.ts";
import { openTestSite, type TestSite } from "../test-site.test-support.ts";
import { runCallbacks } from "./callback-run.test-support.ts";

const UNKNOWN = "prg_00000000000000000000000000";
const FIELDS = {
	postbackUrl: "https://thief.example/",
	move: "approve",
	reason: "RETURN",
	since: "2020-01-01T00:00",
	method: "POST",
	target: "/",
	headers: "",
	body: "",
	secret: "",
};

test("another shop's owner gets the same bytes as for a programme that does not exist, and changes nothing", async (t) => {
	const { site, programme, pages, actions } = await openFilledShop(t, "Victim");
	const outsider = await site.signIn(await site.addOwner(await site.addProgramme("Outsider")));
	await outsider.open("/account");
	const before = await site.storedText();
	for (const page of pages) {
		const theirs = await outsider.open(`/programmes/${programme.public_id}/${page}`);
		const nobodys = await outsider.open(`/programmes/${UNKNOWN}/${page}`);
		assert.deepEqual([theirs.status, theirs.text], [404, nobodys.text], page);
		assert.deepEqual([...theirs.headers], [...nobodys.headers], page);
	}
	for (const action of actions) {
		const theirs = await outsider.submit(`/programmes/${programme.public_id}/${action}`, FIELDS);
		const nobodys = await outsider.submit(`/programmes/${UNKNOWN}/${action}`, FIELDS);
		assert.deepEqual([theirs.status, theirs.text], [404, nobodys.text], action);
	}
	assert.equal(await site.storedText(), before);
});

test("under the owner's own programme, another shop's key, test and delivery are as unknown as none", async (t) => {
	const { site, ids } = await openFilledShop(t, "Victim");
	const own = await site.addProgramme("Own");
	const browser = await site.signIn(await site.addOwner(own));
	const path = `/programmes/${own.public_id}`;
	await browser.open(`${path}/integration`);
	const rows = () =>
		Promise.all([
			site.store.db.selectFrom("api_keys").selectAll().execute(),
			site.store.db.selectFrom("conversions").selectAll().execute(),
			site.store.db.selectFrom("deliveries").selectAll().execute(),
		]);
	const before = JSON.stringify(await rows());
	const unknown = await browser.open(`${path}/deliveries/dlv_00000000000000000000000000`);
	const theirs = await browser.open(`${path}/deliveries/${ids.delivery}`);
	assert.deepEqual([theirs.status, theirs.text], [404, unknown.text]);
	// A stream that opened all the same would be turned away here, instead of being read for ever.
	site.stop();
	for (const delivery of ["dlv_00000000000000000000000000", ids.delivery]) {
		const live = await browser.open(`${path}/deliveries/${delivery}/live`);
		assert.deepEqual([live.status, live.text], [404, unknown.text]);
	}
	assert.equal((await browser.submit(`${path}/deliveries/${ids.delivery}/resend`, {})).status, 404);
	await browser.submit(`${path}/integration/keys/${ids.key}/revoke`, {});
	await browser.submit(`${path}/integration/test/${ids.conversion}`, { move: "approve" });
	const filled = await browser.open(`${path}/integration/signature?delivery=${ids.delivery}&attempt=1`);
	assert.ok(!filled.text.includes("X-Service-Signature:"));
	assert.equal(JSON.stringify(await rows()), before);
});

test("nobody is sent to sign in, and nothing is done", async (t) => {
	const { site, programme, pages, actions } = await openFilledShop(t, "Victim");
	const before = await site.storedText();
	const browser = site.browser();
	await browser.open("/sign-in");
	for (const page of pages.filter((page) => !page.endsWith("live"))) {
		const path = `/programmes/${programme.public_id}/${page}`;
		const { status, location, text } = await browser.open(path);
		assert.deepEqual([status, location], [303, `/sign-in?next=${encodeURIComponent(path)}`]);
		assert.ok(!text.includes("Victim"));
	}
	// A page that comes back after its session has ended would take the sign-in page for a stream, again and again.
	for (const page of pages.filter((page) => page.endsWith("live"))) {
		const { status, text, headers } = await browser.open(`/programmes/${programme.public_id}/${page}`);
		assert.deepEqual([status, text], [200, "event: ended\ndata:\n\n"]);
		assert.match(headers.get("content-type") ?? "", /^text\/event-stream/);
	}
	for (const action of actions) {
		const { status, location } = await browser.submit(`/programmes/${programme.public_id}/${action}`, FIELDS);
		assert.deepEqual([status, location], [303, "/sign-in"], action);
	}
	assert.equal(await site.storedText(), before);
});

test("staff open every page and may do everything there", async (t) => {
	const { site, programme, pages, actions } = await openFilledShop(t, "Shop");
	const browser = await site.signIn(await site.addStaff());
	for (const page of pages.filter((page) => !page.endsWith("live"))) {
		assert.equal((await browser.open(`/programmes/${programme.public_id}/${page}`)).status, 200, page);
	}
	for (const action of actions) {
		const { status } = await browser.submit(`/programmes/${programme.public_id}/${action}`, FIELDS);
		assert.ok(status === 303 || status === 200, `${action} ${status}`);
	}
});

test("a form without its token, with another session's or from another site changes nothing", async (t) => {
	const { site, programme, owner, actions } = await openFilledShop(t, "Shop");
	const browser = await site.signIn(owner);
	const other = await site.signIn(await site.addStaff());
	await browser.open("/account");
	await other.open("/account");
	const before = await site.storedText();
	for (const action of actions) {
		for (const options of [
			{ csrf: null },
			{ csrf: other.csrf },
			{ headers: { "sec-fetch-site": "cross-site" } },
		]) {
			const answer = await browser.submit(`/programmes/${programme.public_id}/${action}`, FIELDS, options);
			assert.equal(answer.status, 403, `${action} ${JSON.stringify(options)}`);
		}
	}
	assert.equal(await site.storedText(), before);
});

test("markup in names, orders, URLs, errors and calls is shown as text; no page has inline script or style", async (t) => {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
	const { site, programme, owner, pages } = await openFilledShop(t, evil, evil);
	const browser = await site.signIn(owner);
	const shown = [
		...pages.filter((page) => !page.endsWith("live")),
		`integration?order=${encodeURIComponent(evil)}`,
		`integration/inbound?order=${encodeURIComponent(evil)}`,
		`integration/inbound?order=${encodeURIComponent(`${evil}?`)}`,
		`integration?lang=${encodeURIComponent(evil)}&state=${encodeURIComponent(evil)}`,
	];
	let times = 0;
	for (const page of shown) {
		const { status, text, headers } = await browser.open(`/programmes/${programme.public_id}/${page}`);
		assert.equal(status, page.includes("&state=") ? 422 : 200, page);
		assert.doesNotMatch(text, /<script(?![^>]* src=)|<img|<style|\sstyle=/i, page);
		assert.match(headers.get("content-security-policy") ?? "", /script-src 'self'/, page);
		assert.ok(!text.includes(evil.slice(0, 12)), page);
		times += text.split("&lt;script&gt;").length - 1;
	}
	assert.ok(times > 10, "it is there, as text");
	const refused = await browser.submit(`/programmes/${programme.public_id}/integration/postback-url`, {
		postbackUrl: evil,
	});
	assert.doesNotMatch(refused.text, /<script(?![^>]* src=)|<img/);
	const fields = { ...FIELDS, method: evil, target: evil, headers: evil, body: evil };
	const checked = await browser.submit(`/programmes/${programme.public_id}/integration/signature`, fields);
	assert.doesNotMatch(checked.text, /<script(?![^>]* src=)|<img/);
});

test("a live page is pushed its parts over a stream, to those who may see it", async (t) => {
	const timers: (() => void)[] = [];
	const { site, programme, owner, ids } = await openFilledShop(t, "Shop", "order", (run) => timers.push(run));
	const browser = await site.signIn(owner);
	const stopping = browser.open(`/programmes/${programme.public_id}/integration/live?seen=old`);
	// The first look, and then the service stops.
	while (timers.length === 0) await site.deps.clock.yieldLoop();
	timers.shift()?.();
	while (timers.length === 0) await site.deps.clock.yieldLoop();
	site.stop();
	const { status, text, headers } = await stopping;
	assert.deepEqual([status, headers.get("content-type")], [200, "text/event-stream; charset=utf-8"]);
	for (const part of [
		"checks-live",
		"waiting-live",
		"test-live",
		"deliveries-live",
		"health-live",
		"health-chart-live",
	]) {
		assert.ok(text.includes(`<hx-partial hx-target="#${part}"`), part);
	}
	assert.ok(text.includes(ids.delivery));
	assert.ok(
		text.split("\n").every((line) => /^(data:|id: |event: |: |$)/.test(line)),
		"nothing but event lines",
	);
});

test("asking for a stream's headers alone opens none, so that it takes nobody's place", async (t) => {
	const timers: (() => void)[] = [];
	const { site, programme, owner, ids } = await openFilledShop(t, "Shop", "order", (run) => timers.push(run));
	const browser = await site.signIn(owner);
	const lives = ["integration/live", `deliveries/${ids.delivery}/live`];
	for (let asked = 0; asked < MAX_STREAMS_A_PERSON; asked += 1) {
		for (const live of lives) {
			const { status } = await browser.send(`/programmes/${programme.public_id}/${live}`, { method: "HEAD" });
			assert.equal(status, 405);
		}
	}
	assert.equal(timers.length, 0);
	const watching = browser.open(`/programmes/${programme.public_id}/integration/live`);
	while (timers.length === 0) await site.deps.clock.yieldLoop();
	site.stop();
	assert.equal((await watching).status, 200);
});

interface Filled {
	site: TestSite & { stop(): void };
	programme: Programme;
	owner: Awaited<ReturnType<TestSite["addOwner"]>>;
	ids: { key: string; conversion: string; delivery: string };
	pages: string[];
	actions: string[];
}

/** A key, a URL, a test conversion with a failed callback, and a refused call. */
async function openFilledShop(
	t: TestContext,
	name: string,
	order = "order",
	after: (run: () => void) => void = () => undefined,
): Promise<Filled> {
	const stopping = new AbortController();
	const opened = await openTestSite(t, { change: { stopSignal: stopping.signal } });
	const { deps, store } = opened;
	const site = { ...opened, stop: () => stopping.abort() };
	deps.clock.yieldLoop = () => new Promise((resolve) => setImmediate(resolve));
	deps.clock.after = (_, run) => {
		after(run);
		return () => undefined;
	};
	const programme = await site.addProgramme(name);
	const owner = await site.addOwner(programme);
	const issued = await issueKey(deps, programme.public_id);
	assert.ok(issued.ok);
	await savePostbackUrl(deps, programme.public_id, "https://shop.example/postback");
	// As no form would take it, should an older version have stored one.
	await setEndpoint(store.db, programme.id, "https://shop.example/%3Cscript%3E", 0);
	const recorded = await store.transact((trx) =>
		recordConversion(trx, deps, programme, {
			source: "test",
			orderId: order,
			eventType: "SALE",
			basketValue: "1.00",
			occurredAtMs: null,
			isTest: true,
		}),
	);
	assert.ok(recorded.ok);
	await runCallbacks(site, programme, {
		kind: "network-error",
		stage: "exchange",
		code: order.replaceAll(" ", ""),
	});
	await insertInboundCalls(store.db, [
		{
			programme_id: programme.id,
			kind: "pixel",
			method: order,
			target: `/${order}`,
			outcome: "invalid_field",
			http_status: 200,
			detail: `${order} is wrong`,
			order_id: `${order}?`,
			at_ms: deps.clock.nowMs(),
		},
	]);
	const { public_id: delivery } = await store.db
		.selectFrom("deliveries")
		.select("public_id")
		.executeTakeFirstOrThrow();
	const ids = { key: issued.value.keyId, conversion: recorded.value.conversion.public_id, delivery };
	const pages = ["integration", "integration/inbound", "integration/signature", `deliveries/${delivery}`];
	return {
		site,
		programme,
		owner,
		ids,
		pages: [...pages, "integration/live", `deliveries/${delivery}/live`],
		actions: [
			"integration/keys",
			`integration/keys/${ids.key}/revoke`,
			"integration/secret",
			"integration/secret/activate",
			"integration/secret/discard",
			"integration/secret/end",
			"integration/postback-url",
			"integration/test",
			`integration/test/${ids.conversion}`,
			"integration/resend-failed",
			"integration/signature",
			`deliveries/${delivery}/resend`,
			"integration/postback-url/remove",
		],
	};
}
