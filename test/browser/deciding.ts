// Tests finding conversions and deciding on them: the browser's own checks, the time zone of filters, and
// rows on a phone.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { findProgramme } from "#core/store/queries/programmes.ts";
import { addConversion } from "../support/rows.ts";
import { until } from "../support/until.ts";
import { type FirstShop, openFirstShop } from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor } from "./visitor.ts";

/**
 * A conversion of half past midnight in Berlin, the visitor's time zone. In UTC it is still the day before.
 */
const EARLY = { order_id: "EARLY", created_at_ms: Date.UTC(2025, 10, 14, 23, 30) };
const LATER = { order_id: "LATER", created_at_ms: Date.UTC(2025, 10, 15, 12) };

/** Recording time as it is shown on hover, and without scripts. */
const RECORDED = "2025-11-14 23:30:00 UTC";

export function testDeciding(browser: () => Browser): void {
	let setup: Setup;
	let list: string;
	let storageState: FirstShop["storageState"];
	before(async () => {
		setup = await openSetup({ settings: { RINGBACK_ROLE: "web" } });
		const { service } = setup;
		let path: string;
		({ path, storageState } = await openFirstShop(browser(), service, "jonas@nordlicht.example"));
		list = `${path}/conversions`;
		const programme = await findProgramme(service.store.db, path.split("/").at(-1) ?? "");
		ok(programme !== undefined);
		for (const row of [EARLY, LATER]) {
			await addConversion(service.store, programme.id, { ...row, basket_value: "9999999.99" });
		}
	});
	after(() => setup.close());

	const orders = ".order-id";

	test("a day filter uses the network's time zone and says so, for every reader, with scripts or without", async (t) => {
		const { db } = setup.service.store;
		const setZone = async (zone: string) => {
			await db.updateTable("network").set({ time_zone: zone }).execute();
		};
		t.after(() => setZone("UTC"));
		const readers = [
			{ storageState, timezoneId: "America/Los_Angeles" },
			{ storageState, javaScriptEnabled: false },
		];
		for (const [zone, found] of [
			["UTC", ["LATER"]],
			["Europe/Berlin", ["LATER", "EARLY"]],
		] as const) {
			await setZone(zone);
			for (const reader of readers) {
				const visitor = await openVisitor(browser(), setup.service.url, reader);
				const { page } = visitor;
				const field = page.getByLabel(`From (${zone})`, { exact: true });
				// The network's settings are cached for a second.
				await until(async () => {
					await page.goto(list);
					return (await field.count()) === 1;
				});
				await field.fill("2025-11-15");
				await page.getByRole("button", { name: "Apply filters" }).click();
				await page.waitForURL(/from=2025-11-15/);
				deepEqual(await page.locator(orders).allTextContents(), found);
				await visitor.leave();
			}
		}
	});

	test("a file that is too large is refused before it is sent, and a smaller one is sent", async (t) => {
		const here = await openVisitor(browser(), setup.service.url, { storageState });
		const { page } = here;
		const folder = mkdtempSync(join(tmpdir(), "ringback-browser-"));
		t.after(() => rmSync(folder, { recursive: true }));
		const large = join(folder, "large.csv");
		writeFileSync(large, "orderId,decision\n");
		truncateSync(large, 10 * 1_024 * 1_024 + 1);
		await page.goto(`${list}/bulk`);
		const sent: string[] = [];
		page.on("request", (request) => {
			if (request.method() === "POST") sent.push(request.url());
		});
		const field = page.locator("input[type=file]");
		const said = () => page.evaluate(`document.querySelector("input[type=file]").validationMessage`);
		const send = page.getByRole("button", { name: /upload|check/i }).first();
		await field.setInputFiles(large);
		equal(await said(), "The file is larger than 10 MB. Split it into parts.");
		await send.click();
		const small = { name: "small.csv", mimeType: "text/csv", buffer: Buffer.from("orderId\nEARLY\n") };
		await field.setInputFiles(small);
		equal(await said(), "");
		deepEqual(sent, []);
		await send.click();
		await page.locator("#file-error").waitFor();
		equal(sent.length, 1);
		await here.leave();
	});

	test("times name their zone: the network's in lists with its days, and elsewhere the browser's or the reader's own", async () => {
		const here = await openVisitor(browser(), setup.service.url, { storageState });
		const { page } = here;
		const early = page.locator(`time[title*="(${RECORDED})"]`).first();
		const whole = () => early.getAttribute("title");
		await page.goto(list);
		match(await early.innerText(), /^14\sNov\s2025, 23:30$/, "to the minute");
		match((await whole()) ?? "", /^14\sNov\s2025, 23:30:00\sUTC \(/);
		await page.getByText("Times are in UTC.").waitFor();
		const one = await page.getByRole("link", { name: "EARLY" }).getAttribute("href");
		ok(one !== null);
		const recorded = page.locator('time[datetime="2025-11-14T23:30:00.000Z"]').first();
		await page.goto(one);
		match(await recorded.innerText(), /^15\sNov\s2025, 00:30:00\s(CET|GMT\+1)$/, "the browser's");
		await page.goto("/account");
		await page.getByLabel("Time zone").selectOption("America/New_York");
		await page.getByLabel("Language of dates and numbers").selectOption("de-DE");
		await page.getByRole("button", { name: "Save settings" }).click();
		await page.getByText("Saved.").waitFor();
		await page.goto(one);
		match(await recorded.innerText(), /^14\.11\.2025, 18:30:00\s(EST|GMT-5)$/, "the reader's own");
		await page.goto(list);
		match(await early.innerText(), /^14\.11\.2025, 23:30$/, "in the reader's language");
		await page.getByText("9.999.999,99").first().waitFor();
		equal(await page.getByLabel("From (UTC)").count(), 1, "a filter has the days of the network");
		await here.leave();

		const off = await openVisitor(browser(), setup.service.url, { storageState, javaScriptEnabled: false });
		await off.page.goto(list);
		equal(await off.page.locator(`time[title="${RECORDED}"]`).first().innerText(), RECORDED);
		await off.leave();
	});

	test("on a phone every cell of a row is visible, and screen readers still find a table", async () => {
		const viewport = { width: 390, height: 844 };
		const visitor = await openVisitor(browser(), setup.service.url, { storageState, viewport });
		const { page } = visitor;
		await page.goto(list);
		const table = page.getByRole("table", { name: "Conversions, the newest first" });
		equal(await table.getByRole("row").count(), 3, "the titles, and two conversions");
		equal(await table.getByRole("columnheader", { name: "Basket" }).count(), 1);
		const cells = table.getByRole("row").nth(1).getByRole("cell");
		equal(await cells.count(), 8);
		for (const cell of await cells.all()) {
			const box = await cell.boundingBox();
			ok(box !== null && box.x >= 0 && box.x + box.width <= viewport.width, await cell.innerText());
		}
		equal(await page.evaluate("document.querySelector('.table-scroll').scrollWidth <= innerWidth"), true);
		await page.getByLabel("Select all on this page").check();
		equal(await page.locator("tbody input:checked").count(), 2);
		await visitor.leave();
	});

	for (const javaScriptEnabled of [true, false]) {
		const scripts = javaScriptEnabled ? "on" : "off";
		test(`rejecting a conversion needs a reason and a confirmation, with scripts ${scripts}`, async () => {
			const visitor = await openVisitor(browser(), setup.service.url, { storageState, javaScriptEnabled });
			const { page } = visitor;
			const order = javaScriptEnabled ? "EARLY" : "LATER";
			await page.goto(list);
			await page.getByLabel(`Select order ${order}`).check();
			await page.getByRole("button", { name: "Reject" }).click();
			equal(new URL(page.url()).pathname, list, "the browser sends nothing without a reason");
			equal(await page.getByLabel(`Select order ${order}`).isChecked(), true);
			await page.getByLabel(/^Reason/).selectOption("FRAUD");
			await page.getByRole("button", { name: "Reject" }).click();
			await page.getByRole("heading", { name: `Reject order ${order}?` }).waitFor();
			await page.getByRole("link", { name: "Cancel" }).click();
			const row = page.getByRole("row").filter({ hasText: order });
			await row.getByText("Recorded", { exact: true }).waitFor();
			await page.getByLabel(`Select order ${order}`).check();
			await page.getByLabel(/^Reason/).selectOption("FRAUD");
			await page.getByRole("button", { name: "Reject" }).click();
			await page.getByRole("button", { name: "Reject this order" }).click();
			await page.getByText(`Order ${order} is rejected.`).waitFor();
			await visitor.leave();
		});
	}

	test("a visible bar counts the selected conversions, and rejecting two of them takes one page in between", async () => {
		const { store, url } = setup.service;
		const programme = await findProgramme(store.db, list.split("/").at(-2) ?? "");
		for (let index = 0; index < 30; index++) {
			const order_id = `BAR-${String(index).padStart(2, "0")}`;
			await addConversion(store, programme?.id ?? 0, { order_id, basket_value: "1362.84" });
		}
		for (const viewport of [
			{ width: 1440, height: 900 },
			{ width: 390, height: 844 },
		]) {
			const visitor = await openVisitor(browser(), url, { storageState, viewport });
			const { page } = visitor;
			await page.goto(`${list}?orderId=bar-&status=RECORDED`);
			const bar = page.locator(".selection-bar");
			await page.getByText("0 selected").waitFor();
			const orders = await page.locator(".order-id").allTextContents();
			for (const order of orders.slice(0, 2)) await page.getByLabel(`Select order ${order}`).check();
			await page.getByText("2 selected").waitFor();
			// The bar is beside the first rows once the page has stopped moving.
			await until(async () => {
				const box = await bar.boundingBox();
				return box !== null && box.y >= 0 && box.y + box.height <= viewport.height + 1;
			});
			await page.getByLabel(`Select order ${orders[1]}`).uncheck();
			await page.getByText("1 selected").waitFor();
			await page.getByLabel(`Select order ${orders[1]}`).check();
			await page.getByRole("button", { name: "Approve" }).click();
			await page.getByRole("heading", { name: "Approve 2 conversions?" }).waitFor();
			// The amount is in German format, because the account's language was set to German above.
			await page.getByText("2.725,68 EUR").waitFor();
			await page.getByRole("button", { name: "Approve 2 conversions" }).click();
			await page.getByText("2 conversions approved.").waitFor();
			equal(new URL(page.url()).search, "?orderId=bar-&status=RECORDED");
			await visitor.leave();
		}
	});

	test("with scripts off, all matching conversions can be selected, and the headings sort the list", async () => {
		const visitor = await openVisitor(browser(), setup.service.url, {
			storageState,
			javaScriptEnabled: false,
		});
		const { page } = visitor;
		await page.goto(`${list}?orderId=bar-&status=RECORDED`);
		await page.getByRole("link", { name: "Basket" }).click();
		await page.getByRole("table", { name: "Conversions, the largest basket first" }).waitFor();
		equal(await page.getByLabel(/Select all \d+ that match/).count(), 0, "all of them are on the page");
		await page.goto(list);
		await page.getByRole("link", { name: "Sold" }).click();
		await page.getByRole("table", { name: "Conversions, the latest sale first" }).waitFor();
		await visitor.leave();
	});
}
