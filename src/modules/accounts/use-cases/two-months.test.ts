// Walks through two months of a network on both databases. The statements of October stay as they were issued, and those
// of November carry the differences.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { addAmounts } from "#core/domain/money.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { findBalances, listEntries } from "../store/entries.ts";
import {
	findStatement,
	type ListedStatement,
	listAdjustments,
	listStatementLines,
	listStatementMonths,
	sumStatements,
} from "../store/statements.ts";
import { adjustAccount } from "./adjust.ts";
import { proofFile } from "./files.ts";
import { payStatements, undoPayment } from "./payments.ts";
import { DECEMBER_MS, NOVEMBER_MS, openNetwork, sayStatement } from "./statements.test-support.ts";

eachDatabase("two months of statements", (database) => {
	test("October stays as issued, and November carries refunds, returns, a new partner, an adjustment and an undone payment", async () => {
		const { store } = database;
		const network = await openNetwork(store);
		await network.setNetwork({ minimum_payouts: "EUR 25.00;KWD 1.000" });
		const euro = await network.addProgramme("EUR");
		const yen = await network.addProgramme("JPY");
		const dinar = await network.addProgramme("KWD");
		const blog = await network.addPartner("Blog");
		const small = await network.addPartner("Small");
		const [inEuro, inYen, inDinar] = [
			await network.join(euro, blog),
			await network.join(yen, blog),
			await network.join(dinar, blog),
		];
		const smallInEuro = await network.join(euro, small);
		const refunded = await network.approve(await network.sell(inEuro, "40.00"));
		const returned = await network.approve(await network.sell(inEuro, "20.05"));
		const moved = await network.approve(await network.sell(inEuro, "10.10"));
		await network.approve(await network.sell(inYen, "1500"));
		await network.approve(await network.sell(inDinar, "0.999"));
		await network.approve(await network.sell(smallInEuro, "9.99"));
		const lateApproval = await network.sell(inEuro, "7.00");

		await network.clock.moveTo(NOVEMBER_MS);
		const october = await network.prepare("2026-10");
		deepEqual(await network.linesOf(october), [
			"Blog EUR 0.00 70.15 0.00 0.00 70.15 pay: change",
			"Blog JPY 0 1500 0 0 1500 pay: change",
			"Blog KWD 0.000 0.999 0.000 0.000 0.999 carry_forward: change",
			"Small EUR 0.00 9.99 0.00 0.00 9.99 carry_forward: change",
		]);
		equal((await network.statements()).length, 0, "a preview issues nothing");
		equal((await network.issue(october)).state, "done");
		const issued = await network.statements();
		deepEqual(issued.map(sayStatement), [
			"2026-0001 Blog 2026-10: 0.00 + 70.15 + 0.00 + 0.00 = 70.15 EUR, to pay",
			"2026-0002 Blog 2026-10: 0 + 1500 + 0 + 0 = 1500 JPY, to pay",
			"2026-0003 Blog 2026-10: 0.000 + 0.999 + 0.000 + 0.000 = 0.999 KWD, carried",
			"2026-0004 Small 2026-10: 0.00 + 9.99 + 0.00 + 0.00 = 9.99 EUR, carried",
		]);
		const [inOctober] = issued;
		ok(inOctober !== undefined);
		const proofsAsIssued = await Promise.all(issued.map(proofOf));
		for (const line of linesOf(proofsAsIssued[0])) {
			match(line, /,Shop EUR,SALE,[^,]+,2026-10-10T00:00:00.000Z,newsletter,,top,/);
		}
		const payment = { date: "2026-11-02", reference: "SEPA 1" };
		const ids = issued.slice(0, 2).map(({ public_id }) => public_id);
		const paidWithoutDetails = ids;
		const paid = await payStatements(network.deps, network.staff, ids, payment, { paidWithoutDetails });
		ok(paid.ok, JSON.stringify(paid));
		deepEqual(await findBalances(store.db, blog.id), [
			{ currency: "EUR", open: "0.00", due: "0.00", carried: "0.00" },
			{ currency: "JPY", open: "0", due: "0", carried: "0" },
			{ currency: "KWD", open: "0.000", due: "0.000", carried: "0.999" },
		]);

		// In November a part of the first sale is refunded, the second is returned, and the third gets another partner.
		await network.refund(refunded, "31.50");
		await network.reverse(returned);
		await network.reassign(moved, smallInEuro);
		await network.approve(lateApproval);
		await network.approve(await network.sell(inDinar, "0.001"));
		ok((await adjustAccount(network.deps, network.staff, blog.id, adjustment("EUR", "-0.45"))).ok);
		ok((await adjustAccount(network.deps, network.staff, small.id, adjustment("EUR", "5,00"))).ok);
		const undone = await undoPayment(network.deps, network.staff, issued[1]?.public_id ?? "", "bounced");
		ok(undone.ok, JSON.stringify(undone));

		// The shop also gets another name.
		await store.db
			.updateTable("programmes")
			.set({ name: "Shop of Europe" })
			.where("id", "=", euro.id)
			.execute();

		await network.clock.moveTo(DECEMBER_MS);
		await network.issue(await network.prepare("2026-11"));
		const all = await network.statements();
		deepEqual(all.map(sayStatement), [
			"2026-0001 Blog 2026-10: 0.00 + 70.15 + 0.00 + 0.00 = 70.15 EUR, paid",
			"2026-0002 Blog 2026-10: 0 + 1500 + 0 + 0 = 1500 JPY, to pay",
			"2026-0003 Blog 2026-10: 0.000 + 0.999 + 0.000 + 0.000 = 0.999 KWD, carried",
			"2026-0004 Small 2026-10: 0.00 + 9.99 + 0.00 + 0.00 = 9.99 EUR, carried",
			"2026-0005 Blog 2026-11: 0.00 + 7.00 + -38.65 + -0.45 = -32.10 EUR, carried",
			"2026-0006 Blog 2026-11: 0.999 + 0.001 + 0.000 + 0.000 = 1.000 KWD, to pay",
			"2026-0007 Small 2026-11: 9.99 + 0.00 + 10.10 + 5.00 = 25.09 EUR, to pay",
		]);
		const { paid_on: _, reference: __, ...asIssued } = inOctober;
		const { paid_on, reference, ...present } =
			(await findStatement(store.db, inOctober.public_id)) ?? inOctober;
		deepEqual(present, asIssued, "a statement never changes");
		deepEqual([paid_on, reference], ["2026-11-02", "SEPA 1"]);
		deepEqual(await findBalances(store.db, blog.id), [
			{ currency: "EUR", open: "0.00", due: "0.00", carried: "-32.10" },
			{ currency: "JPY", open: "0", due: "1500", carried: "0" },
			{ currency: "KWD", open: "0.000", due: "1.000", carried: "0.000" },
		]);
		for (const statement of all) await checkProof(statement);
		const proofsNow = await Promise.all(all.map(proofOf));
		deepEqual(proofsNow.slice(0, issued.length), proofsAsIssued, "the proof never changes either");
		const changes = linesOf(proofsNow[4]).filter((line) => /,(RETURN|REASSIGNED),/.test(line));
		deepEqual(
			changes.map((line) => line.split(",").slice(1).join(",")),
			[
				"Shop of Europe,SALE,2026-01-15T12:00:00.000Z,2026-10-10T00:00:00.000Z,newsletter,,top,,-8.50,,EUR,RETURN,2026-11-02T00:00:00.000Z",
				"Shop of Europe,SALE,2026-01-15T12:00:00.000Z,2026-11-02T00:00:00.000Z,newsletter,,top,,-20.05,,EUR,RETURN,2026-11-02T00:00:00.000Z",
				"Shop of Europe,SALE,2026-01-15T12:00:00.000Z,2026-10-10T00:00:00.000Z,newsletter,,top,,-10.10,,EUR,REASSIGNED,2026-11-02T00:00:00.000Z",
			],
			"a refund and another partner leave the date of the approval",
		);
		const [gainedLine = ""] = linesOf(proofsNow[6]);
		match(
			gainedLine,
			/,,,,,10\.10,,EUR,REASSIGNED,/,
			"the new partner does not see the sub IDs of the old one",
		);
		const sums = await sumStatements(store.db, { month: "2026-10" });
		deepEqual(
			sums.map(({ state, currency, count, minor }) => `${state} ${currency} ${count} ${minor}`).sort(),
			["carried EUR 1 999", "carried KWD 1 999", "paid EUR 1 7015", "to_pay JPY 1 1500"],
		);
		deepEqual(await listStatementMonths(store.db, 5), ["2026-11", "2026-10"]);
		deepEqual(await listStatementMonths(store.db, 1), ["2026-11"]);
		const adjustments = await Promise.all(all.map((statement) => listAdjustments(store.db, statement)));
		deepEqual(
			adjustments.map((listed) => listed.map(({ amount }) => amount)),
			[[], [], [], [], ["-0.45"], [], ["5.00"]],
		);
		deepEqual(await network.brokenRules(), []);
		const gained = await listEntries(store.db, { partnerId: small.id, kind: "CHANGED" }, { limit: 10 });
		deepEqual(
			gained.rows.map(({ amount, reason }) => [amount, reason]),
			[["10.10", "REASSIGNED"]],
		);
		const account = await listEntries(store.db, { partnerId: blog.id }, { limit: 100 });
		deepEqual(
			account.rows
				.filter(({ currency }) => currency === "JPY")
				.map((row) => [row.kind, row.amount, row.statement_number, row.reason]),
			[
				["PAID", "1500", "2026-0002", "bounced"],
				["PAID", "-1500", "2026-0002", "SEPA 1"],
				["EARNED", "1500", "2026-0002", null],
			],
		);
	});

	async function proofOf(statement: ListedStatement): Promise<string> {
		return (await Array.fromAsync(proofFile(database.store.reader, statement))).join("");
	}

	/** Checks that the sums and the lines of the proof are those of the statement. */
	async function checkProof(statement: ListedStatement): Promise<void> {
		const { store } = database;
		const text = await proofOf(statement);
		const [header = "", ...lines] = text.replace("\u{FEFF}", "").trimEnd().split("\r\n");
		const names = header.split(",");
		const sum = (column: string) =>
			lines
				.flatMap((line) => line.split(",")[names.indexOf(column)] || [])
				.reduce(addAmounts, zeroLike(statement.total));
		const { earned, changed, adjusted } = statement;
		deepEqual([sum("commission"), sum("change"), sum("adjusted")], [earned, changed, adjusted]);
		const programmes = await listStatementLines(store.db, statement.id);
		const total = (part: "earned" | "changed") =>
			programmes.map((line) => line[part]).reduce(addAmounts, zeroLike(statement.total));
		deepEqual([total("earned"), total("changed")], [earned, changed]);
	}
});

/** Returns the lines of a CSV file without its header. */
function linesOf(file: string | undefined): string[] {
	return (file ?? "").trimEnd().split("\r\n").slice(1);
}

function adjustment(currency: string, amount: string) {
	return { currency, amount, reason: "agreed on the phone" };
}

function zeroLike(amount: string): string {
	return amount
		.replace("-", "")
		.replace(/\d/g, "0")
		.replace(/^0+(?=0)/, "");
}
