import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { decideConversion } from "#core/conversions/decide.ts";
import { approveDue } from "#core/conversions/end-windows.ts";
import { recordConversion } from "#core/conversions/record.ts";
import { DAY_MS, isoTime } from "#core/domain/time.ts";
import { tallySlice } from "#core/store/queries/conversion-tally.ts";
import { listMoves } from "#core/store/queries/conversions.ts";
import type { Store } from "#core/store/store.ts";
import { readFeed } from "#modules/feeds/use-cases/event-feed.ts";
import { START_MS } from "../../../../test/support/clock.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { addConversion, addProgramme, findConversion } from "../../../../test/support/rows.ts";
import { checkLedger } from "../../../service/check-ledger.ts";
import { openJobs, runLines, wordsOf } from "./jobs.test-support.ts";

const HEADER =
	"programme,order_id,event_type,status,sold_at,decided_at,amount,currency,commission,fee,reason";

/** Returns the number of rows in each table that causes callbacks or mails. */
async function countOwed({ db }: Store): Promise<number[]> {
	const tables = ["events", "deliveries", "queue", "mail_queue", "changes_to_tell"] as const;
	const counts: number[] = [];
	for (const table of tables) {
		const row = await db
			.selectFrom(table)
			.select((eb) => eb.fn.countAll<number>().as("count"))
			.executeTakeFirstOrThrow();
		counts.push(Number(row.count));
	}
	return counts;
}

eachDatabase("imported history", (database) => {
	async function open() {
		const { store } = database;
		return { store, programme: await addProgramme(store), deps: openJobs(store) };
	}

	test("is stored with its final status, times and amounts, and no callback or mail is sent", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		const before = await countOwed(store);
		const lines = [
			HEADER,
			`${id},A-1,SALE,approved,2025-02-01 10:15,2025-03-03,129.90,EUR,9.74,2.60,`,
			`${id},A-2,,Rejected,2025-02-02,,50,,,,Out of stock`,
			`${id},A-3,lead,REVERSED,2025-02-03T09:00:00+01:00,2025-02-04,20,,2,"0,25",return`,
		];
		deepEqual(wordsOf(await runLines(deps, "conversions", lines, "preview")), [
			"2 change",
			"3 change",
			"4 change",
		]);
		equal(await findConversion(store.db, programme.id, "A-1"), undefined, "a preview stores nothing");
		const { summary } = await runLines(deps, "conversions", lines, "apply");
		deepEqual(summary.counts, { change: 3, already: 0, refused: 0 });
		deepEqual(
			summary.money.map(({ status, rows, tests, basket, commission, fee }) =>
				[status, rows, tests, basket, commission, fee].join(" "),
			),
			["APPROVED 1 0 129.90 9.74 2.60", "REJECTED 1 0 50.00 3.75 1.00", "REVERSED 1 0 20.00 2.00 0.25"],
		);
		const approved = await findConversion(store.db, programme.id, "A-1");
		ok(approved !== undefined);
		const { status, source, occurred_at_ms, created_at_ms, decided_at_ms, window_ends_at_ms } = approved;
		deepEqual(
			{ status, source, window_ends_at_ms, decided_by: approved.decided_by, test: approved.test },
			{ status: "APPROVED", source: "import", window_ends_at_ms: null, decided_by: null, test: 0 },
		);
		equal(isoTime(occurred_at_ms), "2025-02-01T10:15:00.000Z");
		equal(isoTime(decided_at_ms ?? 0), "2025-03-03T00:00:00.000Z");
		equal(created_at_ms, START_MS, "the time of the import, because ids are in the order of this time");
		const [move, ...more] = await listMoves(store.db, approved.id);
		deepEqual([move?.move, move?.to_status, more.length], ["import", "APPROVED", 0]);
		deepEqual(await countOwed(store), before, "no event, delivery, queue row or mail");
		const feed = await readFeed(store, programme, { at: 0, id: 0 }, { testOnly: false, nowMs: START_MS });
		deepEqual(feed.events, [], "the event feed is empty");
		deepEqual((await checkLedger(store)).broken, []);
	});

	test("the same file again changes nothing, and differing lines are refused without overwriting", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		const line = `${id},A-1,,approved,2025-02-01,2025-03-01,10.00,,0.75,0.20,`;
		await runLines(deps, "conversions", [HEADER, line], "apply");
		const stored = await findConversion(store.db, programme.id, "A-1");
		const again = await runLines(deps, "conversions", [HEADER, line], "apply");
		deepEqual(wordsOf(again), ["2 already"]);
		const other = `${id},A-1,,rejected,2025-02-02,2025-03-02,11,,0.80,0.30,FRAUD`;
		const differing = await runLines(deps, "conversions", [HEADER, other], "apply");
		deepEqual(wordsOf(differing), [
			"2 refused: This order is here already, and differs: status approved here, rejected in the file; amount 10.00 here, 11.00 in the file; commission 0.75 here, 0.80 in the file; fee 0.20 here, 0.30 in the file; reason none here, FRAUD in the file; sold_at 2025-02-01 00:00:00 UTC here, 2025-02-02 00:00:00 UTC in the file; decided_at 2025-03-01 00:00:00 UTC here, 2025-03-02 00:00:00 UTC in the file.",
		]);
		deepEqual(await findConversion(store.db, programme.id, "A-1"), stored);
	});

	test("a comma before three digits is refused in a currency with three decimals, and a point is a decimal point", async () => {
		const { store, programme, deps } = await open();
		await store.db
			.updateTable("programmes")
			.set({ currency: "KWD" })
			.where("id", "=", programme.id)
			.execute();
		const line = (order: string, amount: string) =>
			`${programme.public_id},${order},,approved,2025-02-01,,"${amount}",,,,`;
		const amounts = ["1,299", "1.299", "1,29", "1299"];
		const lines = [HEADER, ...amounts.map((amount, index) => line(`A-${index}`, amount))];
		const [refused, ...others] = wordsOf(await runLines(deps, "conversions", lines, "apply"));
		match(refused ?? "", /^2 refused: amount “1,299” has its thousands grouped, or could have/);
		deepEqual(others, ["3 change", "4 change", "5 change"]);
		const stored = await Promise.all(
			["A-1", "A-2", "A-3"].map((order) => findConversion(store.db, programme.id, order)),
		);
		deepEqual(
			stored.map((conversion) => conversion?.basket_value),
			["1.299", "1.290", "1299.000"],
		);
	});

	test("amounts that the file does not have are not compared, because rates may have changed since", async () => {
		const { store, programme, deps } = await open();
		const lines = [HEADER, `${programme.public_id},A-1,,approved,2025-02-01,,100,,,,`];
		await runLines(deps, "conversions", lines, "apply");
		await store.db
			.updateTable("programmes")
			.set({ commission_rate: "1.0000" })
			.where("id", "=", programme.id)
			.execute();
		deepEqual(wordsOf(await runLines(deps, "conversions", lines, "preview")), ["2 already"]);
	});

	test("every kind of bad line is refused with advice, and the good lines are imported", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		await addConversion(store, programme.id, { order_id: "reported", window_ends_at_ms: null });
		const bad: readonly [line: string, detail: RegExp][] = [
			["Nobody's Shop,B-1,,approved,2025-02-01,,1,,,,", /There is no programme “Nobody's Shop”/],
			[",B-1,,approved,2025-02-01,,1,,,,", /The programme is missing/],
			[`${id},,,approved,2025-02-01,,1,,,,`, /order ID must have 1 to 128/],
			[`${id}, B-2,,approved,2025-02-01,,1,,,,`, /starts or ends with white space/],
			[`${id},B-3,WISH,approved,2025-02-01,,1,,,,`, /eventType must be one of/],
			[
				`${id},B-4,,pending,2025-02-01,,1,,,,`,
				/Import a conversion that is still open with a file of open conversions/,
			],
			[`${id},B-5,,paid,2025-02-01,,1,,,,`, /must be approved, rejected or reversed/],
			[`${id},B-6,,approved,,,1,,,,`, /sold_at is missing/],
			[`${id},B-7,,approved,03/01/2025,,1,,,,`, /sold_at must be a time such as/],
			[`${id},B-8,,approved,2999-01-01,,1,,,,`, /sold_at is in the future/],
			[`${id},B-9,,approved,1970-01-01,,1,,,,`, /sold_at is before the year 2000/],
			[`${id},B-10,,approved,2025-02-03,2025-02-01,1,,,,`, /decided_at is before sold_at/],
			[`${id},B-11,,approved,2025-02-01,,-1,,,,`, /amount must not be negative/],
			[
				`${id},B-12,,approved,2025-02-01,,"1.000,00",,,,`,
				/its thousands grouped, or could have\. Write amounts with a point and without grouping, as 1234\.50/,
			],
			[`${id},B-13,,approved,2025-02-01,,"1,234",,,,`, /has 3 decimals, but EUR has 2/],
			[`${id},B-14,,approved,2025-02-01,,1,USD,,,`, /The programme is in EUR, and the line in USD/],
			[`${id},B-15,,approved,2025-02-01,,1,,x,,`, /commission must be digits/],
			[`${id},B-16,,rejected,2025-02-01,,1,,,,`, /needs a reason. Write OTHER/],
			[`${id},B-17,,rejected,2025-02-01,,1,,,,BORED`, /There is no such reason|reason must be one of/],
			[`${id},B-18,,approved,2025-02-01,,1,,,,FRAUD`, /An approved conversion has no reason/],
			[`${id},reported,,approved,2025-02-01,,100,,,,`, /differs: status recorded here, approved in the file/],
			[`${id},twice,,approved,2025-02-01,,1,,,,`, /Line 24 says something else about the same conversion/],
			[`${id},twice,,approved,2025-02-01,,2,,,,`, /Line 23 says something else about the same conversion/],
		];
		const good = `${id},good,,approved,2025-02-01,,1,,,,`;
		const lines = [HEADER, ...bad.map(([line]) => line), good, good];
		for (const step of ["preview", "apply"] as const) {
			const { rows, summary } = await runLines(deps, "conversions", lines, step);
			for (const [index, [line, detail]] of bad.entries()) {
				equal(rows[index]?.verdict.kind, "refused", line);
				match(rows[index]?.verdict.detail ?? "", detail);
			}
			deepEqual(summary.counts, { change: 1, already: 1, refused: bad.length });
			deepEqual(summary.problems[0]?.line, 2);
		}
		equal((await findConversion(store.db, programme.id, "good"))?.status, "APPROVED");
		equal(await findConversion(store.db, programme.id, "twice"), undefined);
	});

	test("an imported order can be reported again, reversed and counted like any other", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		const lines = [
			HEADER,
			`${id},LATER-1,,approved,2025-02-01,,10,,,,`,
			`${id},LATER-2,,rejected,2025-02-01,,5,,,,OTHER`,
		];
		await runLines(deps, "conversions", lines, "apply");
		const report = {
			orderId: "LATER-1",
			eventType: "SALE",
			basketValue: "10.00",
			occurredAtMs: null,
			isTest: false,
		} as const;
		const reported = await store.transact((trx) =>
			recordConversion(trx, deps, programme, { ...report, source: "postback" }),
		);
		equal(reported.ok && reported.value.outcome, "DUPLICATE");
		const before = await countOwed(store);
		await approveDue(
			{ ...deps, clock: { ...deps.clock, nowMs: () => START_MS + 400 * DAY_MS } },
			() => false,
		);
		deepEqual(await countOwed(store), before, "the approval window leaves it alone");
		const conversion = await findConversion(store.db, programme.id, "LATER-1");
		ok(conversion !== undefined);
		const reversed = await store.transact((trx) =>
			decideConversion(trx, deps, conversion, { move: "reverse", decidedBy: "shop", reason: "RETURN" }),
		);
		ok(reversed.ok);
		const [events = 0, deliveries = 0, queue = 0] = before;
		deepEqual((await countOwed(store)).slice(0, 3), [events + 1, deliveries + 1, queue + 1]);
		const again = await runLines(deps, "conversions", lines, "apply");
		deepEqual(wordsOf(again), ["2 already: It was imported before, and reversed here since.", "3 already"]);
		const importedOn = Math.floor(START_MS / DAY_MS);
		const { groups } = await tallySlice(store.db, {
			programmeId: programme.id,
			after: { at: 0, id: 0 },
			limit: 100,
		});
		deepEqual(
			groups.map(({ status, day, count, basketMinor }) => [status, day, count, basketMinor]).toSorted(),
			[
				["REJECTED", importedOn, 1, 500n],
				["REVERSED", importedOn, 1, 1000n],
			],
		);
	});
});
