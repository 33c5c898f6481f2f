// All tests that need a real browser. They share one browser process, and each suite has its own service.

import { after, describe } from "node:test";
import type { Browser } from "playwright-core";
import { findBrowser } from "../support/browser.ts";
import { reportNotRun } from "../support/not-run.ts";
import { testDeciding } from "./deciding.ts";
import { testDocs } from "./docs.ts";
import { testEveryPage } from "./every-page.ts";
import { testFlaws } from "./flaws.ts";
import { testKeyboard } from "./keyboard.ts";
import { testLandingUrls } from "./landing-urls.ts";
import { testLive } from "./live.ts";
import { testPartnerPath } from "./partner-path.ts";
import { testScriptsOff } from "./scripts-off.ts";
import { testTwoMinutePath } from "./two-minute-path.ts";

const found = await findBrowser();
// The hook belongs to the file and not to the suite, because the browser is open even if no test of the suite runs.
after(async () => {
	if (found.isThere) await found.browser.close();
});

describe("in a browser", { skip: found.isThere ? false : reportNotRun(found.reason) }, () => {
	if (!found.isThere) return;
	const browser = (): Browser => found.browser;
	describe("the checks of every page", () => testFlaws(browser));
	describe("the first two minutes", () => testTwoMinutePath(browser));
	describe("a partner's first sale", () => testPartnerPath(browser));
	describe("by keyboard alone", () => testKeyboard(browser));
	describe("with scripts off", () => testScriptsOff(browser));
	describe("deciding", () => testDeciding(browser));
	describe("the guide", () => testDocs(browser));
	describe("where links lead", () => testLandingUrls(browser));
	describe("live pages", () => testLive(browser));
	// Four readers, two at a time, each in its own browser process.
	describe("every page", { concurrency: 2 }, () => testEveryPage(browser));
});
