// Takes screenshots of a sample network. `npm run pictures` renews those of the README, and `npm run pictures -- FOLDER`
// writes a screenshot of every page into the folder.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions } from "playwright-core";
import { findBrowser } from "../support/browser.ts";
import { LONG_ORDER, MARKUP_ORDER, NAME } from "./hard-names.ts";
import { IMPORT_PAGES, storeMovingImports } from "./import-cases.ts";
import { NETWORK_PAGES } from "./network-cases.ts";
import { type Case, look, NOBODYS, ownersPages, partnersPages, staffPages } from "./page-cases.ts";
import { fillSampleNetwork } from "./sample-network.ts";
import { openSetup } from "./setup.ts";
import { partnersStatements, staffStatements } from "./statement-cases.ts";
import { openVisitor } from "./visitor.ts";

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const [folder] = process.argv.slice(2);
const found = await findBrowser();
if (!found.isThere) throw new Error(found.reason);
const { browser } = found;
// There is no engine, so pending callbacks stay pending. The port is fixed, because it appears in the screenshots.
const setup = await openSetup({
	settings: { PORT: "8460", RINGBACK_ROLE: "web", RINGBACK_ALLOWED_PRIVATE_RANGES: "" },
});

async function takeAll(pages: readonly Case[], into: string, options: BrowserContextOptions): Promise<void> {
	const visitor = await openVisitor(browser, setup.service.url, options);
	for (const { what, path, act } of pages) {
		await visitor.page.goto(path);
		await act?.(visitor.page);
		await visitor.page.mouse.move(0, 0);
		await visitor.page.screenshot({ path: join(into, `${what.replace(/\W+/g, "-")}.png`) });
	}
	await visitor.leave();
}

try {
	const odd = folder === undefined ? {} : { mainName: NAME, orderIds: [LONG_ORDER, MARKUP_ORDER] };
	const site = await fillSampleNetwork(browser, setup.service, { sales: 420, ...odd });
	if (folder === undefined) {
		const { main, owner: storageState } = site;
		const integration = look("integration", `${main}/integration`);
		await takeAll([integration], IMAGES, { storageState });
		const conversions = look("conversions-dark", `${main}/conversions`);
		await takeAll([conversions], IMAGES, { storageState, colorScheme: "dark" });
		const links = look("partner-links", `${site.partnerBase}/links`);
		await takeAll([links], IMAGES, { storageState: site.partner });
	} else {
		await storeMovingImports(setup.service);
		mkdirSync(folder, { recursive: true });
		await takeAll(NOBODYS, folder, {});
		await takeAll(ownersPages(site), folder, { storageState: site.owner });
		mkdirSync(join(folder, "partner"), { recursive: true });
		const ofPartner = [...partnersPages(site), ...partnersStatements(site)];
		await takeAll(ofPartner, join(folder, "partner"), { storageState: site.partner });
		const pages = [...staffPages(site), ...NETWORK_PAGES, ...IMPORT_PAGES, ...staffStatements(site)];
		await takeAll(pages, folder, { storageState: site.staff });
	}
} finally {
	await browser.close();
	await setup.close();
}
