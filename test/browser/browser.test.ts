// Every test in a real browser, in one process: they share the browser, and each suite has a service of its own.

import { after, before, describe } from "node:test";
import type { Browser } from "playwright-core";
import { openBrowser, whyNoBrowser } from "../support/browser.ts";
import { testDeciding } from "./deciding.ts";
import { testDocs } from "./docs.ts";
import { testEveryPage } from "./every-page.ts";
import { testKeyboard } from "./keyboard.ts";
import { testLive } from "./live.ts";
import { testScriptsOff } from "./scripts-off.ts";
import { testTwoMinutePath } from "./two-minute-path.ts";

describe("in a browser", { skip: whyNoBrowser() ?? false }, () => {
	let opened: Browser | undefined;
	before(async () => {
		opened = await openBrowser();
	});
	after(() => opened?.close());
	const browser = (): Browser => {
		if (opened === undefined) throw new Error("the browser is there from the first test on, not before");
		return opened;
	};
	describe("the first two minutes", () => testTwoMinutePath(browser));
	describe("by keyboard alone", () => testKeyboard(browser));
	describe("with scripts off", () => testScriptsOff(browser));
	describe("deciding", () => testDeciding(browser));
	describe("the guide", () => testDocs(browser));
	describe("live pages", () => testLive(browser));
	// Three readers, two at a time: each has a process of the browser to itself.
	describe("every page", { concurrency: 2 }, () => testEveryPage(browser));
});
