// Opens a site for tests with a programme that credits partners, a partner in it, a person who signs in for
// the partner, and credited sales.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import {
	type Browser,
	openTestSite,
	PASSWORD,
	type SiteOptions,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { setLandingHosts, setPartnership, setProgramme } from "../../../../test/support/change-rows.ts";
import { addConversion, addCredit } from "../../../../test/support/rows.ts";
import type { StoredCredit } from "../store/credits.ts";
import { findPartnership, type NamedPartnership } from "../store/partnerships.ts";
import { invitePartner } from "../use-cases/partners.ts";
import { addPartnership } from "../use-cases/partnerships.ts";

export interface PartnerShop {
	site: TestSite;
	programme: Programme;
	partner: Partner;
	partnership: NamedPartnership;
	email: string;
	browser: Browser;
	/** Start of the paths of the partner's own pages. */
	base: string;
}

export async function openPartnerShop(t: TestContext, options: SiteOptions = {}): Promise<PartnerShop> {
	const site = await openTestSite(t, options);
	const programme = await addCreditingProgramme(site, "Nordlicht");
	const { partner, email } = await addPartner(site, "Blog");
	const partnership = await join(site, programme, partner);
	const browser = await site.signIn({ email });
	return { site, programme, partner, partnership, email, browser, base: `/partner/${partner.public_id}` };
}

export async function addCreditingProgramme(site: TestSite, name: string): Promise<Programme> {
	const programme = await site.addProgramme(name);
	await setProgramme(site.store.db, programme.id, { credits_partners: 1 });
	await setLandingHosts(site.store.db, programme.id, [{ host: "shop.example", withSubdomains: false }]);
	return programme;
}

/** Adds a partner, with a person who has joined through the invitation. */
export async function addPartner(site: TestSite, name: string): Promise<{ partner: Partner; email: string }> {
	const email = `${name.toLowerCase().replace(/\W/g, "")}@blog.example`;
	const invited = await invitePartner(site.deps, COMMAND_LINE, { name, site: "", email });
	assert.ok(invited.ok && invited.value.link !== null);
	const path = new URL(invited.value.link).pathname;
	const accepted = await site.browser().submit(path, { name: "Pia Partner", password: PASSWORD });
	assert.equal(accepted.status, 303, accepted.text);
	return { partner: invited.value.partner, email };
}

export async function join(
	site: TestSite,
	programme: Programme,
	partner: Partner,
	rate: string | null = null,
): Promise<NamedPartnership> {
	const added = await addPartnership(site.deps, COMMAND_LINE, programme.id, partner);
	assert.ok(added.ok);
	await setPartnership(site.store.db, added.value.id, { commission_rate: rate });
	const found = await findPartnership(site.store.db, added.value.public_id);
	assert.ok(found);
	return found;
}

export async function addCredited(
	{ site }: Pick<PartnerShop, "site">,
	partnership: NamedPartnership,
	change: Partial<Conversion> = {},
	credit: Partial<StoredCredit> = {},
): Promise<Conversion> {
	const conversion = await addConversion(site.store, partnership.programme_id, change);
	await creditTo(site, conversion, partnership.id, credit);
	return conversion;
}

/** Credits a conversion to a partnership, or to nobody if the partnership is null. */
export function creditTo(
	{ store }: Pick<TestSite, "store">,
	conversion: Conversion,
	partnershipId: number | null,
	change: Partial<StoredCredit> = {},
): Promise<void> {
	return addCredit(store.db, {
		conversion_id: conversion.id,
		programme_id: conversion.programme_id,
		partnership_id: partnershipId,
		word: partnershipId === null ? "NO_SIGNAL" : "CLICK",
		sold_at_ms: conversion.occurred_at_ms,
		...{ link_id: null, clicked_at_ms: null, sub_1: "", sub_2: "", sub_3: "" },
		...change,
	});
}
