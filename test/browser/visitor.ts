// A visitor with a separate browser context. It collects everything that the browser complains about: errors in the console,
// failed scripts, violations of the content security policy, and files that failed to load.

import { deepEqual } from "node:assert/strict";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { PATIENCE_MS } from "../support/patience.ts";

export type Visitor = Awaited<ReturnType<typeof openVisitor>>;

export interface VisitorOptions extends BrowserContextOptions {
	/** Returns true while the test expects network errors. */
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
			// The browser reports every page with status 404 or 422, even if the test expects it.
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
		/** Returns the browser's complaints since the last call. */
		takeComplaints,
		/**
		 * Closes the browser context. Throws if the browser complained about anything since the last call of
		 * `takeComplaints`.
		 */
		async leave() {
			await context.close();
			deepEqual(takeComplaints(), []);
		},
	};
}
