// Opens a shop with a signed-in owner, and adds conversions for tests to decide.

import { equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { addConversion } from "../../../../test/support/rows.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import {
	type Browser,
	openTestSite,
	type SiteOptions,
	START_MS,
	type TestSite,
} from "../test-site.test-support.ts";

export interface ShopSetup {
	site: TestSite;
	programme: Programme;
	base: string;
	owner: Browser;
	add(change?: Partial<Conversion>): Promise<Conversion>;
	read(conversion: Conversion): Promise<Conversion>;
	audit(): Promise<(string | null)[][]>;
}

export async function openShop(t: TestContext, name = "Shop", options: SiteOptions = {}): Promise<ShopSetup> {
	const site = await openTestSite(t, options);
	const programme = await site.addProgramme(name);
	const owner = await site.signIn(await site.addOwner(programme));
	return {
		site,
		programme,
		base: `/programmes/${programme.public_id}/conversions`,
		owner,
		add: (change = {}) =>
			addConversion(site.store, programme.id, {
				created_at_ms: START_MS,
				window_ends_at_ms: START_MS + 30 * DAY_MS,
				...change,
			}),
		read: ({ id }) =>
			site.store.db.selectFrom("conversions").selectAll().where("id", "=", id).executeTakeFirstOrThrow(),
		async audit() {
			const rows = await site.store.db
				.selectFrom("audit_entries")
				.select(["action", "subject", "detail"])
				.where("action", "like", "conversion%")
				.orderBy("id")
				.execute();
			return rows.map(({ action, subject, detail }) => [action, subject, detail]);
		},
	};
}

/** Opens the page to which a form has redirected, and returns its text. */
export async function follow(browser: Browser, location: string | null): Promise<string> {
	const page = await browser.open(location ?? "/");
	equal(page.status, 200);
	return page.text;
}

/** Returns the text of a page without HTML tags. */
export function plain(text: string): string {
	return text
		.replace(/<[^>]+>/g, " ")
		.replaceAll("\u00a0", " ")
		.replace(/\s+/g, " ");
}

export function uploadForm(text: string | Uint8Array<ArrayBuffer>, name = "decisions.csv"): FormData {
	const form = new FormData();
	form.set("file", new File([text], name, { type: "text/csv" }));
	return form;
}

/** Processes all waiting jobs, as the background task of the service does. */
export function workOff({ deps }: TestSite): Promise<void> {
	return workOffJobs(deps, () => false);
}
