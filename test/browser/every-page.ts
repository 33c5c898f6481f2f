// Opens every page in every state, with names and order IDs that are long or contain markup. Everything must be reachable,
// nothing may be cut off or interpreted as markup, and the browser must report no error.

import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeNetwork } from "#core/programmes/network.ts";
import { expectValue } from "../support/shop-account.ts";
import { becomeFirstStaff, createProgramme, trySample } from "./first-steps.ts";
import { LONG_ORDER, MARKUP_ORDER, NAME } from "./hard-names.ts";
import { IMPORT_PAGES, storeMovingImports } from "./import-cases.ts";
import { NETWORK_PAGES } from "./network-cases.ts";
import { type Case, NOBODYS, ownersPages, partnersPages, staffPages, viewersPages } from "./page-cases.ts";
import { findExcess, findFlaws, findInline, Measured } from "./page-checks.ts";
import { fillSampleNetwork, type SampleNetwork } from "./sample-network.ts";
import { openSetup, type Setup } from "./setup.ts";
import { openStatement, partnersStatements, staffStatements } from "./statement-cases.ts";
import { openVisitor, type Visitor } from "./visitor.ts";

/** An identity provider that nobody asks. It puts its button, with a label of maximum length, on the sign-in page. */
const PROVIDER = {
	RINGBACK_OIDC_ISSUER: "https://login.network.example",
	RINGBACK_OIDC_CLIENT_ID: "ringback",
	RINGBACK_OIDC_CLIENT_SECRET: "nothing",
	RINGBACK_OIDC_LABEL: "Sign in with your account at the Nordlicht Outdoor Partners",
};

export function testEveryPage(browser: () => Browser): void {
	let setup: Setup;
	let site: SampleNetwork;
	const measured = new Measured();
	before(async () => {
		// There is no engine, so pending callbacks stay pending.
		setup = await openSetup({ settings: { RINGBACK_ROLE: "web", ...PROVIDER } });
		const orderIds = [LONG_ORDER, MARKUP_ORDER];
		site = await fillSampleNetwork(browser(), setup.service, { mainName: NAME, sales: 32, orderIds });
		await storeMovingImports(setup.service);
		// A name of maximum length, and a colour that would be unreadable without a correction.
		const face = { name: NAME, colour: "#ffd400", supportAddress: `${"help".repeat(15)}@network.example` };
		expectValue(await changeNetwork(setup.service, COMMAND_LINE, face));
	});
	after(() => setup.close());

	test("the pages of the first start, without any data, have no flaws", async (t) => {
		const first = await openSetup();
		t.after(() => first.close());
		const visitor = await openVisitor(browser(), first.service.url);
		const { page } = visitor;
		await page.goto(first.service.welcomeLink ?? "");
		deepEqual(await findFlaws(page, measured), []);
		await becomeFirstStaff(page, first.service.welcomeLink);
		deepEqual(await findFlaws(page, measured), []);
		await page.goto("/programmes");
		deepEqual(await findFlaws(page, measured), []);
		await page.goto("/conversions");
		deepEqual(await findFlaws(page, measured), []);
		await page.goto("/network");
		await trySample(page, NAME);
		deepEqual(await findFlaws(page, measured), []);
		const link = await createProgramme(page, { name: NAME, ownerEmail: "jonas@nordlicht.example" });
		deepEqual(await findFlaws(page, measured), []);
		await page.goto(link);
		deepEqual(await findFlaws(page, measured), []);
		await visitor.leave();
	});

	test("a statement prints on one page of A4 or Letter, in light colours and without navigation", async () => {
		const dark = { storageState: site.partner, colorScheme: "dark" } as const;
		const { page, leave } = await openVisitor(browser(), setup.service.url, dark);
		await page.goto(`${site.partnerBase}/statements`);
		await openStatement("To pay")(page);
		await page.emulateMedia({ media: "print", colorScheme: "dark" });
		deepEqual(await page.evaluate(PRINTED), {
			unwanted: [],
			scheme: "light",
			isTitled: true,
			hasTotal: true,
		});
		for (const format of ["A4", "Letter"] as const) {
			const pdf = (await page.pdf({ format })).toString("latin1");
			equal(pdf.match(/\/Type \/Page\b/g)?.length, 1, format);
		}
		await leave();
	});

	test("on a tablet nothing is wider than the window, and the log's times take one line", async () => {
		const staff = { storageState: site.staff };
		const { page, leave } = await openVisitor(browser(), setup.service.url, staff);
		const inbound = `${site.main}/integration/inbound`;
		for (const [path, width] of [
			["/conversions", 768],
			["/system/audit", 900],
			[inbound, 768],
			[inbound, 1024],
			[`${site.main}/conversions`, 1000],
			[`${site.partnerBase}/conversions`, 1024],
		] as const) {
			await page.setViewportSize({ width, height: 900 });
			await page.goto(path);
			const expected = { pageOverPx: 0, tableOverPx: 0, brokenTimes: 0 };
			const { hasTimes, ...measured } = await page.evaluate<TabletLook>(TABLET_LOOK);
			ok(hasTimes, path);
			deepEqual(measured, expected, `${path} at ${width} px`);
		}
		await leave();
	});

	const readers = {
		nobody: () => [...NOBODYS],
		owner: () => ownersPages(site),
		viewer: () => viewersPages(site),
		partner: () => [...partnersPages(site), ...partnersStatements(site)],
		staff: () => [...staffPages(site), ...NETWORK_PAGES, ...IMPORT_PAGES, ...staffStatements(site)],
	};
	for (const reader of ["nobody", "owner", "viewer", "partner", "staff"] as const) {
		test(`every page as ${reader === "nobody" ? "a stranger" : `the ${reader}`} sees it has no flaws`, async (t) => {
			const storageState = reader === "nobody" ? undefined : site[reader];
			const visitor = await openVisitor(browser(), setup.service.url, storageState && { storageState });
			const fragments = new Set<string>();
			for (const page of readers[reader]()) {
				await t.test(page.what, () => lookAt(visitor, page, measured, fragments));
			}
			await t.test("every link to a part of a page leads to an existing part", () =>
				checkFragments(visitor, fragments),
			);
			await visitor.leave();
		});
	}
}

/** Finds what must not be on paper, and what must be. */
const PRINTED = `({
	unwanted: [...document.querySelectorAll("nav, header, footer, button, form, .button")]
		.filter((element) => element.checkVisibility()).map(({ outerHTML }) => outerHTML.slice(0, 80)),
	scheme: getComputedStyle(document.documentElement).colorScheme,
	isTitled: /^Statement /.test(document.querySelector("h1").textContent),
	hasTotal: document.querySelector(".statement tbody > tr:last-child").checkVisibility(),
})`;

interface TabletLook {
	hasTimes: boolean;
	/** Number of pixels by which the page is wider than the window, and a table wider than its place. */
	pageOverPx: number;
	tableOverPx: number;
	/** Number of times in first columns that take several lines. */
	brokenTimes: number;
}

const TABLET_LOOK = `(() => {
	const tables = [...document.querySelectorAll(".table-scroll")];
	const times = [...document.querySelectorAll("td:first-child time")];
	return {
		hasTimes: document.querySelector("td time") !== null,
		pageOverPx: document.documentElement.scrollWidth - innerWidth,
		tableOverPx: Math.max(...tables.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)),
		brokenTimes: times.filter((time) => time.getClientRects().length > 1).length,
	};
})()`;

async function lookAt(
	visitor: Visitor,
	{ path, status, isBounded, act }: Case,
	measured: Measured,
	fragments: Set<string>,
): Promise<void> {
	const { page } = visitor;
	let answer = await page.goto(path);
	if (act !== undefined) {
		page.on("response", take);
		await act(page);
		page.off("response", take);
	}
	function take(response: NonNullable<typeof answer>): void {
		if (response.request().isNavigationRequest()) answer = response;
	}
	equal(answer?.status(), status);
	const inline = findInline((await answer?.text()) ?? "");
	// The host of partners' links serves no style sheets, so its page contains its style.
	deepEqual(inline, path.startsWith("/c/") ? ["an inline style sheet: <style"] : []);
	deepEqual(await findFlaws(page, measured), []);
	if (isBounded) deepEqual(await findExcess(page), []);
	deepEqual(visitor.takeComplaints(), []);
	for (const href of await page.evaluate<string[]>(LINKS_TO_PARTS)) fragments.add(href);
}

const LINKS_TO_PARTS = `[...document.querySelectorAll("a[href*='#']")].map(({ href }) => href)`;

async function checkFragments({ context }: Visitor, fragments: ReadonlySet<string>): Promise<void> {
	const texts = new Map<string, string>();
	const missing: string[] = [];
	for (const href of fragments) {
		const { pathname, search, hash } = new URL(href);
		const path = pathname + search;
		if (!texts.has(path)) {
			const answer = await context.request.get(path, { headers: { accept: "text/html" } });
			texts.set(path, await answer.text());
		}
		if (texts.get(path)?.includes(`id="${hash.slice(1)}"`) !== true) missing.push(href);
	}
	deepEqual(missing, []);
}
