// Compares the real answers to every call with a token, and every refusal, with /openapi.json.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { sampleBody } from "#core/api/openapi/operation.ts";
import { pathNames } from "#core/api/route.ts";
import { API_FAULT_CODES, codesOf, isTokenFault } from "#core/domain/fault.ts";
import { DAY_MS } from "#core/domain/time.ts";
import type { Store } from "#core/store/store.ts";
import { START_MS } from "#core/web/test-site.test-support.ts";
import { insertCodes } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnerLinks } from "#modules/partners/store/partner-links.ts";
import { MAX_CODES } from "#modules/partners/use-cases/partnerships.ts";
import {
	addCredited,
	addCreditingProgramme,
	addPartner,
	join,
} from "#modules/partners/web/partner-shop.test-support.ts";
import { TOKEN_RATE } from "#modules/token-api/api/token-call.ts";
import { REFUSAL_DELAY_MS } from "../../src/concurrency/admission.ts";
import { TOKEN_CALLS } from "../../src/site-modules.ts";
import { createClock, type TestClock } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { setUpNetwork, tellStory } from "./network-story.ts";
import {
	type Call,
	type CallInput,
	createCall,
	issueOnPage,
	openTokenSite,
	openTokenSiteOver,
	type TokenAnswer,
	type TokenSite,
	textOf,
} from "./token-site.ts";

test("a network is set up and read over the API, and every call is answered as described", async (t) => {
	const opened = await openTokenSite(t);
	await tellStory(opened);
	const expected = TOKEN_CALLS.flatMap(({ operationId, answers, isResource, method, faults }) => [
		...Object.keys(answers).map((status) => `${operationId} ${status}`),
		...(isResource && method === "GET" ? [`${operationId} 304`] : []),
		...(faults.includes("precondition") ? [`${operationId} 412 precondition_failed`] : []),
	]);
	deepEqual(
		expected.filter((answer) => !opened.seen.has(answer)),
		[],
	);
});

interface Refusal extends CallInput {
	method?: string;
	target: string;
	/** Name of the field at fault, as the caller sent it. It is not compared if it is left out. */
	field?: string;
	/** Pattern of the sentence. It is not compared if it is left out. */
	detail?: RegExp;
}

/** Calls that are refused, by their code. `{name}` is filled in with an id of the network. */
const REFUSALS: Readonly<Record<string, readonly Refusal[]>> = {
	missing_token: [{ target: "/v1/network/programmes", token: null }],
	unknown_token: [
		{ target: "/v1/network/programmes", token: "rbk_shop" },
		{ target: "/v1/network/programmes", token: `rbn_${"0".repeat(64)}` },
	],
	malformed_json: [
		{ method: "POST", target: "/v1/network/programmes", body: "{", detail: /^[^.]*\. Send a JSON object\.$/ },
	],
	unsupported_media_type: [
		{ method: "POST", target: "/v1/network/programmes", body: {}, headers: { "content-type": "text/plain" } },
	],
	body_too_large: [
		{
			method: "POST",
			target: "/v1/network/programmes",
			body: "x".repeat(70_000),
			detail: /Shorten its texts\.$/,
		},
	],
	unknown_field: [
		{ target: "/v1/network/programmes?page=2" },
		{ target: "/v1/network/programmes/{programId}?page=2", field: "page" },
		{ method: "PATCH", target: "/v1/network/programmes/{programId}", body: { currency: "USD" } },
	],
	invalid_field: [
		{ target: "/v1/network/programmes?limit=201" },
		{ target: "/v1/network/programmes?limit=0" },
		{ target: "/v1/network/changes?limit=1000" },
		{ target: "/v1/network/conversions?status=LOST", detail: /status must be one of .*APPROVED/ },
		{ target: "/v1/network/conversions?decidedFrom=2026-01-01" },
		{
			target: "/v1/network/conversions?occurredFrom=2026-01-01",
			detail: /^occurredFrom needs programId or partnerId,/,
		},
		{ target: "/v1/network/conversions?recordedFrom=yesterday", detail: /must be a time such as/ },
		{
			target: "/v1/network/conversions?recordedFrom=2026-02-30",
			detail: /^recordedFrom has the day 2026-02-30, which does not exist\.$/,
		},
		{ target: "/v1/network/statements?month=2026-13" },
		{ target: "/v1/network/totals?days=8" },
		{
			method: "POST",
			target: "/v1/network/partners",
			body: { name: "A", email: "a@b.example", reference: "" },
			detail: /reference must have 1 to 100 visible ASCII characters/,
		},
		{ method: "PATCH", target: "/v1/network/programmes/{programId}/partners", body: { clickDays: 400 } },
		{ method: "PATCH", target: "/v1/network/programmes/{programId}", body: { commission: { percent: 8 } } },
		{
			method: "PATCH",
			target: "/v1/network/programmes/{programId}",
			body: { approvalDays: 1.5 },
			detail: /^approvalDays must be a whole number\.$/,
		},
		{
			method: "PATCH",
			target: "/v1/network/programmes/{programId}",
			body: { approvalDays: 1e300 },
			detail: /^approvalDays must be at most \d+\.$/,
		},
		{
			method: "PATCH",
			target: "/v1/network/programmes/{programId}/partners",
			body: { hosts: ["a.example b.example"] },
			field: "hosts.0",
		},
		// PostgreSQL cannot store this character.
		{ target: "/v1/network/programmes/prg_%00", field: "programmeId" },
		{ target: "/v1/network/conversions?partnerId=%00", field: "partnerId" },
		{
			method: "PATCH",
			target: "/v1/network/programmes/{programId}/partners",
			body: { hosts: ["shop.example"], terms: "a\u0000b" },
			field: "terms",
		},
		{
			method: "PATCH",
			target: "/v1/network/programmes/{programId}/partners",
			body: { hosts: ["shop.example", "a\u0000.example"] },
			field: "hosts.1",
		},
		...["A,B", "A\nB", " ", "x".repeat(65)].map((code) => ({
			method: "POST",
			target: "/v1/network/partnerships/{partnershipId}/codes",
			body: { code },
			field: "code",
		})),
		{ method: "DELETE", target: "/v1/network/partnerships/{partnershipId}/codes/A%2CB", field: "code" },
	],
	amount_too_precise: [
		{
			method: "PATCH",
			target: "/v1/network/partnerships/{partnershipId}",
			body: { commission: { fixed: "1.123" } },
			field: "commission.fixed",
		},
	],
	malformed_cursor: [
		{ target: "/v1/network/programmes?cursor=mine" },
		{ target: "/v1/network/programmes?cursor={changes}" },
		{ target: "/v1/network/changes?after=mine" },
	],
	unknown_currency: [
		{
			method: "POST",
			target: "/v1/network/programmes",
			body: { name: "A", currency: "XXX", commission: {}, networkFee: {} },
		},
	],
	unknown_programme: [
		{ target: "/v1/network/programmes/prg_x" },
		{ target: "/v1/network/conversions?programId=prg_x" },
		{ method: "POST", target: "/v1/network/programmes/prg_x/keys", body: {} },
	],
	unknown_partner: [
		{ target: "/v1/network/partners/ptn_x" },
		{ target: "/v1/network/partnerships/pts_x" },
		{ method: "POST", target: "/v1/network/partnerships/pts_x/links", body: { target: "https://a.example" } },
	],
	unknown_key: [{ method: "DELETE", target: "/v1/network/programmes/{programId}/keys/key_x" }],
	unknown_statement: [{ target: "/v1/network/statements/stm_x" }],
	unknown_conversion: [
		{ target: "/v1/network/conversions/cnv_x", detail: /GET \/v1\/network\/conversions\?orderId=/ },
	],
	reference_used: [
		{
			method: "POST",
			target: "/v1/network/partners",
			body: { reference: "partner-1", name: "Other", email: "partner-1@blog.example" },
		},
		{ method: "POST", target: "/v1/network/programmes/{programId}/keys", body: { reference: "key-1" } },
	],
	precondition_failed: [
		{
			method: "PATCH",
			target: "/v1/network/programmes/{programId}",
			body: { name: "Other" },
			headers: { "if-match": '"old"' },
		},
	],
	invalid_name: [{ method: "PATCH", target: "/v1/network/programmes/{programId}", body: { name: " " } }],
	invalid_rate: [
		...["8,5", "-1", "1.23456", "eight"].map((percent) => ({
			method: "PATCH",
			target: "/v1/network/programmes/{programId}",
			body: { commission: { percent } },
			field: "commission.percent",
			detail:
				/^commission\.percent must be a percentage from 0 to 100 with at most four decimals, such as 7\.5\.$/,
		})),
		{
			method: "PATCH",
			target: "/v1/network/programmes/{programId}",
			body: { commission: { percent: "101" } },
			field: "commission.percent",
		},
		{
			method: "PATCH",
			target: "/v1/network/partnerships/{partnershipId}",
			body: { commission: { percent: "101" } },
			field: "commission.percent",
		},
	],
	invalid_days: [{ method: "PATCH", target: "/v1/network/programmes/{programId}", body: { parkedDays: 0 } }],
	invalid_email: [{ method: "POST", target: "/v1/network/partners", body: { name: "A", email: "nobody" } }],
	unknown_role: [],
	not_allowed: [
		{ method: "POST", target: "/v1/network/programmes/{programId}/keys", body: { right: "decide" } },
	],
	email_taken: [{ method: "POST", target: "/v1/network/partners", body: { name: "A", email: "{staff}" } }],
	already_partner: [
		{
			method: "POST",
			target: "/v1/network/partnerships",
			body: { programId: "{programId}", partnerId: "{partnerId}" },
		},
	],
	code_taken: [
		{
			method: "POST",
			target: "/v1/network/partnerships/{partnershipId}/links",
			body: { target: "https://shop-0.example/", code: "{code}" },
			field: "code",
		},
		{
			method: "POST",
			target: "/v1/network/partnerships/{partnershipId}/codes",
			body: { code: "CODE1" },
			field: "code",
		},
	],
	foreign_target: [
		{
			method: "POST",
			target: "/v1/network/partnerships/{partnershipId}/links",
			body: { target: "https://evil.example/" },
		},
	],
	wrong_status: [
		{
			method: "POST",
			target: "/v1/network/partnerships",
			body: { programId: "{archivedId}", partnerId: "{partnerId}" },
		},
	],
};

/** Codes that other tests of the API cause, because they need a history. */
const ELSEWHERE: readonly string[] = [
	...["revoked_token", "expired_token", "wrong_token", "too_many_calls"],
	"payments_not_compared",
	// The schema of the request already refuses an unknown role.
	"unknown_role",
	...["too_many_keys", "too_many_links", "too_many_attempts", "partnership_ended"],
];

test("a refused call has a stable code that the document names, and changes nothing", async (t) => {
	const opened = await openTokenSite(t);
	const { site, call, staff } = opened;
	const { programIds, partnerIds } = await setUpNetwork(call, 1, 2);
	const [programId = "", partnerId = ""] = [programIds[0], partnerIds[0]];
	const partnerships = (await call("GET", "/v1/network/partnerships")).json;
	const partnershipId = textOf(partnerships, "items", 0, "id");
	const links = await call("GET", `/v1/network/partnerships/${partnershipId}/links`);
	const archived = await call("POST", "/v1/network/programmes", {
		body: { name: "Archived", currency: "EUR", commission: {}, networkFee: {} },
	});
	const archivedId = textOf(archived.json, "programme", "id");
	equal((await call("POST", `/v1/network/programmes/${archivedId}/archive`)).status, 200);
	const values: Readonly<Record<string, string>> = {
		...{ programId, partnerId, partnershipId, archivedId, staff: staff.email },
		code: textOf(links.json, "items", 0, "code"),
		changes: textOf((await call("GET", "/v1/network/changes")).json, "next"),
	};
	const fill = (text: string) => text.replace(/\{(\w+)\}/g, (gap, name: string) => values[name] ?? gap);
	const before = await storedBy(opened);
	for (const [code, refusals] of Object.entries(REFUSALS)) {
		for (const { method = "GET", target, body, field, detail, ...input } of refusals) {
			const filled =
				body === undefined ? {} : { body: fill(typeof body === "string" ? body : JSON.stringify(body)) };
			const { json } = await call(method, fill(target), { ...input, ...filled });
			equal(json["code"], code, `${method} ${target} ${JSON.stringify(json)}`);
			ok(String(json["detail"]).length > 20, target);
			if (detail !== undefined) match(String(json["detail"]), detail);
			if (field !== undefined) equal(json["field"], field, `${target} ${JSON.stringify(json)}`);
		}
	}
	deepEqual(await storedBy(opened), before);
	const covered = [...Object.keys(REFUSALS), ...ELSEWHERE];
	deepEqual(
		API_FAULT_CODES.filter(isTokenFault).filter((code) => !covered.includes(code)),
		[],
	);
	ok(codesOf("token").every((code) => covered.includes(code)));
	// A refusal is not an error of the service.
	deepEqual(
		site.log.lines.filter(({ level }) => level === "error"),
		[],
	);
});

test("a text with a NUL character is refused in every path, query and body, before the database is asked", async (t) => {
	const { site, call, browser, tokens } = await openTokenSite(t);
	const { partner } = await addPartner(site, "Partner");
	const ownToken = await issueOnPage(browser, `/partner/${partner.public_id}/api`, { name: "Tracker" });
	const checked: string[] = [];
	for (const route of TOKEN_CALLS) {
		const { method, path, right, query, body } = route;
		const sample = sampleBody(route);
		const token = right === "partner" ? ownToken : tokens.manage;
		const target = path.replace(/\{\w+\}/g, "x");
		const refuse = async (field: string, at: string, changed = sample) => {
			const sent = changed === undefined ? {} : { body: changed };
			const { json } = await call(method, at, { token, ...sent });
			deepEqual([json["code"], json["field"]], ["invalid_field", field], `${method} ${at} ${field}`);
			checked.push(field);
		};
		for (const name of pathNames({ path })) {
			const at = path.replace(`{${name}}`, "a%00b").replace(/\{\w+\}/g, "x");
			await refuse(name, at);
		}
		for (const name of Object.keys(query?.shape ?? {})) await refuse(name, `${target}?${name}=a%00b`);
		for (const [name, field] of Object.entries(body?.shape ?? {})) {
			if (z.core.safeParse(field, "a\u0000b").success)
				await refuse(name, target, { ...sample, [name]: "a\u0000b" });
			if (z.core.safeParse(field, ["a\u0000b"]).success) {
				await refuse(`${name}.0`, target, { ...sample, [name]: ["a\u0000b"] });
			}
		}
	}
	for (const field of ["terms", "hosts.0", "programId", "partnerId", "search", "code", "conversionId"]) {
		ok(checked.includes(field), field);
	}
	deepEqual(
		site.log.lines.filter(({ level }) => level === "error"),
		[],
	);
});

/** Returns all stored rows, except those of logs, limits and the last use of tokens. */
async function storedBy({ site }: TokenSite): Promise<string[]> {
	const lines = (await site.storedText()).split("\n");
	return lines.filter((line) => !/^(?:inbound_calls|limit_counts|api_tokens):/.test(line));
}

/**
 * Makes as many calls as a token may make at once. They are refused for an unknown field or for the right that the token
 * lacks, so they need no database.
 */
async function useUpRate(
	site: TokenSite["site"],
	token: string,
	path: string,
	expected: 403 | 422 = 422,
): Promise<void> {
	const program = site.browser();
	const headers = { authorization: `Bearer ${token}` };
	for (let count = 0; count < TOKEN_RATE.burst; count++) {
		equal((await program.send(`${path}?page=2`, { headers })).status, expected);
	}
}

/** Waits until a refusal is delayed, lets the delay pass and returns the answer. */
async function awaitDelayed(clock: TestClock, answer: Promise<TokenAnswer>): Promise<TokenAnswer> {
	await until(() => clock.timersDueIn(REFUSAL_DELAY_MS) > 0);
	await clock.moveBy(REFUSAL_DELAY_MS);
	return answer;
}

test("a token above its rate is refused a second late with Retry-After, and other tokens are not", async (t) => {
	const clock = createClock(START_MS);
	const { call, site, tokens } = await openTokenSite(t, { clock });
	await useUpRate(site, tokens.manage, "/v1/network/programmes");
	const refused = await awaitDelayed(clock, call("GET", "/v1/network/programmes"));
	deepEqual([refused.json["code"], refused.headers.get("retry-after")], ["too_many_calls", "1"]);
	equal((await createCall(site, tokens.read)("GET", "/v1/network/programmes")).status, 200);
	// After the second that Retry-After names, the token has its rate again.
	equal((await call("GET", "/v1/network/programmes")).status, 200);
});

test("calls that a token has no right to make count for its rate", async (t) => {
	const clock = createClock(START_MS);
	const { call, site, tokens } = await openTokenSite(t, { clock });
	await useUpRate(site, tokens.read, "/v1/partner/programmes", 403);
	const input = { token: tokens.read };
	const refused = await awaitDelayed(clock, call("GET", "/v1/partner/programmes", input));
	equal(refused.json["code"], "too_many_calls");
});

test("all tokens of a partner have one rate together, and other partners have their own", async (t) => {
	const clock = createClock(START_MS);
	const { call, site, browser } = await openTokenSite(t, { clock });
	const { partnerIds } = await setUpNetwork(call, 1, 2);
	const [first, second, foreign] = await Promise.all(
		[partnerIds[0], partnerIds[0], partnerIds[1]].map((partnerId) =>
			issueOnPage(browser, `/partner/${partnerId}/api`, { name: "Tracker" }),
		),
	);
	await useUpRate(site, first ?? "", "/v1/partner/programmes");
	const refused = await awaitDelayed(clock, createCall(site, second ?? "")("GET", "/v1/partner/programmes"));
	equal(refused.json["code"], "too_many_calls");
	match(String(refused.json["detail"]), /all tokens of this partner/);
	equal((await createCall(site, foreign ?? "")("GET", "/v1/partner/programmes")).status, 200);
});

test("a host that an owner entered is shown apart, and no call confirms it", async (t) => {
	const { site, call } = await openTokenSite(t);
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	const path = `/v1/network/programmes/${programme.public_id}`;
	const enter = async (hosts: string) => {
		const settings = { clickDays: "30", clickParameter: "rbclick", terms: "", hosts };
		const saved = await owner.submit(`/programmes/${programme.public_id}/partners/settings`, settings);
		equal(saved.status, 303, saved.text);
	};
	const hostsOf = ({ json }: { json: Readonly<Record<string, unknown>> }) => {
		const { hosts, waitingHosts } = Object(json["partners"]);
		return { hosts, waitingHosts };
	};
	const change = async (hosts: readonly string[]) =>
		hostsOf(await call("PATCH", `${path}/partners`, { body: { hosts } }));
	deepEqual(await change(["shop.example"]), { hosts: ["shop.example"], waitingHosts: [] });
	await enter("shop.example\nevil.example");
	const shown = hostsOf(await call("GET", path));
	deepEqual(shown, { hosts: ["shop.example"], waitingHosts: ["evil.example"] });
	const listed = await call("GET", "/v1/network/programmes");
	deepEqual(hostsOf({ json: Object(listed.json["items"])[0] }), shown);
	for (const hosts of [["shop.example"], ["evil.example", "shop.example"]]) {
		deepEqual(await change(hosts), shown);
	}
	deepEqual(await change(["new.example"]), { hosts: ["new.example"], waitingHosts: ["evil.example"] });
	// The owner removes the host, and a portal sends the list that it read before.
	await enter("new.example");
	deepEqual(await change(shown.hosts), { hosts: ["shop.example"], waitingHosts: [] });
});

test("calls meet the limits of keys, links, codes and mails, as the pages do", async (t) => {
	const { site, call } = await openTokenSite(t);
	const { programIds } = await setUpNetwork(call, 1, 1);
	const path = `/v1/network/programmes/${programIds[0]}`;
	// The programme has one key already.
	for (let issued = 1; issued < 50; issued++) {
		equal((await call("POST", `${path}/keys`, { body: {} })).status, 201);
	}
	equal((await call("POST", `${path}/keys`, { body: {} })).json["code"], "too_many_keys");

	const { db } = site.store;
	const partnership = await db.selectFrom("partnerships").selectAll().executeTakeFirstOrThrow();
	const row = {
		partnership_id: partnership.id,
		name: "",
		target: "https://shop-0.example/",
		created_at_ms: 0,
	};
	// The partnership has one link already.
	await insertPartnerLinks(
		db,
		Array.from({ length: 499 }, (_, index) => ({ ...row, code: `link-${index}` })),
	);
	const links = `/v1/network/partnerships/${partnership.public_id}/links`;
	equal((await call("POST", links, { body: { target: row.target } })).json["code"], "too_many_links");

	// The partnership has one coupon code already.
	const numbers = Array.from({ length: MAX_CODES - 1 }, (_, index) => `FULL${index}`);
	const owner = { partnership_id: partnership.id, programme_id: partnership.programme_id };
	await insertCodes(
		db,
		numbers.map((code) => ({ ...owner, code, folded: code, created_at_ms: 0 })),
	);
	const codes = `/v1/network/partnerships/${partnership.public_id}/codes`;
	const full = await call("POST", codes, { body: { code: "MORE" } });
	deepEqual([full.json["code"], full.json["field"]], ["invalid_field", "code"]);
	match(String(full.json["detail"]), /at most 200 codes/);
	equal((await call("POST", codes, { body: { code: "FULL1" } })).status, 200, "the partner has it already");

	const body = { email: "often@shop.example", role: "viewer" };
	for (let sent = 0; sent < 5; sent++) equal((await call("POST", `${path}/people`, { body })).status, 201);
	const refused = await call("POST", `${path}/people`, { body });
	deepEqual([refused.json["code"], refused.headers.get("retry-after")], ["too_many_attempts", "60"]);
});

test("a cursor of one partner does not work for another, and its statements do not exist for others", async (t) => {
	const opened = await openTokenSite(t);
	await tellStory(opened);
	const { site, browser, call } = opened;
	const { items } = (await call("GET", "/v1/network/statements")).json;
	const statementId = textOf(items, 0, "id");
	const sellerId = textOf(items, 0, "partnerId");
	const seller = await issueOnPage(browser, `/partner/${sellerId}/api`, { name: "Seller" });
	const listed = await call("GET", "/v1/network/partners");
	const others = listed.json["items"];
	ok(Array.isArray(others));
	const otherId = textOf(
		others.find(({ id }) => id !== sellerId),
		"id",
	);
	const other = createCall(site, await issueOnPage(browser, `/partner/${otherId}/api`, { name: "Other" }));
	const own = createCall(site, seller);
	equal((await own("GET", `/v1/partner/statements/${statementId}`)).status, 200);
	const foreign = await other("GET", `/v1/partner/statements/${statementId}`);
	const missing = await other("GET", `/v1/partner/statements/${statementId.replace(/.$/, "X")}`);
	deepEqual([foreign.status, foreign.json["code"]], [404, "unknown_statement"]);
	equal(missing.json["code"], "unknown_statement");
	const link = { target: "https://shop-0.example/" };
	const { programId } = Object(((await own("GET", "/v1/partner/programmes")).json["items"] as object[])[0]);
	for (const code of ["one", "two"]) {
		equal((await own("POST", "/v1/partner/links", { body: { ...link, programId, code } })).status, 201);
	}
	const cursor = textOf((await own("GET", "/v1/partner/links?limit=1")).json, "next");
	equal((await own("GET", `/v1/partner/links?limit=1&cursor=${cursor}`)).status, 200);
	equal((await other("GET", `/v1/partner/links?limit=1&cursor=${cursor}`)).json["code"], "malformed_cursor");
	const taken = await other("POST", "/v1/partner/links", { body: { ...link, programId } });
	equal(taken.json["code"], "unknown_programme");
});

eachDatabase("calls with a token at the same moment", (database) => {
	test("calls with one reference create one programme, and all get the same answer", async () => {
		const one = await openTokenSiteOver(database.store);
		const { call } = one;
		const rival = createCall((await openTokenSiteOver(database.rival)).site, one.tokens.manage);
		const terms = { currency: "EUR", commission: { percent: "8" }, networkFee: {} };
		const body = { reference: "at-once", name: "At once", ownerEmail: "at-once@shop.example", ...terms };
		const answers = await Promise.all(
			[call, rival, call, rival].map((send) => send("POST", "/v1/network/programmes", { body })),
		);
		const ids = new Set(answers.map(({ json }) => textOf(json, "programme", "id")));
		equal(ids.size, 1);
		deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 201]);
		const { items } = (await call("GET", "/v1/network/programmes?search=At%20once")).json;
		equal((items as unknown[]).length, 1);
	});

	test("of two changes that follow the same version, one is refused", async () => {
		const one = await openTokenSiteOver(database.store);
		const rival = createCall((await openTokenSiteOver(database.rival)).site, one.tokens.manage);
		const body = { name: "Partner", email: `${database.kind.toLowerCase()}@blog.example` };
		const created = await one.call("POST", "/v1/network/partners", { body });
		const path = `/v1/network/partners/${textOf(created.json, "partner", "id")}`;
		const etag = (await one.call("GET", path)).headers.get("etag") ?? "";
		const headers = { "if-match": etag };
		const answers = await Promise.all([
			one.call("PATCH", path, { body: { name: "First" }, headers }),
			rival("PATCH", path, { body: { site: "https://second.example/" }, headers }),
		]);
		deepEqual(answers.map(({ status }) => status).sort(), [200, 412]);
	});

	/** Makes calls with the same token over a store that first runs `interrupt` when a call begins its transaction. */
	async function interruptCalls({ tokens }: TokenSite, interrupt: () => Promise<unknown>): Promise<Call> {
		let isArmed = false;
		const store: Store = {
			...database.rival,
			async transact(work, options) {
				if (isArmed) {
					isArmed = false;
					await interrupt();
				}
				return database.rival.transact(work, options);
			},
		};
		const { site } = await openTokenSiteOver(store);
		isArmed = true;
		return createCall(site, tokens.manage);
	}

	test("a retry that overlaps the first creation of a link gets its answer, and other values are refused", async () => {
		const one = await openTokenSiteOver(database.store);
		await setUpNetwork(one.call, 1, 1);
		const partnerships = (await one.call("GET", "/v1/network/partnerships")).json;
		const path = `/v1/network/partnerships/${textOf(partnerships, "items", 0, "id")}/links`;
		const statuses: unknown[] = [];
		for (const retriedName of ["Summer", "Winter"]) {
			const code = `overlap-${retriedName.toLowerCase()}`;
			const body = { reference: code, target: "https://shop-0.example/", code };
			const createFirst = async () => {
				const created = await one.call("POST", path, { body: { ...body, name: "Summer" } });
				statuses.push(created.status);
			};
			const retry = await interruptCalls(one, createFirst);
			const retried = await retry("POST", path, { body: { ...body, name: retriedName } });
			statuses.push(retried.status === 200 ? retried.json["code"] : `refused: ${retried.json["code"]}`);
		}
		deepEqual(statuses, [201, "overlap-summer", 201, "refused: reference_used"]);
		const spelled = {
			reference: "overlap-summer",
			name: " Summer",
			target: "Shop-0.example",
			code: "Overlap-SUMMER",
		};
		equal((await one.call("POST", path, { body: spelled })).status, 200, "the same link, spelled otherwise");
		const partner = { reference: "partner-1", name: "Partner 1 ", email: "Partner-1@Blog.example" };
		equal((await one.call("POST", "/v1/network/partners", { body: partner })).status, 200);
	});

	test("a change without If-Match replaces a change that another caller made at the same moment, and no other field", async () => {
		const one = await openTokenSiteOver(database.store);
		const create = async (path: string, body: object, ...names: string[]) =>
			textOf((await one.call("POST", path, { body })).json, ...names, "id");
		const terms = { name: "Shop", currency: "EUR", commission: {}, networkFee: {} };
		const programId = await create("/v1/network/programmes", terms, "programme");
		const person = { name: "Partner", email: `${database.kind.toLowerCase()}-overtaken@blog.example` };
		const partnerId = await create("/v1/network/partners", person, "partner");
		const partnershipId = await create("/v1/network/partnerships", { programId, partnerId });
		const partnership = `/v1/network/partnerships/${partnershipId}`;
		const settings = `/v1/network/programmes/${programId}/partners`;
		const lead = { eventType: "LEAD", commission: { percent: "0", fixed: "3.00" } };
		const changeBoth = () =>
			one.call("PATCH", partnership, { body: { commission: { percent: "12" }, eventRates: [lead] } });
		const changeOne = await interruptCalls(one, changeBoth);
		const changed = await changeOne("PATCH", partnership, { body: { commission: { percent: "15" } } });
		deepEqual(
			[changed.status, changed.json["commission"], changed.json["eventRates"]],
			[200, { percent: "15", fixed: "0.00" }, [lead]],
		);
		const changeDays = () => one.call("PATCH", settings, { body: { clickDays: 7, terms: "No email." } });
		const changeDaysToo = await interruptCalls(one, changeDays);
		const { json, status } = await changeDaysToo("PATCH", settings, { body: { clickDays: 14 } });
		const partners = Object(json["partners"]);
		deepEqual([status, partners.clickDays, partners.terms], [200, 14, "No email."]);
	});

	test("two changes of a partner's name and site without If-Match do not undo each other", async () => {
		const one = await openTokenSiteOver(database.store);
		const body = { name: "Partner", email: `${database.kind.toLowerCase()}-both@blog.example` };
		const created = await one.call("POST", "/v1/network/partners", { body });
		const path = `/v1/network/partners/${textOf(created.json, "partner", "id")}`;
		const site = "https://second.example/";
		const changeSite = async () => equal((await one.call("PATCH", path, { body: { site } })).status, 200);
		const rename = await interruptCalls(one, changeSite);
		const renamed = await rename("PATCH", path, { body: { name: "First" } });
		deepEqual([renamed.json["name"], renamed.json["site"]], ["First", site]);
	});
});

test("totals without a first day have thirty days of the network's zone, also across a change of the clocks", async (t) => {
	const { site } = await openTokenSite(t);
	await site.setZone("Europe/Berlin");
	const { partner } = await addPartner(site, "Partner");
	const partnership = await join(site, await addCreditingProgramme(site, "Shop"), partner);
	for (const [at, commission] of [
		["2026-03-11T22:59:59Z", "1.00"],
		["2026-03-11T23:00:00Z", "2.00"],
		["2026-04-10T21:59:59Z", "4.00"],
		["2026-04-10T22:00:00Z", "8.00"],
	] as const) {
		const atMs = Date.parse(at);
		const times = { occurred_at_ms: atMs, created_at_ms: atMs };
		await addCredited({ site }, partnership, { ...times, commission });
	}
	site.moveClock(Date.parse("2026-04-12T12:00:00Z") - site.deps.clock.nowMs());
	const browser = await site.signIn(await site.addStaff());
	const call = createCall(
		site,
		await issueOnPage(browser, `/partner/${partner.public_id}/api`, { name: "Reports" }),
	);
	const { json } = await call("GET", "/v1/partner/totals?to=2026-04-10");
	const items = json["items"] as { day: string; commission: string }[];
	deepEqual(items.map(({ day, commission }) => [day, commission]).sort(), [
		["2026-03-12", "2.00"],
		["2026-04-10", "4.00"],
	]);
});

test("a token ends with the access of its issuer, with its time, and when it is revoked", async (t) => {
	const { site, browser, call, seen } = await openTokenSite(t);
	const code = async (token: string) =>
		(await createCall(site, token, seen)("GET", "/v1/network/programmes")).json["code"];
	const short = await issueOnPage(browser, "/network/tokens", { name: "Short", right: "read", days: "30" });
	equal(await code(short), undefined);
	site.moveClock(30 * DAY_MS);
	equal(await code(short), "expired_token");
	const colleague = await site.addStaff();
	const theirs = await site.signIn(colleague);
	const token = await issueOnPage(theirs, "/network/tokens", { name: "Leaver", right: "manage" });
	equal(await code(token), undefined);
	const boss = await site.signIn(await site.addStaff());
	const page = await boss.open(`/people/${colleague.public_id}/deactivate`);
	ok(page.text.includes("Leaver"), page.text);
	equal((await boss.submit(`/people/${colleague.public_id}/deactivate`, {})).status, 303);
	equal(await code(token), "revoked_token");
	equal((await call("GET", "/v1/network/programmes")).status, 200);
});
