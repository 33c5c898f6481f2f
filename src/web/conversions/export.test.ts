import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { KyselyPlugin } from "kysely";
import { sql } from "kysely";
import { exportConversions } from "../../conversions/export.ts";
import { streamText } from "./csv-answer.ts";
import { openScene } from "./scene.test-support.ts";

test("the export holds every column, defuses formulas, and marks its encoding", async (t) => {
	const { owner, base, add } = await openScene(t);
	await add({
		order_id: '=HYPERLINK("https://evil.example")',
		basket_value: "10.00",
		commission: "0.80",
		network_fee: "0.25",
	});
	await add({ order_id: "two, three", status: "REJECTED", reason: "FRAUD", decided_by: "review", test: 1 });
	const file = await owner.open(`${base}/export.csv`);
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
		"orderId,eventType,status,basketValue,commission,networkFee,currency,reason,decidedBy,source,test,pixelBasketValue,occurredAt,recordedAt,approvesAt,conversionId",
	);
	match(lines[1] ?? "", /^"two, three",SALE,REJECTED,100\.00,7\.50,2\.00,EUR,FRAUD,review,postback,true,,/);
	match(
		lines[2] ?? "",
		/^"'=HYPERLINK\(""https:\/\/evil\.example""\)",SALE,RECORDED,10\.00,0\.80,0\.25,EUR,,,postback,false,,/,
	);
	equal(lines.length, 4);
});

test("the export's first bytes are the byte order mark", async (t) => {
	const { site, programme } = await openScene(t);
	const stream = streamText(exportConversions(site.store.db, programme, {}), nextTurn);
	const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
	deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
});

test("the filters of the list are the filters of the export", async (t) => {
	const { owner, base, add } = await openScene(t);
	await add({ order_id: "A-1" });
	await add({ order_id: "A-2", status: "APPROVED" });
	await add({ order_id: "B-1", status: "APPROVED" });
	const orders = async (query: string) =>
		(await owner.open(`${base}/export.csv?${query}`)).text
			.split("\r\n")
			.slice(1, -1)
			.map((line) => line.split(",")[0]);
	deepEqual(await orders("status=APPROVED"), ["B-1", "A-2"]);
	deepEqual(await orders("orderId=A"), ["A-1", "A-2"]);
	deepEqual(await orders("orderId=A&status=APPROVED"), ["A-2"]);
	deepEqual(await orders("to=2026-02-28"), []);
});

test("100,000 rows are streamed: the first bytes come before the rest is read, memory stays flat, each row comes once", async (t) => {
	const { site, programme } = await openScene(t);
	const rows = 100_000;
	await sql`insert into conversions (public_id, programme_id, order_id, event_type, status, basket_value, commission,
			network_fee, currency, test, source, occurred_at_ms, created_at_ms, updated_at_ms)
		with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
		select 'cnv_' || i, ${programme.id}, 'order ' || i, 'SALE', 'APPROVED', '1.00', '0.10', '0.01', 'EUR', 0,
			'postback', 0, 0, 0 from n`.execute(site.store.db);
	let queries = 0;
	const counter: KyselyPlugin = {
		transformQuery: ({ node }) => {
			queries += 1;
			return node;
		},
		transformResult: async ({ result }) => result,
	};
	const stream = streamText(exportConversions(site.store.db.withPlugin(counter), programme, {}), nextTurn);
	equal(queries, 0, "nothing is read before somebody asks");
	const reader = stream.getReader();
	const first = await reader.read();
	match(new TextDecoder().decode(first.value), /orderId,/);
	equal(queries, 0, "the header needs no query");
	let text = new TextDecoder().decode((await reader.read()).value);
	ok(queries <= 3, `${queries} queries for the first page`);
	const afterFirstPage = queries;
	await new Promise((resolve) => setImmediate(resolve));
	equal(queries, afterFirstPage, "nobody reads ahead of a reader that waits");
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

test("a reader that goes away ends the reading", async (t) => {
	const { site, programme, add } = await openScene(t);
	await add();
	const lines = exportConversions(site.store.db, programme, {});
	const reader = streamText(lines, nextTurn).getReader();
	await reader.read();
	await reader.cancel();
	equal((await lines.next()).done, true);
});
