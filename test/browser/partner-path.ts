// From a stranger's application to a sale in their earnings: staff, owner, partner and buyer, each in a browser of their own.

import { equal, ok } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { portOf } from "../support/port-of.ts";
import { signedRequest } from "../support/signed-request.ts";
import { issueKey, linkFromMail, openFirstShop, PASSWORD, STAFF_EMAIL, signIn } from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

const PARTNER = "zoe@blog.example";
/** The test's own calls itself headless, and counts as a crawler. */
const BROWSER =
	"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36";
const BASKET = "100.00";
/** At the programme's eight percent. */
const COMMISSION = "8.00";

export function testPartnerPath(browser: () => Browser): void {
	let setup: Setup;
	before(async () => {
		setup = await openSetup();
	});
	after(() => setup.close());

	test("somebody applies and is accepted, their link is clicked, and the sale is in their earnings", async (t) => {
		const { service, mail } = setup;
		let credentials = { key: "", secret: "" };
		const shop = await openFirstShop(browser(), service, "jonas@nordlicht.example", async (page) => {
			credentials = await issueKey(page);
		});

		const staff = await openVisitor(browser(), service.url);
		await signIn(staff.page, STAFF_EMAIL);
		await staff.page.goto(`${shop.path}/partners`);
		await staff.page.getByRole("link", { name: "Settings for partners" }).last().click();
		await staff.page.getByLabel("Credit sales to partners").check();
		await staff.page.getByLabel("Partners may apply").check();
		await staff.page.getByLabel("Landing hosts").fill("shop.nordlicht.example");
		await staff.page.getByRole("button", { name: "Save" }).click();
		const join = (await staff.page.locator("main code").first().textContent()) ?? "";
		await staff.leave();

		const partner = await openVisitor(browser(), service.url);
		await partner.page.goto(join);
		await partner.page.getByLabel("Your name or company").fill("Zelt & Co");
		await partner.page.getByLabel("Email").fill(PARTNER);
		await partner.page.getByLabel("How would you bring sales?").fill("Reviews");
		await partner.page.getByRole("button", { name: "Apply" }).click();
		await partner.page.getByRole("heading", { name: "Thank you" }).waitFor();

		const owner = await openVisitor(browser(), service.url, { storageState: shop.storageState });
		await owner.page.goto(`${shop.path}/partners`);
		const accept = owner.page.getByRole("button", { name: "Accept Zelt & Co" });
		await accept.click();
		await accept.waitFor({ state: "detached" });

		await partner.page.goto(await linkFromMail(mail, PARTNER, /partner/i));
		await partner.page.getByLabel("Your name").fill("Zoe");
		await partner.page.getByLabel("Password").fill(PASSWORD);
		await partner.page.getByRole("button", { name: "Continue" }).click();
		await partner.page.getByRole("link", { name: "Links", exact: true }).click();
		await partner.page.getByLabel("Target address").fill("https://shop.nordlicht.example/tents");
		await partner.page.getByRole("button", { name: "Make link" }).click();
		const link = (await partner.page.locator("#address code").textContent()) ?? "";

		const server = await leadToShop(setup.shop.port);
		t.after(() => server.close());
		const proxy = { server: `http://127.0.0.1:${portOf(server)}`, bypass: "127.0.0.1" };
		const options = { proxy, ignoreHTTPSErrors: true, userAgent: BROWSER };
		const buyer = await openVisitor(browser(), service.url, options);
		setup.shop.answer = () => ({
			status: 200,
			headers: { "content-type": "text/html" },
			body: "<h1>Tents</h1>",
		});
		await buyer.page.goto(`${link}?s1=newsletter`);
		await buyer.page.getByRole("heading", { name: "Tents" }).waitFor();
		const clickId = new URL(buyer.page.url()).searchParams.get("rbclick");
		ok(clickId !== null);
		await buyer.leave();

		const body = { orderId: "A-1", basketValue: BASKET, clickId };
		const call = signedRequest("POST", "/v1/conversions", credentials, { body, nowMs: Date.now() });
		const sent = { method: "POST", headers: call.headers, body: await call.text() };
		const sold = await fetch(`${service.url}/v1/conversions`, sent);
		equal(((await sold.json()) as { credit: string }).credit, "CLICK");

		await owner.page.goto(`${shop.path}/conversions`);
		await owner.page.getByRole("link", { name: "Zelt & Co" }).waitFor();
		await owner.page.getByRole("link", { name: "A-1" }).click();
		await owner.page.getByRole("button", { name: "Approve" }).click();
		await owner.page.getByText("Order A-1 is approved.").waitFor();
		await owner.leave();

		await partner.page.getByRole("link", { name: "Conversions", exact: true }).click();
		await partner.page
			.getByRole("row")
			.filter({ hasText: "Approved" })
			.filter({ hasText: "s1: newsletter" })
			.waitFor();
		await partner.page.getByRole("link", { name: "Earnings", exact: true }).click();
		await partner.page.getByRole("row").filter({ hasText: COMMISSION }).first().waitFor();
		await partner.leave();
	});
}

/** A proxy that leads every name to the shop: no name server knows that of the test. */
async function leadToShop(port: number) {
	const server = createServer().on("connect", (_, client) => {
		const target = connect(port, "127.0.0.1", () => {
			client.write("HTTP/1.1 200 OK\r\n\r\n");
			client.pipe(target).pipe(client);
		});
		client.on("error", () => target.destroy());
		target.on("error", () => client.destroy());
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	return server;
}
