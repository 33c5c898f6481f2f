// Tests who may open each page, send each form and make each call with a token. The test tries every route in SITE_LISTS.routes as
// every kind of visitor, and every call in TOKEN_CALLS with every kind of token, and expects the outcome that the
// route's `access` or `right` promises. A new route is therefore tested automatically.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SITE_LISTS, TOKEN_CALLS } from "../../site-modules.ts";
import type { TokenRight } from "../domain/api-token.ts";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import { FIELDS, openEveryPage, type Visitor } from "./every-page.test-support.ts";
import { AUTHENTICATOR_PATH, SIGN_IN_PATH, withNext } from "./paths.ts";
import type { Access, Route } from "./routes.ts";
import { type Browser, PASSWORD, type Shown } from "./test-site.test-support.ts";

type Outcome =
	| "allowed"
	| "sign-in"
	/** The 404 page, byte for byte the same as for a page that does not exist. */
	| "nothing"
	/** The 403 page, which says that the visitor's role does not allow this. */
	| "denied"
	| "authenticator";

const EVERYBODY: readonly Visitor[] = [
	...(["nobody", "outsider", "owner", "developer", "viewer", "staff", "partner"] as const),
	"unprepared",
];
const SIGNED_IN = {
	...({ nobody: "sign-in", outsider: "allowed", staff: "allowed" } as const),
	...({ owner: "allowed", developer: "allowed", viewer: "allowed", partner: "allowed" } as const),
};
const OF_PROGRAMME = {
	...SIGNED_IN,
	...({ outsider: "nothing", partner: "nothing", unprepared: "authenticator" } as const),
};
const OF_NO_SHOP = {
	...SIGNED_IN,
	...({ outsider: "nothing", owner: "nothing", developer: "nothing", viewer: "nothing" } as const),
	unprepared: "authenticator",
} as const;
const EXPECTED: Readonly<Record<Access, Readonly<Record<Visitor, Outcome>>>> = {
	anyone: { ...SIGNED_IN, nobody: "allowed", unprepared: "allowed" },
	"signed-in": { ...SIGNED_IN, unprepared: "authenticator" },
	programme: OF_PROGRAMME,
	"programme-integrate": { ...OF_PROGRAMME, viewer: "denied" },
	"programme-decide": { ...OF_PROGRAMME, developer: "denied", viewer: "denied" },
	"programme-manage": { ...OF_PROGRAMME, developer: "denied", viewer: "denied" },
	partner: OF_NO_SHOP,
	"partner-manage": { ...OF_NO_SHOP, partner: "nothing" },
	staff: { ...OF_NO_SHOP, partner: "nothing" },
	"account-authenticator": { ...SIGNED_IN, unprepared: "allowed" },
};

/**
 * Matches the ID of the programme or partner in an address. The test replaces this ID by one that does not
 * exist.
 */
const OF_WHOM = /(?:prg|ptn)_\w+/;
const UNKNOWN = "prg_00000000000000000000000000";
/**
 * Headers that browsers add to a form sent from another site. Old browsers send only Origin, and all others also send
 * Sec-Fetch-Site.
 */
const FOREIGN_FORMS = [
	{ headers: { origin: "https://evil.example" } },
	{ headers: { "sec-fetch-site": "cross-site" } },
];

test("a visitor without the right is redirected or sees no such page, and nothing changes", async (t) => {
	const { shop, visit, pathOf } = await openEveryPage(t);
	for (const visitor of EVERYBODY) {
		const browser = await visit(visitor);
		const before = await shop.site.storedText();
		for (const route of SITE_LISTS.routes) {
			const expected = EXPECTED[route.access][visitor];
			if (expected === "allowed") continue;
			const path = pathOf(route);
			const what = `${visitor}: ${route.method} ${path}`;
			const answer = await ask(browser, route, path);
			assert.equal(judge(answer, route), expected, what);
			// A visitor whose role is too low still belongs to the programme, so the page may show the programme's
			// name.
			if (expected !== "denied") assert.ok(!answer.text.includes("Victim"), what);
			if (expected === "sign-in") assert.equal(answer.location, withNext(SIGN_IN_PATH, path), what);
			if (expected === "nothing") {
				const missing = await ask(browser, route, path.replace(OF_WHOM, UNKNOWN));
				assert.deepEqual([answer.status, answer.text], [404, missing.text], what);
				assert.deepEqual([...answer.headers], [...missing.headers], what);
			}
		}
		assert.equal(await shop.site.storedText(), before, visitor);
	}
});

test("a form from another site is refused, and nothing changes", async (t) => {
	const { shop, visit, pathOf } = await openEveryPage(t);
	const senders = { nobody: await visit("nobody"), owner: await visit("owner"), staff: await visit("staff") };
	const before = await shop.site.storedText();
	for (const route of SITE_LISTS.routes.filter(({ method }) => method === "POST")) {
		for (const [sender, browser] of Object.entries(senders)) {
			if (EXPECTED[route.access][sender as keyof typeof senders] !== "allowed") continue;
			for (const options of FOREIGN_FORMS) {
				const { status } = await browser.submit(pathOf(route), FIELDS, options);
				assert.equal(status, 403, `${sender}: ${route.path} ${JSON.stringify(options)}`);
			}
		}
	}
	assert.equal(await shop.site.storedText(), before);
});

test("a visitor with the right is answered, with the strict headers and without inline script or style", async (t) => {
	const { visit, pathOf } = await openEveryPage(t);
	for (const visitor of EVERYBODY) {
		const browser = await visit(visitor);
		for (const route of SITE_LISTS.routes.filter(({ method }) => method === "GET")) {
			if (EXPECTED[route.access][visitor] !== "allowed") continue;
			// Staff belong to no programme, so they cannot leave one.
			if (visitor === "staff" && route.path.endsWith("/leave")) continue;
			const what = `${visitor}: ${pathOf(route)}`;
			const answer = await browser.open(pathOf(route));
			assert.equal(judge(answer, route), "allowed", `${what} ${answer.location}`);
			assert.match(
				answer.headers.get("content-security-policy") ?? "",
				/script-src 'self'; style-src 'self'/,
			);
			assert.doesNotMatch(answer.text, /<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=/i, what);
			if (route.access !== "anyone") assert.equal(answer.headers.get("cache-control"), "no-store", what);
		}
	}
});

type TokenState = "none" | "unknown" | "revoked" | "expired" | TokenRight;

/** Fault code of a call that needs a right, by the state or right of its token. Null if the call is not refused. */
const CALLS: Readonly<Record<TokenRight, Readonly<Record<TokenState, string | null>>>> = (() => {
	const strangers = {
		...{ none: "missing_token", unknown: "unknown_token" },
		...{ revoked: "revoked_token", expired: "expired_token" },
	} as const;
	return {
		read: { ...strangers, read: null, manage: null, partner: "wrong_token" },
		manage: { ...strangers, read: "wrong_token", manage: null, partner: "wrong_token" },
		partner: { ...strangers, read: "wrong_token", manage: "wrong_token", partner: null },
	};
})();

test("a call that reads needs a token that reads, and a call that changes one that may change", () => {
	for (const { method, path, right } of TOKEN_CALLS) {
		const ofNetwork = method === "GET" ? "read" : "manage";
		assert.equal(right, path.startsWith("/v1/partner/") ? "partner" : ofNetwork, `${method} ${path}`);
	}
});

test("a call without the right is refused with its code, and nothing changes", async (t) => {
	const { shop, visit } = await openEveryPage(t);
	const { site, ids } = shop;
	const staff = await visit("staff");
	const issue = async (path: string, fields: Readonly<Record<string, string>>) => {
		const { text } = await staff.submit(path, { ...fields, currentPassword: PASSWORD });
		return /rb[np]_[0-9a-f]{64}/.exec(text)?.[0] ?? assert.fail(text);
	};
	const network = (name: string, right = "read", days = "") =>
		issue("/network/tokens", { name, right, days });
	const tokens: Readonly<Record<TokenState, string | null>> = {
		none: null,
		unknown: `rbn_${"0".repeat(64)}`,
		revoked: await network("Revoked"),
		expired: await network("Expired", "read", "1"),
		read: await network("Reads"),
		manage: await network("Changes", "manage"),
		partner: await issue(`/partner/${ids.partnerId}/api`, { name: "Partner's", days: "" }),
	};
	const { db } = site.store;
	await db.updateTable("api_tokens").set({ revoked_at_ms: 1 }).where("name", "=", "Revoked").execute();
	site.moveClock(DAY_MS);
	const program = site.browser();
	const stored = async () => {
		const lines = (await site.storedText()).split("\n");
		return lines.filter((line) => !/^(?:inbound_calls|api_tokens):/.test(line)).join("\n");
	};
	const before = await stored();
	for (const [state, token] of Object.entries(tokens)) {
		for (const { method, path, right } of TOKEN_CALLS) {
			const expected = CALLS[right][state as TokenState];
			const target = path.replace(/\{\w+\}/g, "x");
			const headers = token === null ? {} : { authorization: `Bearer ${token}` };
			// The answer to more refusals than one a second is delayed, and the clock of this test stands still.
			site.moveClock(SECOND_MS);
			const { text } = await program.send(target, { method, headers });
			const { code = null } = JSON.parse(text);
			// The call names nothing that exists. A call with the right therefore returns a list, or is refused for another
			// reason.
			if (expected === null) assert.doesNotMatch(String(code), /_token$/, `${state}: ${method} ${path}`);
			else assert.equal(code, expected, `${state}: ${method} ${path}`);
		}
	}
	assert.equal(await stored(), before);
});

function ask(browser: Browser, route: Route, path: string): Promise<Shown> {
	return route.method === "GET" ? browser.open(path) : browser.submit(path, FIELDS);
}

function judge({ status, location, text }: Shown, route: Route): Outcome | "refused" {
	if (status === 404 && text.includes("Page not found")) return "nothing";
	if (status === 403 && text.includes("This form cannot be accepted")) return "refused";
	if (status === 403 && text.includes("You don&#39;t have access")) return "denied";
	// On a page for everybody, a redirect to the sign-in page counts as an ordinary answer.
	if (route.access === "anyone") return "allowed";
	if (location?.split("?")[0] === SIGN_IN_PATH) return "sign-in";
	return location === AUTHENTICATOR_PATH ? "authenticator" : "allowed";
}
