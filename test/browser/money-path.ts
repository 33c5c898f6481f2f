// Tests the path of the money over two months, as owner, staff and partner: sales, a refund, a statement that is paid, a
// return after the payment, a changed partner, and an amount that is too small to be paid out.

import { equal, match } from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Client, createClient } from "@ringback/receiver";
import type { Browser, Page } from "playwright-core";
import { addAmounts } from "#core/domain/money.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { sayMonth } from "#core/domain/zone-day.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { findProgramme } from "#core/store/queries/programmes.ts";
import { monthEndMs, monthIn } from "#modules/accounts/domain/statement.ts";
import { foldCode } from "#modules/partners/domain/credit.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import { addPartnership } from "#modules/partners/use-cases/partnerships.ts";
import { createDemoClock, type DemoClock } from "../../demo/demo-clock.ts";
import { setProgramme } from "../support/change-rows.ts";
import { assertNoErrors, openService } from "../support/open-service.ts";
import { expectValue } from "../support/shop-account.ts";
import { issueKey, openFirstShop, PASSWORD, STAFF_EMAIL, signIn } from "./first-steps.ts";
import { openVisitor } from "./visitor.ts";

const OWNER = "jonas@nordlicht.example";

export function testMoneyPath(browser: () => Browser): void {
	let clock: DemoClock;
	let opened: Awaited<ReturnType<typeof openService>>;
	before(async () => {
		clock = createDemoClock();
		// There is no engine, because the clock moves by weeks, and a shop without a Postback URL gets no callbacks.
		opened = await openService({ clock, settings: { RINGBACK_ROLE: "web" } });
	});
	after(async () => {
		await opened.close();
		assertNoErrors(opened.log);
	});

	/** Signs a person in with a new browser context, does something, and closes it. */
	async function visit<Value>(email: string, work: (page: Page) => Promise<Value>): Promise<Value> {
		const visitor = await openVisitor(browser(), opened.service.url);
		await signIn(visitor.page, email);
		const value = await work(visitor.page);
		await visitor.leave();
		return value;
	}

	/** Moves the clock to the tenth day of the next month. */
	function skipToNextMonth(): void {
		const nowMs = clock.nowMs();
		clock.skip(monthEndMs(monthIn(nowMs, "UTC"), "UTC") + 9 * DAY_MS - nowMs);
	}

	async function openShop(): Promise<{ path: string; client: Client }> {
		let keys = { key: "", secret: "" };
		const { path } = await openFirstShop(browser(), opened.service, OWNER, async (page) => {
			keys = await issueKey(page);
		});
		const { key: apiKey, secret } = keys;
		return { path, client: createClient({ url: opened.service.url, apiKey, secret, now: clock.nowMs }) };
	}

	/** Adds a partner with a coupon code and a person. Resolves to the path of the partner's pages. */
	async function addPartner(shopPath: string, name: string, email: string): Promise<string> {
		const { service } = opened;
		const { db } = service.store;
		const deps = { ...service, publicUrl: service.url };
		const programme = await findProgramme(db, shopPath.split("/").at(-1) ?? "");
		if (programme === undefined) throw new Error(`no programme at ${shopPath}`);
		await setProgramme(db, programme.id, { credits_partners: 1 });
		const { partner, link } = expectValue(await invitePartner(deps, COMMAND_LINE, { name, site: "", email }));
		const joined = expectValue(await addPartnership(deps, COMMAND_LINE, programme.id, partner));
		const row = { programme_id: programme.id, partnership_id: joined.id, created_at_ms: clock.nowMs() };
		await insertCode(db, { ...row, code: name, folded: foldCode(name) });
		const visitor = await openVisitor(browser(), service.url);
		await visitor.page.goto(link ?? "");
		await visitor.page.getByLabel("Your name").fill(name);
		await visitor.page.getByLabel("Password").fill(PASSWORD);
		await visitor.page.getByRole("button", { name: "Continue" }).click();
		await visitor.page.getByRole("heading", { name: "Earnings" }).waitFor();
		await visitor.leave();
		return `/partner/${partner.public_id}`;
	}

	test("the first statement stays as issued and paid, and the next one carries the differences", async () => {
		const { path, client } = await openShop();
		const blog = await addPartner(path, "Blog", "blog@blog.example");
		const small = await addPartner(path, "Small", "small@blog.example");
		const sell = async (orderId: string, basketValue: string, couponCode: string) =>
			equal((await client.record({ orderId, basketValue, couponCode })).ok, true);
		const approve = (...orders: readonly string[]) =>
			visit(OWNER, async (page) => {
				for (const order of orders) {
					await page.goto(`${path}/conversions`);
					await page.getByRole("link", { name: order, exact: true }).click();
					await page.getByRole("button", { name: "Approve" }).click();
					await page.getByText(`Order ${order} is approved.`).waitFor();
				}
			});
		await visit(STAFF_EMAIL, async (page) => {
			await page.goto("/network");
			await page.getByLabel("Network name").fill("Acme Partners");
			await page.getByRole("button", { name: "Save and continue" }).click();
			await page.getByText("Saved.").waitFor();
			await page.goto("/network");
			await page.getByLabel("Postal address").fill("Acme Partners\n1 Main Street");
			await page.getByLabel("Minimum payout, EUR").fill("25");
			await page.getByRole("button", { name: "Save payouts" }).click();
			await page.getByText("Saved.").waitFor();
		});
		await visit("blog@blog.example", async (page) => {
			await page.goto(`${blog}/payment-details`);
			await page.getByLabel("Payee", { exact: true }).fill("Blog Ltd");
			await page.getByLabel("IBAN").fill("DE89 3704 0044 0532 0130 00");
			await page.getByLabel("Current password").fill(PASSWORD);
			await page.getByRole("button", { name: "Save", exact: true }).click();
			await page.getByText("Saved.").waitFor();
		});

		// The commission is 8 percent.
		await sell("A-1", "100.00", "Blog");
		await sell("A-2", "200.00", "Blog");
		await sell("A-3", "500.00", "Blog");
		await sell("A-4", "50.00", "Small");
		await approve("A-1", "A-2", "A-3", "A-4");
		const refund = { orderId: "A-2", refundId: "R-1", amount: "50.00", reason: "RETURN" } as const;
		equal((await client.refund(refund)).ok, true);

		const firstMonth = sayMonth(monthIn(clock.nowMs(), "UTC"));
		skipToNextMonth();
		await visit(STAFF_EMAIL, async (page) => {
			const issued = await issueLastMonth(page, firstMonth);
			match(issued, /Blog 0\.00 EUR 64\.00 EUR -4\.00 EUR 0\.00 EUR 60\.00 EUR To pay/);
			match(issued, /Small 0\.00 EUR 4\.00 EUR 0\.00 EUR 0\.00 EUR 4\.00 EUR Carried forward/);
			await page.goto("/statements");
			await page.locator('input[name="statement"]').check();
			await page.getByLabel("Reference").fill("SEPA 1");
			await page.getByRole("button", { name: "Mark as paid" }).click();
			await page.getByText("1 statement marked as paid.").waitFor();
		});

		// A return after the payment, a sale that belongs to another partner, and a new sale.
		equal((await client.reverse({ orderId: "A-1", reason: "RETURN" })).ok, true);
		await sell("A-5", "300.00", "Blog");
		await approve("A-5");
		await visit(STAFF_EMAIL, async (page) => {
			await page.goto(`${path}/conversions`);
			await page.getByRole("link", { name: "A-3", exact: true }).click();
			await page.getByText("Change the partner").click();
			await page.getByLabel("Partner's name or ID").fill("Small");
			await page.getByLabel("Reason for the change").fill("Small proved it");
			await page.getByRole("button", { name: "Show the new amounts" }).click();
			await page.getByRole("row", { name: "Partner Blog Small" }).waitFor();
			await page.getByRole("button", { name: "Change partner" }).click();
			await page.getByRole("link", { name: "Small" }).first().waitFor();
		});

		const secondMonth = sayMonth(monthIn(clock.nowMs(), "UTC"));
		skipToNextMonth();
		const statements = [
			[blog, "Paid", "60.00"],
			[blog, "Carried forward", "-24.00"],
			[small, "To pay", "44.00"],
		] as const;
		const check = async (page: Page, base?: string) => {
			for (const [path, state, total] of statements) {
				if (base !== undefined && path !== base) continue;
				const read = await readStatement(page, path, state);
				equal(read.total, `${total} EUR`, state);
				equal(addAmounts(read.opening, read.inFile), total, "the file proves the statement");
			}
		};
		await visit(STAFF_EMAIL, async (page) => {
			const issued = await issueLastMonth(page, secondMonth);
			match(issued, /Blog 0\.00 EUR 24\.00 EUR -48\.00 EUR 0\.00 EUR -24\.00 EUR Carried forward/);
			match(issued, /Small 4\.00 EUR 0\.00 EUR 40\.00 EUR 0\.00 EUR 44\.00 EUR To pay/);
			await check(page);
		});
		await visit("blog@blog.example", (page) => check(page, blog));
		await visit("small@blog.example", (page) => check(page, small));
	});
}

/** Prepares and issues the statements of the last month. Resolves to the text of the preview. */
async function issueLastMonth(page: Page, month: string): Promise<string> {
	await page.goto("/statements");
	await page.locator("#prepare select").selectOption({ label: month });
	await page.getByRole("button", { name: "Prepare statements" }).click();
	await page.getByRole("heading", { name: "Preview, not confirmed yet" }).waitFor();
	const text = await page.locator("#lines").innerText();
	await page.getByRole("button", { name: /^Issue \d+ statements$/ }).click();
	await page.getByText(/statements issued\./).waitFor();
	return text.replace(/\s+/g, " ");
}

/** Opens a partner's statement in this state. Resolves to its total, its opening balance and the sum of its file. */
async function readStatement(page: Page, base: string, state: string) {
	await page.goto(`${base}/statements`);
	await page.getByRole("row").filter({ hasText: state }).getByRole("link").first().click();
	await page.getByRole("heading", { name: /^Statement / }).waitFor();
	const amountOf = async (line: string) =>
		(await page.getByRole("row").filter({ hasText: line }).getByRole("cell").last().innerText()).trim();
	const href = (await page.getByRole("link", { name: "Sales as CSV" }).getAttribute("href")) ?? "";
	const file = await (await page.context().request.get(href)).text();
	return {
		total: await amountOf("Total"),
		opening: (await amountOf("Opening balance")).replace(" EUR", ""),
		inFile: sumOf(file),
	};
}

/** Adds up the three columns of amounts. */
function sumOf(file: string): string {
	const [header = "", ...lines] = file.replace("\u{FEFF}", "").trim().split("\r\n");
	const names = header.split(",");
	const columns = ["commission", "change", "adjusted"].map((name) => names.indexOf(name));
	const amounts = lines.flatMap((line) => columns.flatMap((column) => line.split(",")[column] || []));
	return amounts.reduce(addAmounts, "0.00");
}
