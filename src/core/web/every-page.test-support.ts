// Provides a site with data for every route, and its visitors. Tests open every page of it and send every form. They
// fail if a route has a parameter for which this file has no value.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { adjustAccount } from "#modules/accounts/use-cases/adjust.ts";
import { issueMonth } from "#modules/accounts/web/issued-statements.test-support.ts";
import { sendTestCallback } from "#modules/partners/use-cases/test-callback.ts";
import { addPartner } from "#modules/partners/web/partner-shop.test-support.ts";
import { createIdentityProvider } from "../../outside/identity-provider.ts";
import { EVENT_NAMES } from "../domain/event-name.ts";
import { DAY_MS } from "../domain/time.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { savePartnerUrl } from "../programmes/postback-url.ts";
import { addPartnerPerson } from "../store/queries/partner-people.ts";
import type { Partner } from "../store/tables/partners.ts";
import { type FilledShop, openFilledShop } from "./filled-shop.test-support.ts";
import type { Route } from "./routes.ts";
import { type Browser, createTestSite, type TestSite } from "./test-site.test-support.ts";

export type Visitor =
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

/** Values for all fields that any form requires, so that no form is refused because a field is missing. */
export const FIELDS = {
	...{ name: "Taken over", approvalDays: "1", email: "thief@shop.example", role: "owner" },
	...{ postbackUrl: "https://thief.example/", move: "approve", reason: "RETURN", since: "2020-01-01T00:00" },
	...{ month: "2026-02", date: "2026-03-01", reference: "", amount: "5", currency: "EUR", payee: "Thief" },
	...{ iban: "DE89370400440532013000", vatPercent: "1", postalAddress: "Nowhere", minimumEUR: "1" },
	...{ method: "POST", target: "/", headers: "", body: "", secret: "", partnership: "pts_x" },
};
export interface EveryPage {
	shop: FilledShop;
	/** Opens a new browser that is signed in as this kind of visitor. */
	visit(visitor: Visitor): Promise<Browser>;
	/** Returns the value of an address parameter such as "programmeId". Fails if this file has no value for it. */
	parameterOf(name: string): string;
	pathOf(route: Route): string;
}

export async function openEveryPage(t: TestContext): Promise<EveryPage> {
	// Nothing listens at this address, so the pages of the provider say that it cannot be reached.
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
	// The forms about people change these two people, so that the visitors stay unchanged.
	const [partner, colleague] = [await site.addOwner(programme), await site.addStaff()];
	// This site has the same database, but staff need an authenticator.
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
	const parameterOf = (name: string) => {
		const value = values.get(name);
		assert.ok(value, `no value for ${name}`);
		return value;
	};
	return {
		shop,
		parameterOf,
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
				return parameterOf(name);
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
	// The clock goes back for the bonus, so that the statement's month contains it.
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
