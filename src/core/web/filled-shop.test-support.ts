// Provides a shop for tests with data for every kind of page: a key, a URL, a test conversion whose callback failed, a
// refused request, a partner, a finished job and a pending import.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { insertApplication } from "#modules/partners/store/applications.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import { addPartnership } from "#modules/partners/use-cases/partnerships.ts";
import { setProgramme, setUrl } from "../../../test/support/change-rows.ts";
import { recordConversion } from "../conversions/record.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { issueKey } from "../programmes/keys.ts";
import { savePostbackUrl } from "../programmes/postback-url.ts";
import type { Person } from "../store/queries/people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { runCallbacks } from "./integration/callback-run.test-support.ts";
import { openTestSite, type SiteOptions, type TestSite } from "./test-site.test-support.ts";

export interface FilledShop {
	site: TestSite;
	programme: Programme;
	owner: Person;
	ids: Record<
		| "keyId"
		| "conversionId"
		| "deliveryId"
		| "jobId"
		| "importId"
		| "personId"
		| "partnerId"
		| "partnershipId"
		| "applicationId",
		string
	>;
}

/** Opens a site with the filled shop. The sale report and the pixel call both have the order id `order`. */
export async function openFilledShop(
	t: TestContext,
	{ name = "Victim", order = "order", ...options }: SiteOptions & { name?: string; order?: string } = {},
): Promise<FilledShop> {
	const site = await openTestSite(t, options);
	const { deps, store } = site;
	const programme = await site.addProgramme(name);
	const owner = await site.addOwner(programme);
	const issued = await issueKey(deps, programme.public_id, COMMAND_LINE);
	assert.ok(issued.ok);
	await savePostbackUrl(deps, programme.public_id, "https://shop.example/postback", COMMAND_LINE);
	// Forms refuse this URL, so the test writes it directly to the database. Pages must show it as plain text.
	await setUrl(store.db, programme.id, "https://shop.example/%3Cscript%3E", 0);
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
	const code = order.replaceAll(" ", "");
	await runCallbacks(site, programme, { kind: "network-error", stage: "exchange", code });
	await store.batch.write(store.db, {
		inboundCalls: [
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
		],
	});
	const { partnerId, partnershipId } = await addPartner(site, programme, order);
	const delivery = await store.db.selectFrom("deliveries").select("public_id").executeTakeFirstOrThrow();
	return {
		site,
		programme,
		owner,
		ids: {
			keyId: issued.value.keyId,
			conversionId: recorded.value.conversion.public_id,
			deliveryId: delivery.public_id,
			jobId: await finishJob(site, programme, owner),
			importId: await previewImport(site),
			personId: owner.public_id,
			partnerId,
			partnershipId,
			applicationId: APPLICATION_ID,
		},
	};
}

const APPLICATION_ID = "apl_filled";

/** Adds a partner with a link and a coupon code, and another person's application. */
async function addPartner({ deps, store }: TestSite, programme: Programme, name: string) {
	const input = { name, site: "", email: "partner@blog.example" };
	const invited = await invitePartner(deps, COMMAND_LINE, input);
	assert.ok(invited.ok);
	const { public_id: partnerId } = invited.value.partner;
	const added = await addPartnership(deps, COMMAND_LINE, programme.id, invited.value.partner);
	assert.ok(added.ok);
	const { id, public_id: partnershipId } = added.value;
	const nowMs = deps.clock.nowMs();
	await setProgramme(store.db, programme.id, { credits_partners: 1, takes_applications: 1 });
	const row = { partnership_id: id, created_at_ms: nowMs };
	await insertPartnerLink(store.db, { ...row, code: "filled", name, target: "https://shop.example/" });
	await insertCode(store.db, { ...row, programme_id: programme.id, folded: "filled", code: name });
	await insertApplication(store.db, {
		...input,
		public_id: APPLICATION_ID,
		programme_id: programme.id,
		about: name,
		terms: name,
		created_at_ms: nowMs,
	});
	return { partnerId, partnershipId };
}

/** Uploads, previews and applies a file with decisions about an order that does not exist. */
async function finishJob(site: TestSite, programme: Programme, owner: Person): Promise<string> {
	const browser = await site.signIn(owner);
	const bulk = `/programmes/${programme.public_id}/conversions/bulk`;
	await browser.open(bulk);
	const form = new FormData();
	form.set("file", new File(["orderId,decision\nunknown,approve\n"], "decisions.csv"));
	const { location } = await browser.submitForm(bulk, form);
	await workOffJobs(site.deps, () => false);
	await browser.submit(`${location}/apply`, {});
	await workOffJobs(site.deps, () => false);
	return location?.split("/").at(-1) ?? "";
}

async function previewImport(site: TestSite): Promise<string> {
	const staff = await site.signIn(await site.addStaff());
	await staff.open("/import/conversions");
	const form = new FormData();
	const line = "Nowhere,1,approved,2026-01-01,1";
	form.set("file", new File([`programme,order_id,status,sold_at,amount\n${line}\n`], "history.csv"));
	const { location } = await staff.submitForm("/import/conversions", form);
	await workOffJobs(site.deps, () => false);
	return location?.split("/").at(-1) ?? "";
}
