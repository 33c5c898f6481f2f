import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { KyselyPlugin } from "kysely";
import { sql } from "kysely";
import { addConversion } from "../../../../test/support/rows.ts";
import { until } from "../../../../test/support/until.ts";
import { createApp } from "../../../app.ts";
import { CLASSES } from "../../../concurrency/admission.ts";
import { exportConversions } from "../../conversions/export.ts";
import { streamText } from "./csv-answer.ts";
import { openShop, uploadForm, workOff } from "./shop.test-support.ts";

function countQueries(onQuery: () => void): KyselyPlugin {
	return {
		transformQuery: ({ node }) => {
			onQuery();
			return node;
		},
		transformResult: async ({ result }) => result,
	};
}

const CLOCK = { after: () => () => undefined };

test("the export has every column, defuses formulas and marks its encoding", async (t) => {
	const { owner, base, add } = await openShop(t);
	await add({
		order_id: '=HYPERLINK("https://evil.example")',
		basket_value: "10.00",
		commission: "0.80",
		network_fee: "0.25",
	});
	await add({ order_id: "two, three", status: "REJECTED", reason: "FRAUD", decided_by: "review", test: 1 });
	const file = await owner.open(`${base}/export.csv?test=all`);
	equal(file.status, 200);
	equal(file.headers.get("content-type"), "text/csv; charset=utf-8");
	match(
		file.headers.get("content-disposition") ?? "",
		/^attachment; filename="conversions-prg_\w+-2026-03-01\.csv"$/,
	);
	equal(file.headers.get("x-content-type-options"), "nosniff");
	const lines = file.text.split("\r\n");
	equal(
		lines[0]?.replace("\u{FEFF}", ""),
		"orderId,eventType,status,basketValue,refundedValue,commission,networkFee,currency,reason,decidedBy,source,test,pixelBasketValue,occurredAt,recordedAt,approvesAt,decidedAt,conversionId",
	);
	match(lines[1] ?? "", /^"two, three",SALE,REJECTED,100\.00,,7\.50,2\.00,EUR,FRAUD,review,postback,true,,/);
	match(
		lines[2] ?? "",
		/^"'=HYPERLINK\(""https:\/\/evil\.example""\)",SALE,RECORDED,10\.00,,0\.80,0\.25,EUR,,,postback,false,,/,
	);
	equal(lines.length, 4);
});

test("with a European language the export has semicolons, decimal commas and readable times, and can be uploaded again", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const one = await add({
		order_id: "A;1",
		basket_value: "1234.50",
		commission: "0.80",
		network_fee: "0.25",
	});
	await site.store.db.updateTable("people").set({ locale: "de-DE" }).execute();
	match((await owner.open(`${base}/export.csv`)).text, /;occurredAt \(UTC\);/);
	await site.setZone("Europe/Berlin");
	const file = await owner.open(`${base}/export.csv`);
	const [header = "", line = ""] = file.text.trimEnd().split("\r\n");
	equal(header.replace("\u{FEFF}", "").split(";").length, 18);
	match(
		header,
		/;occurredAt \(Europe\/Berlin\);recordedAt \(Europe\/Berlin\);approvesAt \(Europe\/Berlin\);decidedAt \(Europe\/Berlin\);/,
	);
	match(
		line,
		/^"A;1";SALE;RECORDED;"1234,50";;"0,80";"0,25";EUR;;;postback;false;;2026-01-15 13:00:00;2026-03-01 13:00:00;2026-03-31 14:00:00;;/,
	);
	await owner.open(base);
	const form = uploadForm(`${header};decision\r\n${line};approved\r\n`);
	const { location } = await owner.submitForm(`${base}/bulk`, form);
	await workOff(site);
	await owner.submit(`${location}/apply`, {});
	await workOff(site);
	equal((await read(one)).status, "APPROVED");
});

test("staff export the conversions of all programmes, with the names of programme and partner", async (t) => {
	const { site, programme, add } = await openShop(t);
	await add({ order_id: "one" });
	const other = await site.addProgramme("Other, with a comma");
	await addConversion(site.store, other.id, { order_id: "two", status: "APPROVED" });
	const staff = await site.signIn(await site.addStaff());
	const { text } = await staff.open("/conversions");
	match(text, /href="\/conversions\/export\.csv"[^>]*>Export</);
	match(text, /Only the shop approves and reverses/);
	const file = await staff.open("/conversions/export.csv");
	match(
		file.headers.get("content-disposition") ?? "",
		/^attachment; filename="conversions-2026-03-01\.csv"$/,
	);
	const [header, ...lines] = file.text.trimEnd().split("\r\n");
	match(
		header ?? "",
		/^\u{FEFF}?programme,programId,orderId,eventType,.*,partner,partnerId,credit,s1,s2,s3$/u,
	);
	equal(lines.length, 2);
	match(file.text, new RegExp(`^"Other, with a comma",${other.public_id},two,SALE,APPROVED,`, "m"));
	match(file.text, new RegExp(`^Shop,${programme.public_id},one,`, "m"));
	match((await staff.open("/conversions?status=APPROVED")).text, /export\.csv\?status=APPROVED"/);
	const filtered = await staff.open("/conversions/export.csv?status=APPROVED");
	equal(filtered.text.trimEnd().split("\r\n").length, 2);
	equal((await staff.open("/conversions/export.csv?status=BOGUS")).status, 422);
	const owner = await site.signIn(await site.addOwner(programme));
	equal((await owner.open("/conversions/export.csv")).status, 404);
});

test("the export starts with the byte order mark", async (t) => {
	const { site, programme } = await openShop(t);
	const stream = streamText(exportConversions(site.store.db, { programmeId: programme.id }), CLOCK);
	const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
	deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
});

test("an export searches its range of days only once, however many pages it has", async (t) => {
	const { site, programme } = await openShop(t);
	const rows = 8_000;
	await sql`insert into conversions (public_id, programme_id, order_id, event_type, status, basket_value, commission,
			network_fee, currency, test, source, occurred_at_ms, created_at_ms, updated_at_ms)
		with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
		select 'cnv_' || i, ${programme.id}, 'order ' || i, 'SALE', 'APPROVED', '1.00', '0.10', '0.01', 'EUR', 0,
			'postback', 0, i * 60000, 0 from n`.execute(site.store.db);
	let queries = 0;
	const db = site.store.db.withPlugin(
		countQueries(() => {
			queries += 1;
		}),
	);
	const range = { programmeId: programme.id, fromMs: 1_001 * 60_000, beforeMs: 7_001 * 60_000 };
	let lines = 0;
	for await (const text of exportConversions(db, range)) lines += text.split("\r\n").length - 1;
	equal(lines - 1, 6_000, "the rows without the header");
	// Each end of the range takes one binary search, plus two queries for the first and the last id. Each of
	// the six pages takes three queries.
	ok(queries <= 2 * (Math.ceil(Math.log2(rows)) + 1 + 2) + 6 * 3, `${queries} queries`);

	// There are too many conversions to count them one by one, so the list shows the overview's count and sums.
	const owner = await site.signIn(await site.addOwner(programme));
	const list = async (query: string) => {
		const { text } = await owner.open(`/programmes/${programme.public_id}/conversions${query}`);
		return /<p class="totals".*?<\/p>/s.exec(text)?.[0].replaceAll(/<[^>]*>/g, "");
	};
	await until(async () => /^8,000 conversions/.test((await list("?status=APPROVED")) ?? ""));
	match((await list("")) ?? "", /Basket 8,000\.00 EUR.*Commission: 800\.00 EUR approved/);
	match((await list("?eventType=SALE")) ?? "", /^More than 5,000 conversions/);
});

test("an export of 20,000 rows is read page by page as the client reads it, in small parts, with each row once", async (t) => {
	const { site, programme } = await openShop(t);
	const rows = 20_000;
	await sql`insert into conversions (public_id, programme_id, order_id, event_type, status, basket_value, commission,
			network_fee, currency, test, source, occurred_at_ms, created_at_ms, updated_at_ms)
		with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
		select 'cnv_' || i, ${programme.id}, 'order ' || i, 'SALE', 'APPROVED', '1.00', '0.10', '0.01', 'EUR', 0,
			'postback', 0, 0, 0 from n`.execute(site.store.db);
	let queries = 0;
	const counter = countQueries(() => {
		queries += 1;
	});
	const stream = streamText(
		exportConversions(site.store.db.withPlugin(counter), { programmeId: programme.id }),
		CLOCK,
	);
	equal(queries, 0, "nothing is read before the client reads");
	const reader = stream.getReader();
	const first = await reader.read();
	match(new TextDecoder().decode(first.value), /orderId,/);
	equal(queries, 0, "the header needs no query");
	let text = new TextDecoder().decode((await reader.read()).value);
	ok(queries <= 3, `${queries} queries for the first page`);
	const afterFirstPage = queries;
	await new Promise((resolve) => setImmediate(resolve));
	equal(queries, afterFirstPage, "no page is read ahead of the client");
	const seen = new Set<string>();
	let mostBytes = 0;
	for (;;) {
		for (const line of text.split("\r\n")) if (line !== "") seen.add(line.split(",")[0] ?? "");
		const { value, done } = await reader.read();
		if (done) break;
		mostBytes = Math.max(mostBytes, value.byteLength);
		text = new TextDecoder().decode(value);
	}
	equal(seen.size, rows);
	ok(mostBytes < 300_000, `a piece of ${mostBytes} bytes`);
});

test("the export stops reading when the client disconnects", async (t) => {
	const { site, programme, add } = await openShop(t);
	await add();
	const lines = exportConversions(site.store.db, { programmeId: programme.id });
	let isOver = false;
	const onEnd = () => {
		isOver = true;
	};
	const reader = streamText(lines, CLOCK, onEnd).getReader();
	await reader.read();
	equal(isOver, false);
	await reader.cancel();
	equal((await lines.next()).done, true);
	equal(isOver, true);
});

test("a client that reads nothing for two minutes is cut off with an error, so that the file does not look complete", async (t) => {
	const { site, programme, add } = await openShop(t);
	await add();
	const waits: { delayMs: number; run(): void; isCancelled: boolean }[] = [];
	const clock = {
		...CLOCK,
		after(delayMs: number, run: () => void) {
			const wait = { delayMs, run, isCancelled: false };
			waits.push(wait);
			return () => {
				wait.isCancelled = true;
			};
		},
	};
	const lines = exportConversions(site.store.db, { programmeId: programme.id });
	let ends = 0;
	const reader = streamText(lines, clock, () => {
		ends += 1;
	}).getReader();
	await reader.read();
	deepEqual(
		waits.map(({ delayMs, isCancelled }) => [delayMs, isCancelled]),
		[
			[120_000, true],
			[120_000, false],
		],
	);
	waits.at(-1)?.run();
	await rejects(reader.read(), /stopped reading/);
	ok(ends > 0);
	equal((await lines.next()).done, true);
});

test("a person can download two files at a time, and all people together sixteen", async (t) => {
	const { site, programme, owner, base, add } = await openShop(t);
	await add();
	const app = createApp(site.deps);
	const start = async (cookies: ReadonlyMap<string, string>, method = "GET") => {
		const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
		return app.request(`${base}/export.csv`, { method, headers: { cookie, accept: "text/html" } });
	};
	for (let asked = 0; asked < CLASSES.exports.atOnce; asked += 1)
		equal((await start(owner.cookies, "HEAD")).status, 200);
	const [first, second] = [await start(owner.cookies), await start(owner.cookies)];
	deepEqual([first.status, second.status], [200, 200]);
	const third = await start(owner.cookies);
	equal(third.status, 429);
	match(await third.text(), /Too many files at once[\s\S]*Wait until one has finished/);
	match(await first.text(), /order/, "a file that is read to its end frees its place");
	await second.body?.cancel();
	const others = [owner];
	while (others.length < CLASSES.exports.atOnce / CLASSES.exports.atOncePerClient) {
		others.push(await site.signIn(await site.addOwner(programme)));
	}
	const running = [];
	for (const { cookies } of others) running.push(await start(cookies), await start(cookies));
	deepEqual(new Set(running.map(({ status }) => status)), new Set([200]));
	const late = await site.signIn(await site.addOwner(programme));
	equal((await start(late.cookies)).status, 429);
	for (const { body } of running) await body?.cancel();
	equal((await start(late.cookies)).status, 200);
});
