import assert from "node:assert/strict";
import { test } from "node:test";
import { setUrl } from "../../../../test/support/change-rows.ts";
import { newNotice } from "../../../../test/support/notices.ts";
import { addConversion } from "../../../../test/support/rows.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import { addCallbackCounts } from "../../store/queries/delivery-health.ts";
import { insertLocalAnswers } from "../../store/queries/local-answers.ts";
import { openTestSite, START_MS, type TestSite } from "../test-site.test-support.ts";

test("before the first conversion, the overview shows the next step and no empty chart", async (t) => {
	const { open, path } = await openOverview(t);
	const { text } = await open();
	assert.match(text, /No conversion yet/);
	assert.match(text, new RegExp(`href="${path}/integration"[^>]*>Go to Integration`));
	assert.doesNotMatch(text, /data-chart|Money by status/);
});

test("conversions are counted by day and status, money is summed to the cent, tests are left out", async (t) => {
	const { site, programme, open } = await openOverview(t);
	const at = (daysAgo: number) => ({ created_at_ms: START_MS - daysAgo * DAY_MS });
	await addConversion(site.store, programme.id, { ...at(0), basket_value: "1234567.89", status: "APPROVED" });
	await addConversion(site.store, programme.id, { ...at(0), basket_value: "0.11", status: "APPROVED" });
	await addConversion(site.store, programme.id, { ...at(29), status: "RECORDED" });
	await addConversion(site.store, programme.id, { ...at(30), status: "REJECTED" });
	await addConversion(site.store, programme.id, {
		...at(0),
		basket_value: "777.77",
		status: "APPROVED",
		test: 1,
	});
	const { text } = await open();
	const chart = chartOf(text);
	assert.deepEqual([chart.days[0], chart.days.at(-1), chart.days.length], ["2026-01-31", "2026-03-01", 30]);
	assert.deepEqual(sums(chart), { Approved: 2, Recorded: 1, Reversed: 0, Rejected: 0, Parked: 0 });
	assert.equal(chart.series[0]?.values.at(-1), 2);
	assert.equal(chart.series[1]?.values[0], 1);
	assert.match(rowOf(text, "APPROVED"), />2<.*1,234,568\.00.*EUR.*15\.00.*4\.00/s);
	assert.match(rowOf(text, "REJECTED"), />1<.*100\.00/s);
	assert.doesNotMatch(text, /777\.77/);
	assert.match(text, /Counted <time[^>]+2026-03-01T12/);
});

test("an imported conversion counts on the day of the import in totals and list, and both say so", async (t) => {
	const { site, programme, open } = await openOverview(t);
	const imported = {
		source: "import",
		occurred_at_ms: START_MS - 400 * DAY_MS,
		created_at_ms: START_MS,
	} as const;
	await addConversion(site.store, programme.id, { ...imported, status: "APPROVED" });
	const staff = await site.signIn(await site.addStaff());
	const totals = (await staff.open("/totals?days=7")).text;
	const list = (await staff.open("/conversions?from=2026-02-23&zone=UTC")).text;
	assert.match(totals, /<dt>Conversions<\/dt><dd>1<small>recorded in this period/);
	assert.match(list, /<strong>1 conversion<\/strong>/);
	for (const page of [totals, list, (await open()).text])
		assert.match(
			page,
			/The day is when a conversion was recorded here or imported, not when the sale was made\./,
		);
});

test("only staff see the sums of the whole network over a period", async (t) => {
	const { site, programme, open } = await openOverview(t);
	const other = await site.addProgramme("Other");
	const at = (daysAgo: number) => ({ created_at_ms: START_MS - daysAgo * DAY_MS });
	await addConversion(site.store, programme.id, { ...at(40), basket_value: "77.77" });
	await addConversion(site.store, programme.id, { ...at(10), basket_value: "10.10", status: "APPROVED" });
	await addConversion(site.store, other.id, { ...at(0), basket_value: "5.00", status: "APPROVED" });
	await addConversion(site.store, other.id, { ...at(0), basket_value: "300", currency: "JPY" });
	await addCallbackCounts(site.store.db, [
		{ receiverId: programme.receiver_id, quarterMs: START_MS - DAY_MS, delivered: 9, failed: 1 },
	]);
	const staff = await site.signIn(await site.addStaff());
	const { status, text } = await staff.open("/totals");
	assert.equal(status, 200);
	const rows = [...text.matchAll(/<tr role="row"><td class="names-row".*?<\/tr>/gs)].map(([row]) =>
		row
			.replace(/<[^>]+>/g, " ")
			.replace(/\s+/g, " ")
			.trim(),
	);
	assert.deepEqual(
		rows.map((row) => row.split(" ").slice(0, 4).join(" ")),
		["Approved EUR 2 15.10", "Recorded JPY 1 300"],
	);
	assert.match(text, /Callback attempts<\/dt><dd>10<small>1 failed/);
	assert.match(text, /<dd>90 %<small>9 of 10 attempts/);
	assert.doesNotMatch(text, /77\.77/);
	assert.match(text, /href="\/totals\?days=90"/);
	assert.match((await staff.open("/totals?days=90")).text, /77\.77/);
	assert.doesNotMatch((await staff.open("/totals?days=7")).text, /10\.10/);
	assert.equal((await staff.open("/totals?days=<b>")).status, 200);
	const { text: shops } = await open();
	assert.doesNotMatch(shops, /href="\/totals/);
	const owner = await site.signIn(await site.addOwner(programme));
	assert.equal((await owner.open("/totals")).status, 404);
});

test("callback health shows the share of 2xx answers, the 95th percentile and the oldest waiting callback", async (t) => {
	const { site, programme, open, path } = await openOverview(t);
	await addConversion(site.store, programme.id);
	assert.match((await open()).text, /No Postback URL is saved, so no callbacks are sent.*Set up callbacks/s);
	const reported = { conversionId: "cnv_1", event: "conversion.recorded", outcome: "verified" } as const;
	const without = { httpStatus: null, code: null, tookMs: 3 };
	await insertLocalAnswers(site.store.db, programme.receiver_id, [{ ...reported, ...without }], START_MS - 1);
	const listened = (await open()).text;
	assert.match(listened, /callbacks go to <code>listen<\/code> only, while it runs/);
	assert.doesNotMatch(listened, /no callbacks are sent/);
	await site.store.db
		.updateTable("local_answers")
		.set({ at_ms: START_MS - DAY_MS })
		.execute();
	await setUrl(site.store.db, programme.id, "https://shop.example/postback", START_MS);
	assert.match((await open()).text, /nothing was sent/);
	const { db } = site.store;
	const hours = [
		{ quarter_ms: START_MS - 3_600_000, delivered: 19, failed: 1 },
		{ quarter_ms: START_MS - 25 * 3_600_000, delivered: 0, failed: 100 },
	];
	await db
		.insertInto("callback_quarters")
		.values(hours.map((hour) => ({ receiver_id: programme.receiver_id, ...hour })))
		.execute();
	for (let id = 1; id <= 20; id++) await addAnswered(site, programme.receiver_id, id, id * 10);
	await db
		.insertInto("queue")
		.values({
			id: 1,
			receiver_id: programme.receiver_id,
			due_at_ms: START_MS,
			endpoint_epoch: 0,
			run: 1,
			counted: 0,
			seq: 0,
		})
		.execute();
	const { text } = await open();
	assert.match(text, /95 %<small>19 of 20 attempts/);
	assert.doesNotMatch(text, /percentile/, "nothing that an owner could do about");
	const staff = await site.signIn(await site.addStaff());
	assert.match((await staff.open(`${path}/overview`)).text, /95th percentile response time<\/dt><dd>190 ms/);
	assert.match(text, /<dd>1<small>oldest from <time[^>]+2026-03-01T07/);
});

test("callbacks that fail now are shown in red, even if most attempts of the day succeeded", async (t) => {
	const { site, programme, open, path } = await openOverview(t);
	await addConversion(site.store, programme.id);
	await setUrl(site.store.db, programme.id, "https://shop.example/postback", START_MS);
	const hour = { quarter_ms: START_MS - HOUR_MS, delivered: 988, failed: 12 };
	await site.store.db
		.insertInto("callback_quarters")
		.values({ receiver_id: programme.receiver_id, ...hour })
		.execute();
	assert.match((await open()).text, /Right now.*badge-good">Working<.*98\.8 %/s);
	await site.store.db
		.insertInto("notices")
		.values(newNotice(programme.receiver_id, { last_verdict: "redirect", last_http_status: 301 }))
		.execute();
	const { text } = await open();
	assert.match(text, /Callbacks are failing.*HTTP 301\. .*redirect.*not followed.*Enter the final URL/s);
	assert.match(text, /Right now.*badge-bad">Failing<.*98\.8 %/s);
	assert.match(text, new RegExp(`${path}/overview[^>]*>Overview<span class="badge badge-bad">1<`));
});

async function openOverview(t: Parameters<typeof openTestSite>[0]) {
	const site = await openTestSite(t);
	const programme = await site.addProgramme();
	const browser = await site.signIn(await site.addOwner(programme));
	const path = `/programmes/${programme.public_id}`;
	return { site, programme, path, open: () => browser.open(`${path}/overview`) };
}

interface DrawnChart {
	days: string[];
	series: { label: string; values: number[] }[];
}

function chartOf(text: string): DrawnChart {
	const json = /data-chart="([^"]+)"/.exec(text)?.[1] ?? "";
	return JSON.parse(json.replaceAll("&quot;", '"')) as DrawnChart;
}

function sums({ series }: DrawnChart): Record<string, number> {
	return Object.fromEntries(series.map(({ label, values }) => [label, values.reduce((a, b) => a + b, 0)]));
}

function rowOf(text: string, status: string): string {
	return (
		text
			.split("<tr")
			.slice(1)
			.find((row) => row.includes(`?status=${status}`)) ?? ""
	);
}

async function addAnswered(
	{ store: { db } }: TestSite,
	receiver_id: ReceiverId,
	id: number,
	tookMs: number,
): Promise<void> {
	await db
		.insertInto("events")
		.values({
			id,
			public_id: `dlv_${id}`,
			receiver_id,
			conversion_id: id,
			name: "conversion.recorded",
			body: "{}",
			created_at_ms: START_MS - 5 * 3_600_000,
		})
		.execute();
	await db
		.insertInto("attempts")
		.values({
			delivery_id: id,
			seq: 1,
			run: 1,
			result: "answered",
			http_status: 200,
			started_at_ms: START_MS - 60_000,
			took_ms: tookMs,
		})
		.execute();
}
