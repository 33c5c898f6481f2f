import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { changeOrders } from "#core/conversions/change-orders.ts";
import { approveDue } from "#core/conversions/end-windows.ts";
import { recordConversion } from "#core/conversions/record.ts";
import { DAY_MS, isoTime } from "#core/domain/time.ts";
import { listMoves } from "#core/store/queries/conversions.ts";
import { findPartnersByName } from "#core/store/queries/partners.ts";
import { lockProgramme, updateTerms } from "#core/store/queries/programmes.ts";
import { readFeed } from "#modules/feeds/use-cases/event-feed.ts";
import { findCredits } from "#modules/partners/store/credits.ts";
import { refundOn } from "#modules/refunds/use-cases/refund.ts";
import { assignAsShown } from "../../../../test/support/assign-partner.ts";
import { setProgramme } from "../../../../test/support/change-rows.ts";
import { START_MS } from "../../../../test/support/clock.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { addConversion, addProgramme, findConversion } from "../../../../test/support/rows.ts";
import { addPerson, signInAs } from "../../../../test/support/signed-in.ts";
import { until } from "../../../../test/support/until.ts";
import { checkLedger } from "../../../service/check-ledger.ts";
import { type JobDeps, never, openJobs, runLines, wordsOf } from "./jobs.test-support.ts";

const PARTNERS = "partner;site;email;programme;rate";
const HEADER = "programme;order_id;event_type;sold_at;approve_at;amount;currency;partner;commission;fee";

eachDatabase("imported open conversions", (database) => {
	async function open(currency = "EUR") {
		const { store } = database;
		const programme = await addProgramme(store);
		await setProgramme(store.db, programme.id, { credits_partners: 1, currency });
		return {
			store,
			deps: openJobs(store),
			programme: { ...programme, credits_partners: 1 as const, currency },
		};
	}

	async function addPartner(name: string, programmeId: string, rate = "") {
		const deps = openJobs(database.store);
		await runLines(
			deps,
			"partners",
			[PARTNERS, `${name};;${name}@open.example;${programmeId};${rate}`],
			"apply",
		);
		const [partner] = await findPartnersByName(database.store.db, [name]);
		ok(partner !== undefined);
		return partner;
	}

	async function previewOf(
		deps: JobDeps,
		kind: "open-conversions" | "conversions",
		lines: readonly string[],
	) {
		const went = await runLines(deps, kind, lines, "preview");
		return { words: wordsOf(went), money: went.summary.money.map(({ rows, basket }) => [rows, basket]) };
	}

	function entriesOf(partnerId: number) {
		return database.store.db
			.selectFrom("entries")
			.select(["kind", "amount", "currency"])
			.where("partner_id", "=", partnerId)
			.orderBy("id")
			.execute();
	}

	test("an order whose programme one line names by its name and another by its ID is one conversion in the preview", async () => {
		const { store, programme, deps } = await open();
		const name = `Named ${programme.public_id}`;
		await setProgramme(store.db, programme.id, { name });
		const says = (named: string, amount: string) =>
			[
				["open-conversions", `${named};N-1;;2026-01-06;;${amount};;;;`, HEADER],
				[
					"conversions",
					`${named};approved;N-2;2025-01-06;${amount}`,
					"programme;status;order_id;sold_at;amount",
				],
			] as const;
		for (const [at, [kind, byId, header]] of says(programme.public_id, "20").entries()) {
			const byName = (amount: string) => says(name, amount)[at]?.[1] ?? "";
			const { words, money } = await previewOf(deps, kind, [header, byId, byName("20")]);
			deepEqual(words, ["2 change", "3 already: Line 2 says the same."]);
			deepEqual(money, [[1, "20.00"]]);
			const [first, second] = (await previewOf(deps, kind, [header, byId, byName("30")])).words;
			match(first ?? "", /^2 refused: Line 3 says something else about the same/);
			match(second ?? "", /^3 refused: Line 2 says something else about the same/);
		}
	});

	test("are recorded with partner, rates and window, and no event is announced", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		const partner = await addPartner("open1", id, "8+1,00");
		const lines = [
			HEADER,
			`${id};O-1;;2026-01-05 10:00;2026-02-01;100;EUR;open1;;`,
			`${id};O-2;LEAD;2026-01-06;;0;;${partner.public_id};5;0,50`,
			`${id};O-3;;2026-01-06;;20;;;;`,
		];
		deepEqual(wordsOf(await runLines(deps, "open-conversions", lines, "preview")), [
			"2 change",
			"3 change",
			"4 change",
		]);
		equal(await findConversion(store.db, programme.id, "O-1"), undefined, "a preview stores nothing");
		const { summary } = await runLines(deps, "open-conversions", lines, "apply");
		deepEqual(
			summary.money.map(({ status, rows, basket, commission, fee }) =>
				[status, rows, basket, commission, fee].join(" "),
			),
			["RECORDED 3 120.00 14.00 2.50"],
		);
		const sale = await findConversion(store.db, programme.id, "O-1");
		const lead = await findConversion(store.db, programme.id, "O-2", "LEAD");
		const uncredited = await findConversion(store.db, programme.id, "O-3");
		ok(sale !== undefined && lead !== undefined && uncredited !== undefined);
		deepEqual(
			[
				sale.status,
				sale.source,
				sale.rates,
				sale.commission,
				sale.network_fee,
				isoTime(sale.window_ends_at_ms ?? 0),
			],
			["RECORDED", "import", "8+1.00 2", "9.00", "2.00", "2026-02-01T00:00:00.000Z"],
		);
		deepEqual(
			[lead.rates, lead.commission, lead.network_fee, isoTime(lead.window_ends_at_ms ?? 0)],
			[null, "5.00", "0.50", "2026-02-05T00:00:00.000Z"],
			"without rates, and with the programme's window of 30 days",
		);
		deepEqual([uncredited.rates, uncredited.commission, uncredited.network_fee], ["0 0", "0.00", "0.00"]);
		const credits = await findCredits(store.db, [sale.id, uncredited.id]);
		equal(credits.get(sale.id)?.word, "ASSIGNED");
		deepEqual(
			[credits.get(uncredited.id)?.word, credits.get(uncredited.id)?.partnership_id],
			["ASSIGNED", null],
		);
		const moves = await listMoves(store.db, sale.id);
		deepEqual(
			moves.map(({ move, to_status }) => [move, to_status]),
			[["import", "RECORDED"]],
		);
		const feed = await readFeed(store, programme, { at: 0, id: 0 }, { testOnly: false, nowMs: START_MS });
		deepEqual(feed.events, [], "the event feed is empty");
		deepEqual(await entriesOf(partner.id), [], "nothing is owed before the approval");
		deepEqual((await checkLedger(store)).broken, []);
	});

	for (const [currency, amount, commission] of [
		["EUR", "99,99", "8.00"],
		["JPY", "1999", "160"],
		["KWD", "1.999", "0.160"],
	] as const) {
		test(`an approval window in the past approves it after the import, announces it and pays the partner (${currency})`, async () => {
			const { store, programme, deps } = await open(currency);
			const id = programme.public_id;
			const name = `late-${currency}`;
			const partner = await addPartner(name, id, "8");
			const lines = [HEADER, `${id};L-1;;2026-01-01;2026-01-10;${amount};;${name};;`];
			const preview = await runLines(deps, "open-conversions", lines, "preview");
			match(wordsOf(preview)[0] ?? "", /^2 change: The approval window has ended already/);
			equal(preview.summary.remarks, 1);
			await runLines(deps, "open-conversions", lines, "apply");
			await approveDue(deps, never);
			const approved = await findConversion(store.db, programme.id, "L-1");
			equal(approved?.status, "APPROVED");
			deepEqual(await entriesOf(partner.id), [{ kind: "EARNED", amount: commission, currency }]);
			// The feed has a move once every earlier transaction of the server has ended, also those of other test files.
			const start = { at: 0, id: 0 };
			await until(async () => {
				const { events } = await readFeed(store, programme, start, { testOnly: false, nowMs: START_MS });
				if (events.length > 0)
					deepEqual(
						events.map(({ event }) => event),
						["conversion.approved"],
					);
				return events.length > 0;
			});
			const again = await runLines(deps, "open-conversions", lines, "apply");
			deepEqual(wordsOf(again), [
				"2 already: It was imported before, and changed here since. It is approved now.",
			]);
			equal((await entriesOf(partner.id)).length, 1);
			deepEqual((await checkLedger(store)).broken, []);
		});
	}

	test("the same file again changes nothing, and differing lines are refused", async () => {
		const { programme, deps } = await open();
		const id = programme.public_id;
		await addPartner("same", id, "8");
		await addPartner("other", id, "8");
		const line = `${id};S-1;;2026-01-05;2026-02-01;100;;same;8;2`;
		await runLines(deps, "open-conversions", [HEADER, line], "apply");
		deepEqual(wordsOf(await runLines(deps, "open-conversions", [HEADER, line], "apply")), ["2 already"]);
		const differing = `${id};S-1;;2026-01-06;2026-02-02;101;;other;9;3`;
		deepEqual(wordsOf(await runLines(deps, "open-conversions", [HEADER, differing], "apply")), [
			"2 refused: This order is here already, and differs: amount 100.00 here, 101.00 in the file; commission 8.00 here, 9.00 in the file; fee 2.00 here, 3.00 in the file; sold_at 2026-01-05 00:00:00 UTC here, 2026-01-06 00:00:00 UTC in the file; approve_at 2026-02-01 00:00:00 UTC here, 2026-02-02 00:00:00 UTC in the file; partner same here, other in the file.",
		]);
	});

	test("every kind of bad line is refused with advice", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		await addPartner("bad", id);
		const plain = await addProgramme(store);
		await addConversion(store, programme.id, { order_id: "pixel", source: "pixel" });
		const bad = [
			[`${id};B-1;;;;1;;bad;;`, /sold_at is missing/],
			[`${id};B-2;;2027-01-01;;1;;bad;;`, /sold_at is in the future/],
			[`${id};B-3;;2026-01-05;2026-01-01;1;;bad;;`, /approve_at is before sold_at/],
			[`${id};B-4;;2026-01-05;2046-01-01;1;;bad;;`, /approve_at is more than ten years away/],
			[`${id};B-5;;2026-01-05;soon;1;;bad;;`, /approve_at must be a time/],
			[`${id};B-6;;2026-01-05;;-1;;bad;;`, /amount must not be negative/],
			[`${id};B-7;;2026-01-05;;1;USD;bad;;`, /The programme is in EUR, and the line in USD/],
			[`${id};B-8;;2026-01-05;;1;;nobody;;`, /There is no partner “nobody”/],
			[`${plain.public_id};B-9;;2026-01-05;;1;;bad;;`, /“bad” is not a partner of “Shop”/],
			[`${id};B-10;GIFT;2026-01-05;;1;;bad;;`, /eventType must be one of/],
			[`${id};;;2026-01-05;;1;;bad;;`, /order ID must have 1 to 128/],
			[`${id};pixel;;2026-01-05;;1;;bad;;`, /Only a pixel has reported this order/],
		] as const;
		for (const step of ["preview", "apply"] as const) {
			const words = wordsOf(
				await runLines(deps, "open-conversions", [HEADER, ...bad.map(([line]) => line)], step),
			);
			for (const [index, [line, detail]] of bad.entries()) {
				match(words[index] ?? "", /refused/);
				match(words[index] ?? "", detail, line);
			}
		}
	});

	test("a refund before the approval uses the imported rates, or shrinks amounts that the file had", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		const partner = await addPartner("refunded", id, "8+1,00");
		const lines = [
			HEADER,
			`${id};F-1;;2026-01-05;2026-01-10;100;;refunded;;`,
			`${id};F-2;;2026-01-05;2026-01-10;100;;refunded;12;2`,
		];
		await runLines(deps, "open-conversions", lines, "apply");
		for (const order of ["F-1", "F-2"]) {
			const conversion = await findConversion(store.db, programme.id, order);
			ok(conversion !== undefined);
			const refund = {
				...({ move: "refund", decidedBy: "shop", reason: "RETURN", refundId: "R-1" } as const),
				value: { amount: "50.00" },
			};
			await store.transact((trx) => changeOrders(trx, deps, [refundOn(conversion, refund, null)]));
		}
		await approveDue(deps, never);
		const byRates = await findConversion(store.db, programme.id, "F-1");
		const byFile = await findConversion(store.db, programme.id, "F-2");
		deepEqual([byRates?.status, byRates?.commission, byRates?.network_fee], ["APPROVED", "5.00", "1.00"]);
		deepEqual([byFile?.status, byFile?.commission, byFile?.network_fee], ["APPROVED", "6.00", "1.00"]);
		deepEqual((await entriesOf(partner.id)).map(({ kind, amount }) => `${kind} ${amount}`).toSorted(), [
			"EARNED 5.00",
			"EARNED 6.00",
		]);
		const again = wordsOf(await runLines(deps, "open-conversions", lines, "apply"));
		for (const word of again) match(word, /already: It was imported before, and changed here since/);
		deepEqual((await checkLedger(store)).broken, []);
	});

	test("an imported sale that gets another partner and comes back keeps the file's amounts, also after refunds", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		const actor = await signInAs(store, await addPerson(store, "staff"));
		await addPartner("first", id, "8+1,00");
		await addPartner("second", id, "50");
		const lines = [
			HEADER,
			`${id};K-1;;2026-01-05;2026-02-01;129.90;;first;9,74;2,60`,
			`${id};K-2;LEAD;2026-01-05;2026-02-01;0;;first;5;0,50`,
			`${id};K-3;;2026-01-05;2026-02-01;100;;;;`,
		];
		await runLines(deps, "open-conversions", lines, "apply");
		const history = "programme;order_id;status;sold_at;amount;commission;fee";
		await runLines(deps, "conversions", [history, `${id};K-4;approved;2026-01-05;129.90;9,74;2,60`], "apply");
		await deps.clock.moveBy(1);
		await store.transact(async (trx) => {
			const locked = await lockProgramme(trx, programme.id);
			ok(locked !== undefined);
			await updateTerms(trx, locked, { commission_rate: "30.0000", fee_rate: "9.0000" }, deps.clock.nowMs());
		});
		for (const [order, eventType, ...steps] of [
			["K-1", "SALE", ["second", "64.95 2.60"], ["", "0.00 0.00"], ["first", "4.87 1.30"]],
			["K-2", "LEAD", ["second", "0.00 0.50"], ["first", "5.00 0.50"]],
			["K-3", "SALE", ["second", "50.00 2.00"], ["first", "9.00 2.00"]],
			["K-4", "SALE", ["second", "64.95 2.60"], ["", "0.00 0.00"], ["second", "64.95 2.60"]],
		] as const) {
			const imported = await findConversion(store.db, programme.id, order, eventType);
			ok(imported !== undefined);
			for (const [partner, amounts] of steps) {
				const input = { partner, reason: "a mistake" };
				const assigned = await assignAsShown(deps, actor, imported.public_id, input);
				ok(assigned.ok, JSON.stringify(assigned));
				const { commission, network_fee } = assigned.value;
				equal(`${commission} ${network_fee}`, amounts, `${order} ${partner}`);
				if (order !== "K-1" || partner !== "second") continue;
				const refund = {
					...({
						move: "refund",
						decidedBy: "shop",
						reason: "RETURN",
						refundId: "R-1",
					} as const),
					value: { amount: "64.95" },
				};
				await store.transact((trx) => changeOrders(trx, deps, [refundOn(assigned.value, refund, null)]));
				const left = await findConversion(store.db, programme.id, order);
				equal(`${left?.commission} ${left?.network_fee}`, "32.48 1.30");
			}
		}
		deepEqual((await checkLedger(store)).broken, []);
	});

	test("a later report of the shop is a duplicate and keeps the imported partner", async () => {
		const { store, programme, deps } = await open();
		const id = programme.public_id;
		await addPartner("first", id);
		await addPartner("second", id);
		await runLines(deps, "codes", ["partner;programme;code", `second;${id};SECOND`], "apply");
		await runLines(deps, "open-conversions", [HEADER, `${id};R-1;;2026-01-05;;100;;first;;`], "apply");
		const report = {
			...({ source: "postback", orderId: "R-1", eventType: "SALE", basketValue: "100.00" } as const),
			...{ occurredAtMs: null, isTest: false, couponCodes: ["SECOND"] },
		};
		const reported = await store.transact((trx) => recordConversion(trx, deps, programme, report));
		deepEqual(reported.ok && [reported.value.outcome, reported.value.credit], ["DUPLICATE", "ASSIGNED"]);
		await runLines(deps, "open-conversions", [HEADER, `${id};R-2;;2026-01-05;;100;;;;`], "apply");
		const uncredited = await store.transact((trx) =>
			recordConversion(trx, deps, programme, { ...report, orderId: "R-2" }),
		);
		equal(uncredited.ok && uncredited.value.credit, "ASSIGNED", "that nobody is credited stays, too");
	});

	test("a programme without partners gets its own rates and no credit", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const deps = openJobs(store);
		const lines = [HEADER, `${programme.public_id};P-1;;2026-01-05;;100;;;;`];
		await runLines(deps, "open-conversions", lines, "apply");
		const sale = await findConversion(store.db, programme.id, "P-1");
		deepEqual([sale?.rates, sale?.commission, sale?.network_fee], ["7.5 2", "7.50", "2.00"]);
		equal((await findCredits(store.db, [sale?.id ?? 0])).size, 0);
		await approveDue({ ...deps, clock: { ...deps.clock, nowMs: () => START_MS + 40 * DAY_MS } }, never);
		equal((await findConversion(store.db, programme.id, "P-1"))?.status, "APPROVED");
	});
});
