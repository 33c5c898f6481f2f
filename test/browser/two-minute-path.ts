// Tests the path from the first start to the first callback, for a person who has never seen the product.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { makeFolder } from "../support/run-folder.ts";
import { watchProcess } from "../support/watched-process.ts";
import {
	becomeFirstStaff,
	joinAsOwner,
	linkFromMail,
	pressTwice,
	savePostbackUrl,
	trySample,
} from "./first-steps.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openVisitor, type Visitor } from "./visitor.ts";

const OWNER = "jonas@nordlicht.example";
/**
 * Maximum duration of the path that is promised to a person. The test itself takes only seconds, or longer on
 * a busy machine.
 */
const LONGEST_PATH_MS = 120_000;
/**
 * Maximum time until the page shows that a listener has stopped. It is shorter than the time after which a
 * silent listener counts as gone.
 */
const SEEN_AS_GONE_MS = 20_000;
/** Maximum number of pages on the path: the link, the account and the network's name. */
const MOST_PAGES = 3;
const MAX_CLICKS = 5;
/** Time that a person waits for the result of a click before clicking again. */
const CLICK_PATIENCE_MS = 20_000;

export function testTwoMinutePath(browser: () => Browser): void {
	let setup: Setup;
	let newcomer: Visitor;
	before(async () => {
		setup = await openSetup();
	});
	after(() => setup.close());

	test("one person with one browser and one command gets from the first start to a verified callback", async (t) => {
		const startedAtMs = performance.now();
		const { service } = setup;
		newcomer = await openVisitor(browser(), service.url);
		const { page } = newcomer;
		let pages = 0;
		page.on("request", (request) => {
			if (request.isNavigationRequest() && request.redirectedFrom() === null) pages++;
		});
		await becomeFirstStaff(page, service.welcomeLink);
		const { key, secret } = await trySample(page, "Acme");
		match(key, /^rbk_/);
		ok(secret.length > 30);
		await page.getByText("Not connected.").waitFor();
		const line = (await page.locator("#keys").getByLabel("the command", { exact: true }).textContent()) ?? "";
		ok(line.includes(key) && line.includes(secret));
		const terminal = paste(line);
		try {
			await terminal.said(/checking their signatures/);
			await page.getByText("Connected", { exact: true }).waitFor();
			await pressTwice(page, "Send test conversion");
			await terminal.said(/→ signature valid {2}test$/m);
			await page.locator("#test-live").getByText("Signature valid").waitFor();
			await page.locator(".step-done").filter({ hasText: "Callback verified" }).waitFor();
			const tookMs = performance.now() - startedAtMs;
			t.diagnostic(
				`first start to a verified callback: ${Math.round(tookMs)} ms, ${pages} pages opened or sent`,
			);
			ok(tookMs < LONGEST_PATH_MS, `it took ${tookMs} ms`);
			ok(pages <= MOST_PAGES, `it took ${pages} pages`);
		} finally {
			terminal.close();
		}
		await page.getByText("Not connected.").waitFor({ timeout: SEEN_AS_GONE_MS });
		const whichShown = async () => {
			const text = await page.content();
			return [text.includes(key), text.includes(secret)];
		};
		deepEqual(await whichShown(), [true, true], "still there to be copied");
		match(await beRefused(page), /did not work/);
		ok(newcomer.takeComplaints().every((complaint) => /422/.test(complaint)));
		deepEqual(await whichShown(), [true, true], "also when something went wrong");
		await page.reload();
		deepEqual(await whichShown(), [false, false], "shown once");
		await page.getByRole("link", { name: "Go to Integration" }).click();
	});

	test("after a Postback URL is saved, the callback appears on the open page", async () => {
		const { shop } = setup;
		const { page } = newcomer;
		await savePostbackUrl(page, shop.url("/ringback?shop=1"));
		await page.locator(".step:not(.step-done)").filter({ hasText: "Callback answered 2xx" }).waitFor();
		// The shop answers only after the page is shown, so the page must receive the result later.
		const isShown = Promise.withResolvers<void>();
		shop.answer = () => ({
			raw: (socket) =>
				void isShown.promise.then(() => socket.end("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")),
		});
		await page.getByRole("button", { name: "Send test conversion" }).click();
		await page.getByText(/^Test conversion test-\w+ is recorded\.$/).waitFor();
		// A reload would remove this mark.
		await page.evaluate("window.isSamePage = true");
		equal(await deliveredRow(page, "conversion.recorded").count(), 0, "not there from the beginning");
		isShown.resolve();
		shop.answer = () => ({ status: 204 });
		await deliveredRow(page, "conversion.recorded").waitFor();
		equal(await page.evaluate("window.isSamePage"), true, "it arrived without a reload");
		for (const { rawHeaders } of shop.requests) ok(rawHeaders.includes("X-Acme-Signature"));
		await page.getByRole("link", { name: "People", exact: true }).click();
		await page.getByLabel("Email").fill(OWNER);
		await page.getByLabel("Role").selectOption("owner");
		await page.getByRole("button", { name: "Invite" }).click();
		await page.getByText("on its way by mail").waitFor();
		await newcomer.leave();
	});

	test("the owner joins by the link in the mail and moves the test conversion to its last status", async () => {
		const { service, shop, mail } = setup;
		const owner = await openVisitor(browser(), service.url);
		const { page } = owner;
		await joinAsOwner(page, await linkFromMail(mail, OWNER, /invited to manage/));
		const approve = page.locator("#test").getByRole("button", { name: "Approve" });
		await approve.click();
		await deliveredRow(page, "conversion.approved").waitFor();
		// The list may show the callback before the answer to the form replaces the buttons.
		await approve.waitFor({ state: "detached" });
		await reverse(page);
		deepEqual(
			shop.requests.map(({ body }) => [JSON.parse(String(body)).event, JSON.parse(String(body)).test]),
			[
				["conversion.recorded", true],
				["conversion.approved", true],
				["conversion.reversed", true],
			],
		);
		const list = page.getByRole("region", { name: "Callbacks, one per row" });
		await list.getByRole("row").nth(3).waitFor();
		equal(await list.getByRole("row").count(), 4, "a head and three deliveries");
		await page.getByRole("link", { name: "Conversions", exact: true }).click();
		await page.getByRole("heading", { name: "Conversions", level: 1 }).waitFor();
		await page.getByRole("link", { name: "Show tests" }).click();
		await page.getByRole("cell", { name: /Reversed/ }).waitFor();
		await owner.leave();
	});
}

/**
 * Reverses the test conversion, and waits for its callback. The page replaces its buttons when news arrive, and a click at
 * that moment is lost, so that a person clicks again.
 */
async function reverse(page: Page): Promise<void> {
	const delivered = deliveredRow(page, "conversion.reversed");
	const button = page.locator("#test").getByRole("button", { name: "Reverse" });
	for (let clicks = 0; clicks < MAX_CLICKS && !(await delivered.isVisible()); clicks++) {
		if (await button.isVisible()) {
			await page.locator("#test").getByLabel("Reason", { exact: true }).selectOption("RETURN");
			await button.click();
		}
		await delivered.waitFor({ timeout: CLICK_PATIENCE_MS }).catch(() => undefined);
	}
	await delivered.waitFor();
}

/** Sends a test conversion with a character that cannot be stored, and resolves to the error message. */
async function beRefused(page: Page): Promise<string> {
	const field = `Object.assign(document.createElement("input"), { type: "hidden", name: "x", value: "\\0" })`;
	await page.evaluate(`document.querySelector("#test form").append(${field})`);
	await page.getByRole("button", { name: "Send test conversion" }).click();
	const box = page.getByRole("dialog");
	const message = (await box.locator("p").textContent()) ?? "";
	await box.getByRole("button", { name: "Close" }).click();
	return message;
}

/** Runs a command in a terminal, which is closed at the end with all its processes. */
function paste(line: string) {
	// The packages that npx downloads are removed with this folder.
	const cache = makeFolder("npx");
	const env = { ...process.env, npm_config_cache: cache, npm_config_update_notifier: "false" };
	const child = spawn("sh", ["-c", line], { stdio: ["ignore", "pipe", "pipe"], detached: true, env });
	const { said } = watchProcess(child);
	const close = () => {
		if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
		rmSync(cache, { recursive: true, force: true });
	};
	return { said, close };
}

export function deliveredRow(page: Page, event: string) {
	return page
		.locator("#test-live")
		.getByRole("row")
		.filter({ hasText: event })
		.filter({ hasText: "Delivered" });
}
