// Compares our parser of landing URLs with the browser's own.

import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Browser } from "playwright-core";
import { landingUrl } from "#modules/partners/domain/click.ts";
import { LANDING_HOSTS, LANDING_TEXT, WITHIN_LANDING_HOSTS } from "../support/landing-texts.ts";

const SAMPLE = 5_000;

export function testLandingUrls(browser: () => Browser): void {
	test("the browser's parser agrees with ours on every address, accepted or refused", async () => {
		// Texts with a lone surrogate are left out, because they cannot occur in a request.
		const texts = fc.sample(LANDING_TEXT, SAMPLE).filter((text) => text.isWellFormed());
		const sent = texts.map((text) => landingUrl(text, LANDING_HOSTS)?.href ?? null);
		const context = await browser().newContext();
		try {
			const page = await context.newPage();
			const read = await page.evaluate(
				([all]) => all.map((text) => (URL.canParse(text) ? new URL(text).href : null)),
				[[...texts, ...sent.map((href) => href ?? "about:blank")]] as const,
			);
			for (const [at, text] of texts.entries()) {
				const own = read[at] ?? null;
				const href = sent[at] ?? null;
				if (href === null) {
					const theirs = own === null ? null : landingUrl(own, LANDING_HOSTS);
					deepEqual(theirs, null, `refused here, and the browser would go there: ${JSON.stringify(text)}`);
				} else {
					deepEqual([own, read[texts.length + at]], [href, href], JSON.stringify(text));
					ok(WITHIN_LANDING_HOSTS.test(own ?? ""), href);
				}
			}
			ok(sent.some((href) => href !== null) && sent.includes(null));
		} finally {
			await context.close();
		}
	});
}
