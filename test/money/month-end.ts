// The end of a month: statements are prepared, checked, issued and paid, and a payment is undone.

import { equal, ok } from "node:assert/strict";
import { type Currency, DECIMALS, writeAmount } from "./arithmetic.ts";
import { dayOf } from "./berlin.ts";
import type { Comparison } from "./comparison.ts";
import type { Draws } from "./draws.ts";
import { type Driver, IBAN, text } from "./driver.ts";
import type { MoneyModel, Statement } from "./model.ts";
import { amountIn, plain, readCsv, readTable } from "./pages.ts";

/** What the service calls a statement. */
export interface IssuedName {
	id: string;
	number: string;
}

export class MonthEnd {
	readonly names = new Map<Statement, IssuedName>();
	readonly #driver: Driver;
	readonly #model: MoneyModel;
	readonly #comparison: Comparison;
	readonly #draws: Draws;

	constructor(driver: Driver, model: MoneyModel, comparison: Comparison, draws: Draws) {
		this.#driver = driver;
		this.#model = model;
		this.#comparison = comparison;
		this.#draws = draws;
	}

	/** Staff add a bonus or a correction to the account of a partner. */
	async adjust(partner: string): Promise<void> {
		const { random } = this.#draws;
		const currency = random.pick(Object.keys(DECIMALS) as Currency[]);
		const minor = BigInt(random.between(1, 5_000));
		const amount = random.chance(0.5) ? minor : -minor;
		const reason = `Agreed ${random.between(1, 1_000_000)}`;
		const { nowMs, staff } = this.#driver;
		const path = `/partner/${this.#driver.partner(partner).id}/entries`;
		const added = await staff.submit(path, { amount: writeAmount(amount, currency), currency, reason });
		equal(added.location, path, added.text);
		this.#model.adjust(partner, currency, amount, reason, nowMs);
	}

	async issue(month: string): Promise<void> {
		const driver = this.#driver;
		const { staff } = driver;
		const prepared = await staff.submit("/statements/prepare", { month });
		const job = prepared.location ?? "";
		ok(job.startsWith("/statements/jobs/"), prepared.text);
		const preview = await driver.jobPage(staff, job, "previewed");
		const issued = this.#model.issue(month);
		this.#comparePreview(month, preview, issued);
		if (issued.length === 0) return;
		await staff.submit(`${job}/apply`, {});
		await driver.jobPage(staff, job, "done");
		await this.#findNames(month, issued);
	}

	#comparePreview(month: string, preview: string, issued: readonly Statement[]): void {
		const rows = readTable(preview, "Statements, one per row").map((row) => {
			const amounts = ["Opening", "Earned", "Changed", "Adjusted", "Total"].map((name) =>
				amountIn(row[name] ?? ""),
			);
			return [row["Partner"], ...amounts, row["Outcome"]?.includes("Carried forward")].join(" ");
		});
		const expected = issued.map((statement) => {
			const { partner, currency, opening, earned, changed, adjusted, total, state } = statement;
			const amounts = [opening, earned, changed, adjusted, total].map(
				(amount) => `${writeAmount(amount, currency)} ${currency}`,
			);
			return [partner, ...amounts, state === "carried"].join(" ");
		});
		this.#comparison.sameItems(`preview of ${month}`, rows, expected);
	}

	/** Finds the numbers of the statements. The numbers of a year have no gaps. */
	async #findNames(month: string, issued: readonly Statement[]): Promise<void> {
		const driver = this.#driver;
		const read = (target: string) => driver.network("GET", target);
		const listed = await driver.readAll(read, `/v1/network/statements?month=${month}`);
		for (const statement of issued) {
			const { id: partnerId } = driver.partner(statement.partner);
			const found = listed.find(
				(one) => one["partnerId"] === partnerId && one["currency"] === statement.currency,
			);
			ok(found, `${month}: ${statement.partner} has no statement in ${statement.currency}`);
			this.names.set(statement, { id: text(found["id"]), number: text(found["number"]) });
		}
		const numbers = [...this.names.values()].map(({ number }) => number).sort();
		const gapless = numbers.map(
			(number, index) => `${number.slice(0, 5)}${String(index + 1).padStart(4, "0")}`,
		);
		// A scenario whose months are of two years would count from 1 again.
		this.#comparison.same(`numbers after ${month}`, numbers.join(" "), gapless.join(" "));
	}

	/** Pays some statements by ticks and some by a file, and undoes one payment. */
	async pay(): Promise<void> {
		const { random } = this.#draws;
		await this.#comparePayouts();
		const due = this.#model.statements.filter(({ state }) => state === "to_pay");
		const ticked = due.filter(() => random.chance(0.4));
		const listed = due.filter((statement) => !ticked.includes(statement) && this.#hasDetails(statement));
		await this.#payByTicks(ticked);
		await this.#payByFile(listed.filter(() => random.chance(0.6)));
		const paid = this.#model.statements.filter(({ state }) => state === "paid");
		if (paid.length > 0) await this.#undo(random.pick(paid));
		await this.#comparePayouts();
	}

	#hasDetails({ partner }: Statement): boolean {
		return this.#driver.partner(partner).hasDetails;
	}

	/** The payout file has each statement that is to be paid, unless the partner has no account. */
	async #comparePayouts(): Promise<void> {
		const file = await this.#driver.page(this.#driver.staff, "/statements/payouts.csv?month=all");
		const lines = readCsv(file).map((line) =>
			["number", "payee", "account", "amount", "currency", "reference", "partnerId"]
				.map((name) => line[name])
				.join(" "),
		);
		const due = this.#model.statements.filter(
			(statement) => statement.state === "to_pay" && this.#hasDetails(statement),
		);
		const expected = due.map((statement) => {
			const { partner, total, currency } = statement;
			const { number } = this.#nameOf(statement);
			const { id } = this.#driver.partner(partner);
			const amount = writeAmount(total, currency);
			return [number, `${partner} Ltd`, IBAN, amount, currency, "Statement", number, id].join(" ");
		});
		this.#comparison.sameItems("payout file", lines, expected);
	}

	async #payByTicks(statements: readonly Statement[]): Promise<void> {
		if (statements.length === 0) return;
		const { nowMs, staff } = this.#driver;
		const ids = (some: readonly Statement[]) => some.map((statement) => this.#nameOf(statement).id);
		const [date, reference] = [dayOf(nowMs), "Ticked"];
		const form = new URLSearchParams({ date, reference });
		for (const id of ids(statements)) form.append("statement", id);
		const unclaimed = statements.filter((statement) => !this.#hasDetails(statement));
		form.set("paidWithoutDetails", ids(unclaimed).join(" "));
		const paid = await staff.submitForm("/statements/pay", form);
		equal(paid.status, 303, plain(paid.text));
		for (const statement of statements) this.#model.pay(statement, date, reference, nowMs);
	}

	async #payByFile(statements: readonly Statement[]): Promise<void> {
		if (statements.length === 0) return;
		const driver = this.#driver;
		const { nowMs, staff } = driver;
		const [date, reference] = [dayOf(nowMs), "Listed"];
		const lines = statements.map((statement) => {
			const { total, currency, partner } = statement;
			const { number } = this.#nameOf(statement);
			return [number, date, reference, writeAmount(total, currency), currency, driver.partner(partner).id];
		});
		const header = "number,date,reference,amount,currency,partnerId";
		const job = await driver.upload(staff, "/statements/payments", [header, ...lines.map(String)]);
		await driver.jobPage(staff, job, "previewed");
		await staff.submit(`${job}/apply`, {});
		await driver.jobPage(staff, job, "done");
		for (const statement of statements) this.#model.pay(statement, date, reference, nowMs);
	}

	async #undo(statement: Statement): Promise<void> {
		const { nowMs, staff } = this.#driver;
		const { id } = this.#nameOf(statement);
		const path = `/partner/${this.#driver.partner(statement.partner).id}/statements/${id}`;
		const undone = await staff.submit(`${path}/undo`, { reason: "Returned by the bank" });
		equal(undone.location, path, undone.text);
		this.#model.undoPayment(statement, "Returned by the bank", nowMs);
	}

	#nameOf(statement: Statement): IssuedName {
		const name = this.names.get(statement);
		ok(name, `${statement.partner} ${statement.month} ${statement.currency} was not issued`);
		return name;
	}
}
