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
import { testMoneyPath } from "./money-path.ts";
import { testPartnerPath } from "./partner-path.ts";
import { testScriptsOff } from "./scripts-off.ts";
import { testTwoMinutePath } from "./two-minute-path.ts";

const found = await findBrowser();
// The hook belongs to the file and not to the suite, because the browser is open even if no test of the suite runs.
after(async () => {
	if (found.isThere) await found.browser.close();
});

describe("tests in a real browser", { skip: found.isThere ? false : reportNotRun(found.reason) }, () => {
	if (!found.isThere) return;
	const browser = (): Browser => found.browser;
	describe("the checks that every page must pass", () => testFlaws(browser));
	describe("the path from the first start to the first callback", () => testTwoMinutePath(browser));
	describe("a partner's first sale", () => testPartnerPath(browser));
	describe("the money of two months", () => testMoneyPath(browser));
	describe("the site by keyboard alone", () => testKeyboard(browser));
	describe("the site with scripts off", () => testScriptsOff(browser));
	describe("deciding on conversions", () => testDeciding(browser));
	describe("the guide in a browser", () => testDocs(browser));
	describe("landing URLs in a browser", () => testLandingUrls(browser));
	describe("pages that change while they are open", () => testLive(browser));
	// The pages are checked for five kinds of readers, two at a time, each in its own browser process.
	describe("every page of the site", { concurrency: 2 }, () => testEveryPage(browser));
});
