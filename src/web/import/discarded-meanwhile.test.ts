import { equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { createMigratedSqlite } from "../../../test/support/sqlite-database.ts";
import { discardImport } from "../../jobs/import-job.ts";
import { createInterruption } from "../../jobs/import-jobs.test-support.ts";
import { workOffImports } from "../../jobs/import-work.ts";
import { findImport } from "../../store/queries/import-jobs.ts";
import { createTestSite } from "../test-site.test-support.ts";

for (const [action, sentence] of [
	["apply", /This file was discarded, and nothing was imported\. Upload it again\./],
	["stop", /Only an import that is under way can be stopped\./],
	["discard", /Discarded\. Nothing was imported\./],
] as const) {
	test(`${action} at the moment in which somebody else discards the file leads to a page that says so`, async (t) => {
		const database = await createMigratedSqlite();
		t.after(database.remove);
		const store = database.open();
		const interruption = createInterruption(store);
		const site = createTestSite(interruption.store);
		const staff = await site.signIn(await site.addStaff());
		await staff.open("/import/people");
		const form = new FormData();
		form.set("file", new File(["email,programme,role\na@b.example,none,viewer\n"], "people.csv"));
		const path = (await staff.submitForm("/import/people", form)).location ?? "";
		await workOffImports(site.deps, () => false);
		const job = await findImport(store.db, path.split("/").at(-1) ?? "");
		ok(job !== undefined);
		await staff.open(path);
		interruption.afterReading(job, () => discardImport({ ...site.deps, store }, job, null));
		const { location } = await staff.submit(`${path}/${action}`, {});
		ok(interruption.hasHappened);
		equal(location, "/import/people");
		match((await staff.open(location ?? "")).text, sentence);
	});
}
