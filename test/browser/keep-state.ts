// `node test/browser/keep-state.ts` fills a database of the current schema and keeps its rows in
// `test/upgrade/version-<n>.json`. Run it with a released program, before the first migration after the release is
// written, so that the migration is tested on rows of that release. It needs the browser of the browser tests.

import { writeFileSync } from "node:fs";
import { totpCodeAt } from "#core/domain/authenticator-code.ts";
import { sha256Hex } from "#core/domain/signature.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { savePartnerUrl } from "#core/programmes/postback-url.ts";
import { insertApiToken } from "#core/store/queries/api-tokens.ts";
import { MIGRATIONS } from "#core/store/schema/migrations.ts";
import type { Service } from "../../src/service.ts";
import { findBrowser } from "../support/browser.ts";
import { KEPT_KEY, readState, stateFile, writeState } from "../support/kept-state.ts";
import { newId } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";
import { createShopClient } from "../support/shop-client.ts";
import { PASSWORD } from "./first-steps.ts";
import { storeMovingImports } from "./import-cases.ts";
import { fillSampleNetwork, type SampleNetwork } from "./sample-network.ts";
import { openSetup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const TOKEN = `rbn_${"0".repeat(64)}`;

const found = await findBrowser();
if (!found.isThere) throw new Error(found.reason);
const { browser } = found;
// There is no engine, so pending callbacks stay in the queue.
const setup = await openSetup({ settings: { RINGBACK_ROLE: "web", RINGBACK_SECRET_KEY: KEPT_KEY } });
try {
	const site = await fillSampleNetwork(browser, setup.service, { sales: 36 });
	await storeMovingImports(setup.service);
	await addShopWithPartners(setup.service);
	await turnAuthenticatorOn(setup.service, site.owner);
	const version = MIGRATIONS.length;
	const state = await readState(setup.service.store, version);
	writeFileSync(stateFile(version), writeState(state));
} finally {
	await browser.close();
	await setup.close();
}

/** Adds a shop through the APIs. Its sales have credits, refunds, decisions and parked pixel calls. */
async function addShopWithPartners(service: Service): Promise<void> {
	const { db } = service.store;
	const nowMs = service.clock.nowMs();
	const staff = db.selectFrom("people").select("id").where("kind", "=", "staff").orderBy("id");
	await insertApiToken(db, {
		...{ public_id: newId("tok"), partner_id: null, name: "Portal", token_right: "manage" },
		...{ hash: sha256Hex(TOKEN), hint: TOKEN.slice(-4), expires_at_ms: null, created_at_ms: nowMs },
		issued_by: (await staff.executeTakeFirstOrThrow()).id,
	});
	const programme = await call(service, "POST", "/programmes", {
		...{ reference: "lindgren", name: "Lindgren", currency: "EUR", ownerEmail: "astrid@lindgren.example" },
		...{ commission: { percent: "8", fixed: "1.00" }, networkFee: { percent: "2" } },
		eventRates: [{ eventType: "LEAD", commission: { fixed: "5.00" }, networkFee: { fixed: "1.00" } }],
	});
	const programId = String(programme["programme"]["id"]);
	const path = `/programmes/${programId}`;
	await call(service, "PATCH", `${path}/partners`, { creditsPartners: true, hosts: ["lindgren.example"] });
	const issued = await call(service, "POST", `${path}/keys`, { reference: "server", name: "Shop server" });
	await db.updateTable("api_keys").set({ key_right: "decide" }).where("name", "=", "Shop server").execute();
	for (const name of ["Waldweg", "Uferpost"]) {
		const email = `${name.toLowerCase()}@blog.example`;
		const { partner } = await call(service, "POST", "/partners", { name, email });
		const { id } = await call(service, "POST", "/partnerships", { programId, partnerId: partner.id });
		await call(service, "POST", `/partnerships/${id}/codes`, { code: name });
		if (name === "Uferpost") {
			await call(service, "PATCH", `/partnerships/${id}`, { commission: { percent: "12" } });
			const target = {
				url: setup.shop.url("/partner"),
				form: "json",
				events: ["conversion.recorded"],
			} as const;
			expectValue(await savePartnerUrl(service, partner.id, target, COMMAND_LINE));
		}
	}
	const shop = createShopClient(service.url, String(issued["key"]), String(issued["secret"]), Date.now);
	const sale = (orderId: string, fields: object = {}) =>
		shop.post("/v1/conversions", { orderId, basketValue: "100.00", ...fields });
	await sale("L-1", { couponCodes: ["WALDWEG"] });
	await sale("L-2", { couponCodes: ["UFERPOST"] });
	await sale("L-3");
	await sale("L-4", { couponCodes: ["UFERPOST"], eventType: "LEAD" });
	await sale("L-5", { couponCodes: ["WALDWEG"] });
	await sale("L-6", { couponCodes: ["WALDWEG"] });
	for (const orderId of ["L-1", "L-2", "L-5"]) await shop.post("/v1/approvals", { orderId });
	await shop.post("/v1/refunds", { orderId: "L-1", refundId: "R-1", amount: "33.33", reason: "RETURN" });
	await shop.post("/v1/reversals", { orderId: "L-5", reason: "RETURN" });
	await shop.post("/v1/rejections", { orderId: "L-6", reason: "CANCELLED" });
	await fetch(`${service.url}/pixel/${programId}.gif?orderId=L-7&basketValue=40.00`);
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of a sample are read once, and a wrong one fails here
async function call(service: Service, method: string, path: string, body: object): Promise<any> {
	const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
	const target = `${service.url}/v1/network${path}`;
	const response = await fetch(target, { method, headers, body: JSON.stringify(body) });
	if (!response.ok)
		throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
	return response.json();
}

/** Turns the owner's authenticator on, so that there is a sealed authenticator secret with its backup codes. */
async function turnAuthenticatorOn(service: Service, storageState: SampleNetwork["owner"]): Promise<void> {
	const { page, leave } = await openVisitor(browser, service.url, { storageState });
	await page.goto("/account");
	await page.locator("#authenticator-current").fill(PASSWORD);
	await page.locator("#authenticator button").click();
	const uri = await page.locator("input[name=uri]").inputValue();
	const secret = readBase32(new URL(uri).searchParams.get("secret") ?? "");
	await page.locator("#code").fill(totpCodeAt(secret, Date.now()));
	await page.getByRole("button", { name: "Turn on" }).click();
	await page.getByText("The authenticator is on.").first().waitFor();
	await leave();
}

function readBase32(text: string): Uint8Array {
	const bits = [...text].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter));
	const all = bits.map((five) => five.toString(2).padStart(5, "0")).join("");
	return Uint8Array.from(all.match(/.{8}/g) ?? [], (eight) => Number.parseInt(eight, 2));
}
