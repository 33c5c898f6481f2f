// Sets up a network over the API, and reads it back. Together the steps make every call at least once.

import { deepEqual, equal, ok } from "node:assert/strict";
import { recordConversion } from "#core/conversions/record.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import { findUncompared, recordRestore } from "#core/store/queries/restores.ts";
import type { TestSite } from "#core/web/test-site.test-support.ts";
import { confirmCompared } from "#modules/accounts/use-cases/compared-payments.ts";
import { earn, issueMonth } from "#modules/accounts/web/issued-statements.test-support.ts";
import { addPartner, join } from "#modules/partners/web/partner-shop.test-support.ts";
import { type Call, countOf, createCall, issueOnPage, type TokenSite, textOf } from "./token-site.ts";

const NETWORK = "/v1/network";

export interface SetUp {
	programIds: readonly string[];
	partnerIds: readonly string[];
}

/** Creates shops with owner and key, and partners that bring sales to all of them. Each has a link and a code. */
export async function setUpNetwork(call: Call, shops: number, partners: number): Promise<SetUp> {
	const programIds: string[] = [];
	for (let shop = 1; shop <= shops; shop++) programIds.push(await createShop(call, shop));
	const partnerIds: string[] = [];
	for (let partner = 1; partner <= partners; partner++) {
		const created = await create(call, `${NETWORK}/partners`, {
			reference: `partner-${partner}`,
			name: `Partner ${partner}`,
			email: `partner-${partner}@blog.example`,
		});
		const partnerId = textOf(created, "partner", "id");
		partnerIds.push(partnerId);
		const programId = programIds[partner % shops] ?? "";
		const partnership = { reference: `partnership-${partner}`, programId, partnerId };
		const id = textOf(await create(call, `${NETWORK}/partnerships`, partnership), "id");
		const path = `${NETWORK}/partnerships/${id}`;
		const target = `https://shop-${partner % shops}.example/`;
		await create(call, `${path}/links`, { reference: `link-${partner}`, target });
		equal((await call("POST", `${path}/codes`, { body: { code: `CODE${partner}` } })).status, 200);
	}
	return { programIds, partnerIds };
}

async function createShop(call: Call, shop: number): Promise<string> {
	const created = await create(call, `${NETWORK}/programmes`, {
		reference: `shop-${shop}`,
		name: `Shop ${shop}`,
		currency: "EUR",
		commission: { percent: "8" },
		networkFee: { percent: "2", fixed: "0.10" },
		ownerEmail: `owner-${shop}@shop.example`,
	});
	const programId = textOf(created, "programme", "id");
	const path = `${NETWORK}/programmes/${programId}`;
	const issued = await create(call, `${path}/keys`, { reference: `key-${shop}`, name: "Shop server" });
	ok(/^rbk_/.test(textOf(issued, "key")) && /^rbs_/.test(textOf(issued, "secret")));
	// The hosts are counted from 0, as `setUpNetwork` chooses the shop of a partner.
	const settings = { creditsPartners: true, hosts: [`shop-${shop - 1}.example`] };
	equal((await call("PATCH", `${path}/partners`, { body: settings })).status, 200);
	return programId;
}

/** Creates something twice. The second call must answer with what the first one created. */
async function create(call: Call, path: string, body: object): Promise<unknown> {
	const first = await call("POST", path, { body });
	equal(first.status, 201, JSON.stringify(first.json));
	const second = await call("POST", path, { body });
	equal(second.status, 200, JSON.stringify(second.json));
	for (const name of ["id", "code"]) equal(second.json[name], first.json[name]);
	return first.json;
}

/** Makes every call of the API once, in a network with two shops and three partners. */
export async function tellStory({ site, browser, tokens, call, seen }: TokenSite): Promise<void> {
	const { programIds, partnerIds } = await setUpNetwork(call, 2, 3);
	const [programId = ""] = programIds;
	const [partnerId = ""] = partnerIds;
	await changeProgrammes(call, programId);
	await changePartners(call, programId, partnerId);
	// Reading needs no more than the token that reads.
	const reader = createCall(site, tokens.read, seen);
	const partner = await sell({ site }, programId);
	await restoreAndCompare(reader, site);
	await readNetwork(reader, programId, partner.partnerId);
	const token = await issueOnPage(browser, `/partner/${partner.partnerId}/api`, { name: "Tracker" });
	await readAsPartner(createCall(site, token, seen), programId);
}

async function changeProgrammes(call: Call, programId: string): Promise<void> {
	const path = `${NETWORK}/programmes/${programId}`;
	const shown = await call("GET", path);
	const etag = shown.headers.get("etag") ?? "";
	equal((await call("GET", path, { headers: { "if-none-match": `W/${etag}` } })).status, 304);
	const body = {
		commission: { percent: "9.5", fixed: "1.00" },
		eventRates: [{ eventType: "LEAD", commission: { fixed: "5.00" }, networkFee: {} }],
		approvalDays: 14,
	};
	const changed = await call("PATCH", path, { body, headers: { "if-match": etag } });
	deepEqual(changed.json["commission"], body.commission);
	deepEqual(changed.json["eventRates"], [
		{
			eventType: "LEAD",
			commission: { percent: "0", fixed: "5.00" },
			networkFee: { percent: "0", fixed: "0.00" },
		},
	]);
	equal(changed.json["approvalDays"], 14);
	const again = await call("PATCH", path, { body: { name: "Other" }, headers: { "if-match": etag } });
	equal(again.json["code"], "precondition_failed");
	equal((await call("GET", path)).headers.get("etag"), changed.headers.get("etag"));
	const late = await call("PATCH", `${path}/partners`, {
		body: { clickDays: 7 },
		headers: { "if-match": etag },
	});
	equal(late.status, 412);
	const people = { reference: "second-owner", email: "second@shop.example", role: "owner" };
	await create(call, `${path}/people`, people);
	const keys = (await call("GET", `${path}/keys`)).json;
	const keyId = textOf(keys, "items", 0, "id");
	equal((await call("DELETE", `${path}/keys/${keyId}`)).status, 200);
	equal((await call("DELETE", `${path}/keys/${keyId}`)).json["code"], "unknown_key");
	const stale = { headers: { "if-match": etag } };
	equal((await call("POST", `${path}/archive`, stale)).status, 412);
	ok(textOf((await call("POST", `${path}/archive`)).json, "archivedAt"));
	equal((await call("POST", `${path}/resume`, stale)).status, 412);
	equal((await call("POST", `${path}/resume`)).json["archivedAt"], null);
	equal(countOf(await call("GET", `${NETWORK}/programmes?archived=true`)), 0);
}

async function changePartners(call: Call, programId: string, partnerId: string): Promise<void> {
	const path = `${NETWORK}/partners/${partnerId}`;
	const etag = (await call("GET", path)).headers.get("etag") ?? "";
	const renamed = await call("PATCH", path, { body: { name: "New name" }, headers: { "if-match": etag } });
	equal(renamed.json["name"], "New name");
	equal((await call("PATCH", path, { body: {}, headers: { "if-match": etag } })).status, 412);
	const listed = await call("GET", `${NETWORK}/partnerships?partnerId=${partnerId}`);
	const partnership = `${NETWORK}/partnerships/${textOf(listed.json, "items", 0, "id")}`;
	const own = {
		commission: { percent: "12" },
		eventRates: [{ eventType: "LEAD", commission: { fixed: "3" } }],
	};
	const changed = await call("PATCH", partnership, { body: own });
	deepEqual(changed.json["commission"], { percent: "12", fixed: "0.00" });
	const kept = await call("PATCH", partnership, { body: { eventRates: [] } });
	deepEqual([kept.json["commission"], kept.json["eventRates"]], [changed.json["commission"], []]);
	equal((await call("PATCH", partnership, { body: { commission: null } })).json["commission"], null);
	const stale = { headers: { "if-match": '"old"' } };
	equal((await call("PATCH", partnership, { body: own, ...stale })).status, 412);
	equal((await call("POST", `${partnership}/codes`, { body: { code: "X" }, ...stale })).status, 412);
	equal((await call("DELETE", `${partnership}/codes/CODE1`, stale)).status, 412);
	deepEqual((await call("DELETE", `${partnership}/codes/code1`)).json["codes"], []);
	equal((await call("POST", `${partnership}/end`, { body: {}, ...stale })).status, 412);
	ok(textOf((await call("POST", `${partnership}/end`, { body: {} })).json, "endedAt"));
	equal((await call("POST", `${partnership}/resume`, { body: {}, ...stale })).status, 412);
	const link = { target: "https://shop-1.example/" };
	equal((await call("POST", `${partnership}/links`, { body: link })).json["code"], "partnership_ended");
	equal((await call("POST", `${partnership}/resume`, { body: {} })).json["endedAt"], null);
	equal(countOf(await call("GET", `${partnership}/links`)), 1);
	equal((await call("POST", `${path}/end`, { body: {}, ...stale })).status, 412);
	equal((await call("POST", `${path}/end`, { body: { endsClicks: true } })).status, 200);
	ok(textOf((await call("GET", partnership)).json, "endedAt"));
	equal(countOf(await call("GET", `${NETWORK}/partnerships?programId=${programId}`)), 1);
}

/** Records sales, of which one is credited to a partner, and issues the partner's statement. */
async function sell({ site }: Pick<TokenSite, "site">, programId: string) {
	const programme = await findProgramme(site.store.db, programId);
	ok(programme);
	const { partner } = await addPartner(site, "Seller");
	const partnership = await join(site, programme, partner);
	for (const orderId of ["A-1", "A-2", "A-3"]) await recordSale(site, programme, orderId);
	await earn(site, partnership, "8.00");
	await issueMonth(site);
	return { partnerId: partner.public_id };
}

/** After a restore, what is to be paid is not answered before payments were compared with the bank. */
async function restoreAndCompare(call: Call, { store, deps }: TestSite): Promise<void> {
	const nowMs = deps.clock.nowMs();
	const [statement] = (await call("GET", `${NETWORK}/statements?state=to_pay`)).json["items"] as {
		id: string;
		partnerId: string;
	}[];
	ok(statement);
	const { id: statementId, partnerId } = statement;
	const balances = `${NETWORK}/partners/${partnerId}/balances`;
	await store.transact((trx) => recordRestore(trx, { asOfMs: nowMs - 1, restoredAtMs: nowMs }));
	const path = `${NETWORK}/statements?state=to_pay`;
	for (const due of [path, `${NETWORK}/statements`, `${NETWORK}/statements/${statementId}`, balances]) {
		const refused = await call("GET", due);
		deepEqual([refused.status, refused.json["code"]], [409, "payments_not_compared"], due);
	}
	equal((await call("GET", `${NETWORK}/statements?state=paid`)).status, 200, "other lists are answered");
	const lastId = (await findUncompared(store.db))?.lastId ?? 0;
	ok((await confirmCompared(deps, COMMAND_LINE, lastId, true)).ok);
	equal((await call("GET", path)).status, 200);
}

async function recordSale({ deps, store }: TestSite, programme: Programme, orderId: string): Promise<void> {
	const report = { orderId, eventType: "SALE", basketValue: "100.00", occurredAtMs: null } as const;
	const recorded = await store.transact((trx) =>
		recordConversion(trx, deps, programme, { source: "postback", isTest: false, ...report }),
	);
	ok(recorded.ok);
}

async function readNetwork(call: Call, programId: string, partnerId: string): Promise<void> {
	equal(countOf(await call("GET", `${NETWORK}/programmes?search=shop`)), 2);
	equal(countOf(await call("GET", `${NETWORK}/partners?search=partner`)), 2);
	const first = await call("GET", `${NETWORK}/conversions?programId=${programId}&limit=2`);
	equal(countOf(first), 2);
	const rest = `${NETWORK}/conversions?programId=${programId}&limit=2&cursor=${textOf(first.json, "next")}`;
	const second = await call("GET", rest);
	deepEqual([countOf(second), second.json["next"]], [2, null]);
	const credited = await call("GET", `${NETWORK}/conversions?partnerId=${partnerId}&occurredFrom=2026-01-01`);
	equal(textOf(credited.json, "items", 0, "credit", "partnerId"), partnerId);
	equal(countOf(await call("GET", `${NETWORK}/conversions?orderId=A-&status=RECORDED&test=false`)), 3);
	const days = "decidedFrom=2026-01-01&decidedBefore=2026-12-31";
	equal(countOf(await call("GET", `${NETWORK}/conversions?programId=${programId}&${days}`)), 1);
	const conversionId = textOf(first.json, "items", 0, "id");
	const one = `${NETWORK}/conversions/${conversionId}`;
	const etag = (await call("GET", one)).headers.get("etag") ?? "";
	equal((await call("GET", one, { headers: { "if-none-match": etag } })).status, 304);
	await followChanges(call);
	ok(textOf((await call("GET", `${NETWORK}/totals?days=90`)).json, "countedAt"));
	const statements = await call(
		"GET",
		`${NETWORK}/statements?partnerId=${partnerId}&month=2026-02&state=to_pay`,
	);
	const statement = `${NETWORK}/statements/${textOf(statements.json, "items", 0, "id")}`;
	const shown = await call("GET", statement);
	equal(textOf(shown.json, "statement", "total"), "8.00");
	const tag = shown.headers.get("etag") ?? "";
	equal((await call("GET", statement, { headers: { "if-none-match": tag } })).status, 304);
	equal(
		(await call("GET", `${NETWORK}/partners/${partnerId}`, { headers: { "if-none-match": "*" } })).status,
		304,
	);
	equal(
		textOf((await call("GET", `${NETWORK}/partners/${partnerId}/balances`)).json, "items", 0, "due"),
		"8.00",
	);
	const entries = await call("GET", `${NETWORK}/partners/${partnerId}/entries?kind=EARNED`);
	equal(textOf(entries.json, "items", 0, "amount"), "8.00");
	const partnerships = await call("GET", `${NETWORK}/partnerships`);
	const partnership = `${NETWORK}/partnerships/${textOf(partnerships.json, "items", 0, "id")}`;
	equal((await call("GET", partnership, { headers: { "if-none-match": "*" } })).status, 304);
}

/** Reads all changes, one for each page, and checks that they are those of the sales in their order. */
async function followChanges(call: Call): Promise<void> {
	const orders: string[] = [];
	let target = `${NETWORK}/changes?limit=1`;
	for (let isLast = false; !isLast; ) {
		const { json } = await call("GET", target);
		orders.push(textOf(json, "items", 0, "conversion", "orderId"));
		target = `${NETWORK}/changes?limit=1&after=${textOf(json, "next")}`;
		isLast = json["hasMore"] === false;
	}
	deepEqual(orders.slice(0, 3), ["A-1", "A-2", "A-3"]);
	equal(countOf(await call("GET", target)), 0);
}

async function readAsPartner(call: Call, programId: string): Promise<void> {
	equal(textOf((await call("GET", "/v1/partner/programmes")).json, "items", 0, "programId"), programId);
	const conversions = await call("GET", `/v1/partner/conversions?programId=${programId}&status=APPROVED`);
	equal(countOf(conversions), 1);
	equal(JSON.stringify(conversions.json).includes("orderId"), false);
	const totals = await call("GET", "/v1/partner/totals?from=2026-02-01&to=2026-02-28&by=day,sub1");
	equal(textOf(totals.json, "items", 0, "commission"), "8.00");
	equal(textOf(totals.json, "items", 0, "day"), "2026-02-10");
	const link = { reference: "summer", programId, target: "https://shop-0.example/sale", code: "summer" };
	const created = await create(call, "/v1/partner/links", link);
	equal(textOf(created, "url"), "https://ringback.example/c/summer");
	equal(countOf(await call("GET", "/v1/partner/links")), 1);
	const statements = await call("GET", "/v1/partner/statements?state=to_pay");
	const statement = `/v1/partner/statements/${textOf(statements.json, "items", 0, "id")}`;
	const etag = (await call("GET", statement)).headers.get("etag") ?? "";
	equal((await call("GET", statement, { headers: { "if-none-match": etag } })).status, 304);
	equal(textOf((await call("GET", "/v1/partner/balances")).json, "items", 0, "due"), "8.00");
}
