// Tests the rights of a programme's people. The right that each route requires is listed here by hand, so
// that nobody adds or changes a route without thinking about its right. No page may offer an action that its
// reader may not take.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failDeliveries } from "../../../test/support/undelivered.ts";
import { SITE_LISTS } from "../../site-modules.ts";
import { grants, PROGRAMME_ROLES, type Right, type Standing } from "../domain/roles.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { invite } from "../people/invitations.ts";
import { activateSecret, prepareSecret } from "../programmes/signing-secret.ts";
import { type FilledShop, openFilledShop } from "./filled-shop.test-support.ts";
import type { Route } from "./routes.ts";
import { type Browser, newEmail } from "./test-site.test-support.ts";

const PROGRAMME = "/programmes/:programmeId";

const RIGHTS_BY_ROUTE: Readonly<Record<string, Right>> = {
	"GET /overview": "look",
	"GET /conversions": "look",
	"GET /conversions/export.csv": "look",
	"GET /conversions/:conversionId": "look",
	"POST /conversions/decide": "decide",
	"POST /conversions/:conversionId/refund": "decide",
	"GET /conversions/bulk": "decide",
	"POST /conversions/bulk": "decide",
	"GET /conversions/bulk/:jobId": "decide",
	"GET /conversions/bulk/:jobId/result.csv": "decide",
	"GET /conversions/bulk/:jobId/problems.csv": "decide",
	"POST /conversions/bulk/:jobId/apply": "decide",
	"POST /conversions/bulk/:jobId/stop": "decide",
	"POST /conversions/bulk/:jobId/discard": "decide",
	"GET /integration": "look",
	"POST /integration": "integrate",
	"GET /integration/keys": "look",
	"POST /integration/keys": "integrate",
	"POST /integration/keys/:keyId/revoke": "integrate",
	"POST /integration/keys/secret": "integrate",
	"POST /integration/keys/secret/activate": "integrate",
	"POST /integration/keys/secret/discard": "integrate",
	"POST /integration/keys/secret/end": "integrate",
	"POST /integration/postback-url": "integrate",
	"POST /integration/postback-url/remove": "integrate",
	"POST /integration/test": "integrate",
	"POST /integration/test/:conversionId": "integrate",
	"POST /integration/resend-failed": "integrate",
	"POST /overview/set-aside": "integrate",
	"POST /integration/resend": "integrate",
	"POST /integration/send-waiting": "integrate",
	"GET /integration/inbound": "look",
	"GET /integration/signature": "integrate",
	"POST /integration/signature": "integrate",
	"GET /deliveries/:deliveryId": "look",
	"POST /deliveries/:deliveryId/resend": "integrate",
	"GET /partners": "look",
	"POST /partners/applications/decline-all": "manage",
	"POST /partners/applications/:applicationId": "manage",
	"GET /partners/settings": "manage",
	"POST /partners/settings": "manage",
	"GET /partners/:partnershipId": "look",
	"POST /partners/:partnershipId": "manage",
	"POST /partners/:partnershipId/change": "manage",
	"GET /people": "look",
	"POST /people/invite": "manage",
	"GET /people/leave": "look",
	"POST /people/leave": "look",
	"POST /people/:personId/link": "manage",
	"POST /people/:personId/role": "manage",
	"GET /people/:personId/remove": "manage",
	"POST /people/:personId/remove": "manage",
	"GET /settings": "look",
	"POST /settings": "manage",
};

const STANDINGS: readonly Standing[] = [...PROGRAMME_ROLES, "staff"];

const OF_PROGRAMME = SITE_LISTS.routes.filter(({ path }) => path.startsWith(`${PROGRAMME}/`));

test("every route of a programme requires the right that is listed here, and no route is missing", () => {
	const asked = OF_PROGRAMME.map((route) => [nameOf(route), rightOf(route)]);
	assert.deepEqual(Object.fromEntries(asked), RIGHTS_BY_ROUTE);
	assert.equal(asked.length, Object.keys(RIGHTS_BY_ROUTE).length);
});

test("a page offers its reader every action that they may take, and no other", async (t) => {
	const shop = await openFilledShop(t);
	const { site, programme } = shop;
	// The pages offer every action only if there are people to act on, and a secret in each state.
	await site.addOwner(programme);
	const asViewer = { kind: "programme", programme, role: "viewer" } as const;
	await invite(site.deps, COMMAND_LINE, asViewer, newEmail("shop"));
	const prepared = await prepareSecret(site.deps, programme.public_id, COMMAND_LINE);
	assert.ok(prepared.ok);
	await activateSecret(site.deps, programme.public_id, prepared.value.secretId, COMMAND_LINE);
	await prepareSecret(site.deps, programme.public_id, COMMAND_LINE);
	const queued = await site.store.db.selectFrom("queue").selectAll().execute();
	const offered = new Map<Standing, Set<string>>();
	for (const standing of STANDINGS) {
		const person = standing === "staff" ? await site.addStaff() : await site.addPerson(programme, standing);
		const browser = await site.signIn(person);
		const offers = new Set<string>();
		// Pending and failed callbacks have different buttons, so the pages are opened in both states.
		for (const state of ["pending", "failed"] as const) {
			if (state === "failed") {
				await failDeliveries(site.store.db, 1);
			} else {
				await site.store.db.deleteFrom("undelivered").execute();
				const queue = site.store.db.insertInto("queue").values(queued);
				await queue.onConflict((conflict) => conflict.doNothing()).execute();
			}
			for (const offer of await collectOffers(browser, shop, standing)) offers.add(offer);
		}
		offered.set(standing, offers);
	}
	const owners = offered.get("owner") ?? new Set<string>();
	assert.ok(owners.size > 30, [...owners].join("\n"));
	for (const standing of ["developer", "viewer"] as const) {
		const expected = [...owners].filter((route) => grants(standing, RIGHTS_BY_ROUTE[route] ?? "manage"));
		assert.deepEqual([...(offered.get(standing) ?? [])].sort(), expected.sort(), standing);
	}
});

/** Opens every page that the person may see and returns the routes to which its forms and links lead. */
async function collectOffers(browser: Browser, shop: FilledShop, standing: Standing): Promise<Set<string>> {
	const offers = new Set<string>();
	for (const page of OF_PROGRAMME) {
		const isShown = page.method === "GET" && !/\.csv$/.test(page.path);
		// Staff belong to no programme, so they cannot leave one.
		const hasNothing = standing === "staff" && page.path.endsWith("/leave");
		if (!isShown || hasNothing || !grants(standing, rightOf(page))) continue;
		const { status, text } = await browser.open(fillIn(page.path, shop));
		assert.equal(status, 200, page.path);
		for (const [what, method, address] of addressesIn(text)) {
			const route = findRoute(method, address, shop);
			if (route === undefined) continue;
			assert.ok(grants(standing, rightOf(route)), `${standing} on ${page.path}: ${what}`);
			offers.add(nameOf(route));
		}
	}
	return offers;
}

type Address = readonly [what: string, method: Route["method"], address: string];

function addressesIn(text: string): Address[] {
	const forms = [...text.matchAll(/<form method="post"[^>]* action="([^"]+)"|formaction="([^"]+)"/g)];
	const links = [...text.matchAll(/<a [^>]*href="([^"]+)"/g)];
	return [
		...forms.map(([what, action, other]): Address => [what, "POST", action ?? other ?? ""]),
		...links.map(([what, href = ""]): Address => [what, "GET", href]),
	];
}

/**
 * Returns the route that answers an address, or undefined if the address is outside of the programme. The first
 * matching route wins, as on the site.
 */
function findRoute(method: Route["method"], address: string, { programme }: FilledShop): Route | undefined {
	const path = address.replaceAll("&amp;", "&").replace(/[?#].*$/, "");
	if (!path.startsWith(`/programmes/${programme.public_id}/`)) return undefined;
	const found = OF_PROGRAMME.find(
		(route) => route.method === method && new RegExp(`^${route.path.replace(/:\w+/g, "[^/]+")}$`).test(path),
	);
	assert.ok(found, `${method} ${address} leads nowhere`);
	return found;
}

function nameOf({ method, path }: Route): string {
	return `${method} ${path.slice(PROGRAMME.length)}`;
}

function rightOf({ access, path }: Route): Right {
	switch (access) {
		case "programme":
			return "look";
		case "programme-integrate":
			return "integrate";
		case "programme-decide":
			return "decide";
		case "programme-manage":
			return "manage";
		default:
			throw new Error(`${path} is below a programme, and open to others`);
	}
}

function fillIn(path: string, { programme, ids }: FilledShop): string {
	const values = new Map(Object.entries({ ...ids, programmeId: programme.public_id }));
	return path.replace(
		/:(\w+)/g,
		(_, name: string) => values.get(name) ?? assert.fail(`no value for :${name}`),
	);
}
