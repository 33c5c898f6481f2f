// Lists the pages of imports for the page checks, in every state of an import.

import type { Page } from "playwright-core";
import { insertJob } from "#modules/jobs/store/jobs.ts";
import { parseSummary } from "#modules/jobs/use-cases/summary.ts";
import type { Service } from "../../src/service.ts";
import { LONG_ORDER, MARKUP_ORDER, NAME } from "./hard-names.ts";
import { type Case, look, press } from "./page-cases.ts";

const FAILURE = JSON.stringify({ cause: "unexpected", firstLine: 45_502, lastLine: 46_001, atMs: 0 });

const MOVING = [
	["uploaded", "kept"],
	["applying", "kept"],
	["stopped", "kept"],
	["stopped", "gone"],
] as const;
const pathOf = (state: (typeof MOVING)[number][0], lines: "kept" | "gone" = "kept") =>
	`/import/jobs/imp_${state}_${lines}`;

/** Stores imports that another process has claimed and never finishes. */
export async function storeMovingImports({ store, clock }: Service): Promise<void> {
	const nowMs = clock.nowMs();
	for (const [state, lines] of MOVING) {
		await insertJob(store.db, {
			public_id: `imp_${state}_${lines}`,
			kind: "conversions",
			file_bytes: 12_000_000,
			file_name: `${"history-of-".repeat(8)}${state}.csv`,
			person_id: 1,
			applied_by: state === "uploaded" ? null : 1,
			applied_at_ms: state === "uploaded" ? null : nowMs,
			finished_at_ms: state === "stopped" ? nowMs : null,
			state,
			invites: 0,
			row_count: 123_456,
			done_rows: 45_500,
			done_batches: 91,
			batch_rows: 500,
			summary: JSON.stringify(parseSummary(null)),
			lines,
			failure: state === "applying" ? FAILURE : null,
			access_ended_at_ms: state === "stopped" ? nowMs : null,
			claim: "another process",
			claim_until_ms: Number.MAX_SAFE_INTEGER,
			created_at_ms: nowMs,
		});
	}
}

export const IMPORT_PAGES: readonly Case[] = [
	look("import, programmes", "/import/programmes"),
	look("import, people", "/import/people"),
	look("import, partners", "/import/partners"),
	look("import, links", "/import/links"),
	look("import, codes", "/import/codes"),
	look("import, conversions", "/import/conversions"),
	look("import, open conversions", "/import/open-conversions"),
	look("import, a file that is refused", "/import/people", uploadWrongly, 422),
	look("import, a file that is checked", pathOf("uploaded"), holdStill),
	look("import, the preview of people", "/import/people", uploadPeople),
	look("import, the preview of conversions", "/import/conversions", uploadHistory),
	look("import, the preview of open conversions", "/import/open-conversions", uploadOpen),
	look("import, a file that comes in, and a batch failed", pathOf("applying"), holdStill),
	look("import, one that was stopped with somebody's access", pathOf("stopped")),
	look("import, one whose rest was discarded", pathOf("stopped", "gone")),
	look("import, the result", "/import/conversions", importHistory),
	look("import, nothing new", "/import/conversions", uploadHistoryAgain),
];

/** Stops a page from reloading itself, because it would change while it is checked. */
async function holdStill(page: Page): Promise<void> {
	await page.evaluate(`{ const job = document.querySelector("#job"); job.outerHTML = job.outerHTML; }`);
}

async function upload(page: Page, lines: readonly string[]): Promise<void> {
	const file = { name: `${MARKUP_ORDER}.csv`, mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) };
	await page.locator("input[type=file]").setInputFiles(file);
	await press("Upload and check")(page);
}

async function uploadWrongly(page: Page): Promise<void> {
	await upload(page, ["mail;shop;role;colour", "a;b;c;d"]);
	await page.locator("#file-error").waitFor();
}

async function uploadPeople(page: Page): Promise<void> {
	const email = `${"long".repeat(12)}@${"shop".repeat(12)}.example`;
	await upload(page, ["email;programme;role", `new-${email};${NAME};viewer`, `${email};Nowhere;owner`]);
	await page.getByRole("heading", { name: "Preview, not confirmed yet" }).waitFor();
}

const HISTORY = [
	"programme;order_id;status;sold_at;amount;reason",
	`${NAME};imported-${LONG_ORDER};approved;2025-02-01;123456789,50;`,
	`${NAME};imported-2;rejected;2025-02-01;7;Out of stock`,
	`Rösterei Blum;imported-3;reversed;2025-02-01;7;RETURN`,
	`${NAME};imported-4;pending;2025-02-01;7;`,
	`Nowhere ${MARKUP_ORDER.replaceAll('"', "")};imported-5;approved;2025-02-01;7;`,
];

async function uploadHistory(page: Page): Promise<void> {
	await upload(page, HISTORY);
	await page.getByRole("heading", { name: "Preview, not confirmed yet" }).waitFor();
}

async function uploadOpen(page: Page): Promise<void> {
	await upload(page, [
		"programme;order_id;sold_at;approve_at;amount",
		`${NAME};open-${LONG_ORDER};2025-02-01;2025-03-01;123456789,50`,
		`${NAME};open-2;2025-02-01;soon;7`,
	]);
	await page.getByText("has ended already").waitFor();
}

async function importHistory(page: Page): Promise<void> {
	await uploadHistory(page);
	await press("Import 3 conversions")(page);
	await page.getByRole("heading", { name: "Done" }).waitFor();
}

async function uploadHistoryAgain(page: Page): Promise<void> {
	await uploadHistory(page);
	await page.getByText("Every line is done already").waitFor();
}
