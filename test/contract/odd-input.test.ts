// Sends a NUL character in every place that accepts text, on both databases. PostgreSQL can neither store nor
// compare a NUL character, so an unchecked one would cause an internal error. The tests visit all mounted
// routes.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { type Browser, createTestSite, newEmail, type TestSite } from "#core/web/test-site.test-support.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import { createApp } from "../../src/app.ts";
import { mainlyOn } from "../support/databases.ts";
import { assertNoErrors, openService } from "../support/open-service.ts";
import { expectValue } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";

const NUL = "\u0000";

/** Parameters that the pages read from their address. */
const QUERY_NAMES = [
	...[
		"search",
		"before",
		"token",
		"next",
		"order",
		"orderId",
		"status",
		"cursor",
		"after",
		"language",
		"since",
	],
	...["state", "event", "from", "to", "zone", "programme", "outcome", "kind", "type", "test", "audit"],
];
/** Fields that the pages read from their forms. */
const FIELD_NAMES = [
	...[
		"name",
		"email",
		"password",
		"token",
		"next",
		"code",
		"reason",
		"conversion",
		"decision",
		"move",
		"since",
	],
	...["currentPassword", "newPassword", "sessionId", "postbackUrl", "headers", "body", "secret", "target"],
	...[
		"commissionRate",
		"feeRate",
		"commissionFixed",
		"feeFixed",
		"fixed",
		"eventRates",
		"approvalDays",
		"parkedDays",
		"currency",
		"method",
		"page",
		"shown",
	],
];

test("a form whose body breaks off or is not chunked correctly gets a 400, and no error is logged", async (t) => {
	const opened = await openService();
	t.after(() => opened.close());
	const { port } = new URL(opened.service.url);
	for (const path of ["/sign-in", "/sign-in/code", "/forgot-password", "/welcome/abc", "/sign-out"]) {
		for (const [how, body] of [
			["Transfer-Encoding: chunked", "5\r\nemail\r\nzz\r\n"],
			["Transfer-Encoding: chunked", "5\r\nemail\r\n"],
			["Content-Length: 50", "email="],
		] as const) {
			const socket = connect(Number(port), "127.0.0.1");
			const type = "Content-Type: application/x-www-form-urlencoded";
			socket.end(`POST ${path} HTTP/1.1\r\nHost: a\r\n${type}\r\n${how}\r\n\r\n${body}`);
			let answer = "";
			socket.on("data", (part) => {
				answer += String(part);
			});
			await once(socket, "close");
			match(answer, /^HTTP\/1\.1 400 /, `${path} ${how} ${body}`);
		}
	}
	equal((await fetch(`${opened.service.url}/healthz`)).status, 200);
	assertNoErrors(opened.log);
});

mainlyOn("PostgreSQL", "NUL characters", (database) => {
	test("a NUL character in an address leads to a 404 page, for every kind of visitor", async () => {
		const site = createTestSite(database.store, { hasMail: true });
		const programme = await site.addProgramme();
		const owner = await site.signIn(await site.addOwner(programme));
		const staff = await site.signIn(await site.addStaff());
		const stranger = site.browser();
		for (const route of routesOf(site, "GET")) {
			const odd = route.replace(/:\w+/g, "a%00b");
			const below = route.replace(":programmeId", programme.public_id).replace(/:\w+/g, "%00");
			const asked = `${below}?${QUERY_NAMES.map((name) => `${name}=%00`).join("&")}`;
			for (const path of [odd, below, asked].filter((text) => text.includes("%00"))) {
				for (const browser of [stranger, owner, staff]) {
					equal((await browser.open(path)).status, 404, path);
				}
			}
		}
		deepEqual(faultsLogged(site), []);
		const text = await staff.open("/programmes?search=%2500");
		equal(text.status, 200, "a percent sign and two zeros are text");
		match(text.text, /value="%00"/);
	});

	test("a NUL character in a form changes nothing, and is reported", async () => {
		const site = createTestSite(database.store, { hasMail: true });
		const programme = await site.addProgramme();
		const staff = await site.signIn(await site.addStaff());
		const stranger = site.browser();
		const { partner } = expectValue(
			await invitePartner(site.deps, COMMAND_LINE, { name: "Blog", site: "", email: newEmail("shop") }),
		);
		await staff.open("/programmes/new");
		await stranger.open("/sign-in");
		const before = await countEverything(site);
		const ofPartner = (route: string) => route.replace(":partnerId", partner.public_id);
		for (const route of routesOf(site, "POST").map(ofPartner)) {
			const path = route.replace(":programmeId", programme.public_id).replace(/:\w+/g, "x");
			for (const browser of [staff, stranger]) {
				const isOpen = browser === staff || /^\/(sign|welcome|forgot|reset|join)/.test(path);
				for (const answer of await sendOddForms(browser, path)) {
					equal(answer.status, isOpen ? 422 : 303, `${path}: ${answer.text}`);
					if (isOpen) match(answer.text, /cannot be stored/);
				}
			}
		}
		deepEqual(faultsLogged(site), []);
		deepEqual(await countEverything(site), before);
	});

	test("a NUL character in a file makes its row invalid, and the other rows are read", async () => {
		const site = createTestSite(database.store);
		const programme = await site.addProgramme();
		const staff = await site.signIn(await site.addStaff());
		const path = `/programmes/${programme.public_id}/conversions/bulk`;
		await staff.open(path);
		const upload = new FormData();
		const rows = [
			"orderId,decision,reason",
			`a${NUL}b,reject,OTHER`,
			`A-1,${NUL},`,
			`A-2,reject,${NUL}`,
			"A-3,approve,",
		];
		upload.set("file", new File([rows.join("\n")], "decisions.csv", { type: "text/csv" }));
		const { location } = await staff.submitForm(path, upload);
		await workOffJobs(site.deps, () => false);
		const job = await staff.open(location ?? "");
		equal(job.status, 200);
		match(job.text, /control characters.*Line 4.*Line 5/s);
		deepEqual(faultsLogged(site), []);
	});

	test("a NUL character in an API or pixel call is refused at its field, and the inbound log shows it", async () => {
		const site = createTestSite(database.store);
		const app = createApp(site.deps);
		const { programme, credentials } = await makeShop(site.deps);
		const good = { orderId: "A-1", basketValue: "1.00", currency: "EUR", eventType: "SALE", reason: "OTHER" };
		const calls: [method: string, target: string, body?: object][] = [
			["GET", "/v1/conversions/%00"],
			["GET", "/v1/conversions?orderId=%00"],
			["GET", "/v1/conversions?cursor=%00"],
			["GET", "/v1/conversions?%00=1"],
			["GET", "/v1/%00"],
			["GET", "/v1/events?after=%00"],
		];
		for (const path of ["/v1/conversions", "/v1/approvals", "/v1/rejections", "/v1/reversals"]) {
			for (const name of [...Object.keys(good), "occurredAt", "test", NUL]) {
				calls.push(["POST", path, { ...good, [name]: `a${NUL}b` }]);
			}
		}
		for (const [method, target, body] of calls) {
			const options = { nowMs: site.deps.clock.nowMs(), ...(body === undefined ? {} : { body }) };
			const answer = await app.request(signedRequest(method, target, credentials, options));
			ok(answer.status >= 400 && answer.status < 500, `${target} ${JSON.stringify(body)}: ${answer.status}`);
		}
		const fields = ["orderId", "eventType", "basketValue", "currency", "%00"];
		const pixels = fields.map(
			(name) => `/pixel/${programme.public_id}.gif?orderId=A-1&basketValue=1&${name}=%00`,
		);
		for (const target of [...pixels, "/pixel/%00.gif", "/pixel/%00"]) {
			equal((await app.request(target)).status, 200, target);
		}
		deepEqual(faultsLogged(site), []);
		const logged = await site.store.db.selectFrom("inbound_calls").select("outcome").execute();
		ok(logged.length >= calls.length, `${logged.length} of ${calls.length}`);
	});
});

/**
 * Submits each form as a browser would, in both encodings. The name of an uploaded file also contains a NUL
 * character.
 */
async function sendOddForms(browser: Browser, path: string): Promise<{ status: number; text: string }[]> {
	const typed = Object.fromEntries(FIELD_NAMES.map((name) => [name, `a${NUL}b`]));
	const twice = new URLSearchParams([
		["conversion", NUL],
		["conversion", "x"],
	]);
	const upload = new FormData();
	upload.set("file", new File(["orderId,decision\n"], `a${NUL}b.csv`, { type: "text/csv" }));
	return [
		await browser.submit(path, typed),
		await browser.submitForm(path, twice),
		await browser.submitForm(path, upload),
	];
}

function routesOf({ deps }: TestSite, method: string): string[] {
	const routes = createApp(deps).routes.filter((route) => route.method === method);
	const pages = routes
		.map(({ path }) => path)
		.filter((path) => !/[*]|^\/(assets|problems)|\.json$|z$/.test(path));
	ok(pages.length > 20, "the routes are found");
	return [...new Set(pages)];
}

function faultsLogged({ log }: TestSite): object[] {
	return log.lines.filter(({ level }) => level === "error");
}

async function countEverything({ store }: TestSite): Promise<Record<string, number>> {
	const counts: Record<string, number> = {};
	for (const { name } of await store.db.introspection.getTables()) {
		if (name === "limit_counts") continue;
		const table = name as "people";
		counts[name] = (await store.db.selectFrom(table).selectAll().execute()).length;
	}
	return counts;
}
