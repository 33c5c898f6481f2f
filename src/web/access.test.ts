// Tests who may open each page, send each form and make each call with a token. The test tries every route in ROUTES as
// every kind of visitor, and every call in TOKEN_ROUTES with every kind of token, and expects the outcome that the
// route's `access` or `right` promises. A new route is therefore tested automatically. If a route has a parameter for which this file has no value, the test fails.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { TOKEN_ROUTES } from "../api/token-api/routes.ts";
import type { TokenRight } from "../domain/api-token.ts";
import { EVENT_NAMES } from "../domain/event-name.ts";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import { createIdentityProvider } from "../outside/identity-provider.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { savePartnerUrl } from "../programmes/postback-url.ts";
import { sendTestCallback } from "../programmes/test-callback.ts";
import { adjustAccount } from "../statements/adjust.ts";
import { addPartnerPerson, type Partner } from "../store/queries/partners.ts";
import { type FilledShop, openFilledShop } from "./filled-shop.test-support.ts";
import { addPartner } from "./partners/partner-shop.test-support.ts";
import { AUTHENTICATOR_PATH, SIGN_IN_PATH, withNext } from "./paths.ts";
import type { Access, Route } from "./routes.ts";
import { ROUTES } from "./site.ts";
import { issueMonth } from "./statements/issued-statements.test-support.ts";
import {
	type Browser,
	createTestSite,
	PASSWORD,
	type Shown,
	type TestSite,
} from "./test-site.test-support.ts";

type Visitor =
	| "nobody"
	/** The owner of a different programme. */
	| "outsider"
	| "owner"
	| "developer"
	| "viewer"
	| "staff"
	/** A person who signs in for a partner and belongs to no programme. */
	| "partner"
	/** A member of staff who has not set up the authenticator that the network requires. */
	| "unprepared";

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
/** Values for all fields that any form requires, so that no form is refused because a field is missing. */
const FIELDS = {
	...{ name: "Taken over", approvalDays: "1", email: "thief@shop.example", role: "owner" },
	...{ postbackUrl: "https://thief.example/", move: "approve", reason: "RETURN", since: "2020-01-01T00:00" },
	...{ month: "2026-02", date: "2026-03-01", reference: "", amount: "5", currency: "EUR", payee: "Thief" },
	...{ iban: "DE89370400440532013000", vatPercent: "1", postalAddress: "Nowhere", minimumEUR: "1" },
	...{ method: "POST", target: "/", headers: "", body: "", secret: "", partnership: "pts_x" },
};
/**
 * Headers of a form sent from another site. Old browsers send only Origin, and all others also send
 * Sec-Fetch-Site.
 */
const FOREIGN_FORMS = [
	{ headers: { origin: "https://evil.example" } },
	{ headers: { "sec-fetch-site": "cross-site" } },
];

test("a visitor without the right is redirected or sees no such page, and nothing changes", async (t) => {
	const { shop, visit, pathOf } = await openService(t);
	for (const visitor of EVERYBODY) {
		const browser = await visit(visitor);
		const before = await shop.site.storedText();
		for (const route of ROUTES) {
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
	const { shop, visit, pathOf } = await openService(t);
	const senders = { nobody: await visit("nobody"), owner: await visit("owner"), staff: await visit("staff") };
	const before = await shop.site.storedText();
	for (const route of ROUTES.filter(({ method }) => method === "POST")) {
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
	const { visit, pathOf } = await openService(t);
	for (const visitor of EVERYBODY) {
		const browser = await visit(visitor);
		for (const route of ROUTES.filter(({ method }) => method === "GET")) {
			if (EXPECTED[route.access][visitor] !== "allowed") continue;
			// Staff belong to no programme, so they have none to leave.
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

/** Code of the refusal of a call that needs a right, by the state or right of its token. Null if it is not refused. */
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
	for (const { method, path, right } of TOKEN_ROUTES) {
		const ofNetwork = method === "GET" ? "read" : "manage";
		assert.equal(right, path.startsWith("/v1/partner/") ? "partner" : ofNetwork, `${method} ${path}`);
	}
});

test("a call without the right is refused with its code, and nothing changes", async (t) => {
	const { shop, visit } = await openService(t);
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
		for (const { method, path, right } of TOKEN_ROUTES) {
			const expected = CALLS[right][state as TokenState];
			const target = path.replace(/\{\w+\}/g, "x");
			const headers = token === null ? {} : { authorization: `Bearer ${token}` };
			// The answer to more refusals than one a second is delayed, and the clock of this test stands still.
			site.moveClock(SECOND_MS);
			const { text } = await program.send(target, { method, headers });
			const { code = null } = JSON.parse(text);
			// The call names nothing that exists, so a call with the right is refused for another reason, or lists.
			if (expected === null) assert.doesNotMatch(String(code), /_token$/, `${state}: ${method} ${path}`);
			else assert.equal(code, expected, `${state}: ${method} ${path}`);
		}
	}
	assert.equal(await stored(), before);
});

interface Service {
	shop: FilledShop;
	/** Opens a new browser that is signed in as this kind of visitor. */
	visit(visitor: Visitor): Promise<Browser>;
	pathOf(route: Route): string;
}

async function openService(t: TestContext): Promise<Service> {
	// Nobody listens there, so the pages of the provider say that it cannot be reached.
	const provider = createIdentityProvider({
		issuer: "http://127.0.0.1:1",
		clientId: "ringback",
		clientSecret: "none",
	});
	t.after(() => provider.close());
	const companySignIn = {
		provider,
		label: "Company account",
		isRequiredForStaff: false,
		isForEveryone: false,
	};
	const shop = await openFilledShop(t, { change: { companySignIn } });
	const { site, programme, owner } = shop;
	const outsider = await site.addOwner(await site.addProgramme("Outsider"));
	const developer = await site.addPerson(programme, "developer");
	const viewer = await site.addPerson(programme, "viewer");
	const ofPartner = await addPartner(site, "Blog");
	// The outsider belongs to a partner, but not to the partner whose pages are requested.
	const ofAnother = await addPartner(site, "Another");
	await addPartnerPerson(site.store.db, ofAnother.partner.id, outsider.id);
	const { statementId, statementJobId } = await issueStatement(site, ofPartner.partner);
	const partnerDeliveryId = await sendTestTo(site, ofPartner.partner);
	const staff = await site.addStaff();
	// The forms about people change these two. The visitors themselves stay unchanged.
	const [partner, colleague] = [await site.addOwner(programme), await site.addStaff()];
	// This is the same service, except that staff need an authenticator.
	const strict = createTestSite(site.store, { change: { staffAuthenticator: "required", companySignIn } });
	const values = new Map(
		Object.entries({
			...shop.ids,
			programmeId: programme.public_id,
			partnerId: ofPartner.partner.public_id,
			statementId,
			statementJobId,
			tokenId: "tok_x",
			token: "used",
			code: "internal",
			part: "install",
		}),
	);
	return {
		shop,
		async visit(visitor) {
			switch (visitor) {
				case "nobody": {
					const browser = site.browser();
					return browser;
				}
				case "outsider":
					return site.signIn(outsider);
				case "owner":
					return site.signIn(owner);
				case "developer":
					return site.signIn(developer);
				case "viewer":
					return site.signIn(viewer);
				case "staff":
					return site.signIn(staff);
				case "partner":
					return site.signIn(ofPartner);
				case "unprepared":
					return strict.signIn(staff);
				default:
					return visitor satisfies never;
			}
		},
		pathOf: ({ path, access }) =>
			path.replace(/:(\w+)/g, (_, name: string) => {
				if (name === "personId") return (access === "staff" ? colleague : partner).public_id;
				if (name === "deliveryId" && access === "partner") return partnerDeliveryId;
				const value = values.get(name);
				assert.ok(value, `no value for :${name} of ${path}`);
				return value;
			}),
	};
}

/** Gives the partner a callback URL and sends a test to it. Returns the id of the delivery. */
async function sendTestTo({ deps }: TestSite, { public_id }: Partner): Promise<string> {
	const input = { url: "https://partner.example/hook", form: "json", events: EVENT_NAMES } as const;
	assert.ok((await savePartnerUrl(deps, public_id, input, COMMAND_LINE)).ok);
	const sent = await sendTestCallback(deps, public_id, "conversion.recorded", COMMAND_LINE);
	assert.ok(sent.ok);
	return sent.value;
}

/** Issues a statement to the partner. Returns its id and that of the job. */
async function issueStatement(site: TestSite, partner: Partner) {
	const bonus = { amount: "5", currency: "EUR", reason: "Bonus" };
	// The bonus was added in the month before.
	site.moveClock(-5 * DAY_MS);
	assert.ok((await adjustAccount(site.deps, COMMAND_LINE, partner.id, bonus)).ok);
	site.moveClock(5 * DAY_MS);
	const [statement] = await issueMonth(site);
	assert.ok(statement);
	const { public_id: statementJobId } = await site.store.db
		.selectFrom("jobs")
		.select("public_id")
		.where("kind", "=", "statements")
		.executeTakeFirstOrThrow();
	return { statementId: statement.public_id, statementJobId };
}

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
