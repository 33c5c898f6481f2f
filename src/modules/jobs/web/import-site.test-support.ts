// Opens a site with a signed-in member of staff, for tests of imports.

import { equal, match } from "node:assert/strict";
import type { TestContext } from "node:test";
import {
	type Browser,
	openTestSite,
	type SiteOptions,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { workOffJobs } from "../use-cases/work.ts";

export async function openNetwork(t: TestContext, options: SiteOptions = {}) {
	const site = await openTestSite(t, options);
	return { site, staff: await site.signIn(await site.addStaff("sam@network.example")) };
}

export const workOff = ({ deps }: TestSite) => workOffJobs(deps, () => false);

export async function send(
	browser: Browser,
	kind: string,
	content: string | Uint8Array<ArrayBuffer>,
	name?: string,
) {
	await browser.open(`/import/${kind}`);
	const form = new FormData();
	form.set("file", new File([content], name ?? `${kind}.csv`, { type: "text/csv" }));
	return browser.submitForm(`/import/${kind}`, form);
}

export async function upload(browser: Browser, kind: string, lines: readonly string[]): Promise<string> {
	const answer = await send(browser, kind, lines.join("\n"));
	equal(answer.status, 303, answer.text);
	match(answer.location ?? "", /^\/import\/jobs\/job_/);
	return answer.location ?? "";
}

export const PROGRAMMES = "programme;owner_email;currency;commission;fee;approval_days";
export const HISTORY = "programme;order_id;status;sold_at;amount;reason";
