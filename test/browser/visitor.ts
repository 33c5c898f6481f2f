// Somebody with a browser of their own. Whatever a test is about, what the browser complains of is kept:
// errors in the console, failed scripts, refused by the content security policy, files that did not come.

import { deepEqual } from "node:assert/strict";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { PATIENCE_MS } from "../support/patience.ts";

export type Visitor = Awaited<ReturnType<typeof openVisitor>>;

export interface VisitorOptions extends BrowserContextOptions {
	/** Network errors are what the test is about. */
	isOffNow?: () => boolean;
}

export async function openVisitor(
	browser: Browser,
	baseURL: string,
	{ isOffNow = () => false, ...options }: VisitorOptions = {},
) {
	const context = await browser.newContext({
		baseURL,
		locale: "en-GB",
		timezoneId: "Europe/Berlin",
		viewport: { width: 1440, height: 900 },
		reducedMotion: "reduce",
		...options,
	});
	context.setDefaultTimeout(PATIENCE_MS);
	const complaints: string[] = [];
	const complain = (text: string) => {
		if (!isOffNow()) complaints.push(text);
	};
	context.on("page", (page) => {
		page.on("pageerror", (error) => complain(`script: ${error.message}`));
		page.on("console", (message) => {
			if (message.type() !== "error" && message.type() !== "warning") return;
			// The browser says it of every page that is meant to be answered 404 or 422.
			if (message.location().url === page.url() && /status of 4\d\d/.test(message.text())) return;
			complain(`console: ${message.text()}`);
		});
		page.on("response", (response) => {
			const isPage = response.request().resourceType() === "document";
			if (response.status() >= 400 && !isPage) complain(`${response.status()} for ${response.url()}`);
		});
	});
	const takeComplaints = () => complaints.splice(0);
	return {
		page: await context.newPage(),
		context,
		/** What it complained of since the last time it was asked. */
		takeComplaints,
		/** Fails when the browser complained, and closes it. */
		async leave() {
			await context.close();
			deepEqual(takeComplaints(), []);
		},
	};
}
