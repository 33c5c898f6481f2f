// Compares the whole of a network's money with the model: lists, files, totals, accounts, statements and callbacks. The
// service is read as shops, partners and staff read it, by calls, pages and files.

import { ok } from "node:assert/strict";
import { type Currency, writeAmount } from "./arithmetic.ts";
import { dayOf, daysOf } from "./berlin.ts";
import type { Comparison } from "./comparison.ts";
import { type DrivenPartner, type Driver, type Json, list, part, text } from "./driver.ts";
import type {
	Conversion,
	Entry,
	ModelEvent,
	ModelProgramme,
	MoneyModel,
	Statement,
	Status,
} from "./model.ts";
import type { IssuedName } from "./month-end.ts";
import { amountIn, plain, readCsv, readTable } from "./pages.ts";
import { tellModel, tellService } from "./sales-steps.ts";

/** What the service calls the things of the model. */
export interface Names {
	conversions: ReadonlyMap<Conversion, string>;
	statements: ReadonlyMap<Statement, IssuedName>;
}

/** Compares everything. Of the statements it compares those of one month, or all if `month` is null. */
export async function auditMoney(
	driver: Driver,
	model: MoneyModel,
	comparison: Comparison,
	names: Names,
	month: string | null,
): Promise<void> {
	const audit = new Audit(driver, model, comparison, names);
	for (const programme of model.programmes.values()) await audit.compareProgramme(programme);
	await audit.compareNetwork();
	for (const partner of driver.partners.values()) {
		await audit.comparePartner(partner);
		await audit.compareEarnings(partner);
		await audit.compareAccount(partner);
	}
	for (const statement of model.statements) {
		if (month === null || statement.month === month) await audit.compareStatement(statement);
	}
	await audit.compareCallbacks();
}

class Audit {
	readonly #driver: Driver;
	readonly #model: MoneyModel;
	readonly #comparison: Comparison;
	readonly #names: Names;
	readonly #conversions: readonly Conversion[];

	constructor(driver: Driver, model: MoneyModel, comparison: Comparison, names: Names) {
		this.#driver = driver;
		this.#model = model;
		this.#comparison = comparison;
		this.#names = names;
		this.#conversions = [...model.conversions.values()];
	}

	/** The programme's list by call and by file, and the sums on its first page. */
	async compareProgramme(programme: ModelProgramme): Promise<void> {
		const { name, currency } = programme;
		const { shop } = this.#driver.programme(name);
		const own = this.#conversions.filter((conversion) => conversion.programme === programme);
		const listed: Json[] = [];
		for (let cursor = ""; ; ) {
			const { json } = await shop.call("GET", `/v1/conversions?limit=200${cursor}`);
			listed.push(...list(part(json, "conversions")));
			const next = part(json, "nextCursor");
			if (next === null) break;
			cursor = `&cursor=${text(next)}`;
		}
		this.#comparison.sameItems(`calls of ${name}`, listed.map(tellService), own.map(tellModel));
		const file = await this.#driver.page(
			this.#driver.owner,
			`/programmes/${shop.programId}/conversions/export.csv`,
		);
		this.#comparison.sameItems(
			`export of ${name}`,
			readCsv(file).map((line) => {
				const told = tellService({ ...line, refundedValue: line["refundedValue"] || zeroIn(currency) });
				const days = ["recordedAt", "occurredAt", "decidedAt"].map((at) => line[at]?.slice(0, 10));
				return [told, ...days, line["decidedBy"], line["partner"] ?? "", line["credit"] ?? ""].join(" ");
			}),
			own.map((conversion) => {
				const { recordedAtMs, soldAtMs, decidedAtMs, decidedBy, credit } = conversion;
				const days = [dayOf(recordedAtMs), dayOf(soldAtMs), decidedAtMs === null ? "" : dayOf(decidedAtMs)];
				const credited = [credit?.partner ?? "", credit?.word ?? ""];
				return [tellModel(conversion), ...days, decidedBy ?? "", ...credited].join(" ");
			}),
		);
		const page = await this.#driver.countedPage(this.#driver.owner, `/programmes/${shop.programId}/overview`);
		this.#comparison.sameItems(`overview of ${name}`, readSums(page), sumsOf(own).map(tellModelSums));
	}

	/** The totals of the network by call and page, and its list of conversions with their credits. */
	async compareNetwork(): Promise<void> {
		const driver = this.#driver;
		const read = (target: string) => driver.network("GET", target);
		const listed = await driver.readAll(read, "/v1/network/conversions");
		this.#comparison.sameItems(
			"conversions of the network",
			listed.map(
				(one) => `${tellService(one)} ${part(one, "credit", "word")} ${part(one, "credit", "partnerId")}`,
			),
			this.#conversions.map((conversion) => {
				const { credit } = conversion;
				const partner = credit?.partner ?? null;
				const id = credit === null ? undefined : partner === null ? null : driver.partner(partner).id;
				return `${tellModel(conversion)} ${credit?.word} ${id}`;
			}),
		);
		const totals = await driver.countedCall(() => read("/v1/network/totals?days=365"));
		const sums = sumsOf(this.#conversions);
		this.#comparison.sameItems(
			"totals of the network",
			list(totals["currencies"]).flatMap((each) =>
				list(each["totals"]).map((total) => {
					const amounts = ["basketValue", "commission", "networkFee"].map(
						(name) => `${total[name]} ${each["currency"]}`,
					);
					return [total["status"], total["count"], ...amounts].join(" ").toLowerCase();
				}),
			),
			sums.map(tellModelSums),
		);
		const byDay = Map.groupBy(
			this.#conversions,
			({ recordedAtMs, status }) => `${dayOf(recordedAtMs)} ${status}`,
		);
		this.#comparison.sameItems(
			"conversions by day",
			list(totals["days"]).flatMap(({ day, counts }) =>
				list(counts).map(({ status, count }) => `${day} ${status} ${count}`),
			),
			[...byDay].map(([day, { length }]) => `${day} ${length}`),
		);
		const page = await driver.countedPage(driver.staff, "/totals?days=365");
		this.#comparison.sameItems(
			"page with the totals of the network",
			readSums(page),
			sums.map(tellModelSums),
		);
	}

	/** The partner's conversions by call and by file. */
	async comparePartner({ name, id, browser }: DrivenPartner): Promise<void> {
		const driver = this.#driver;
		const own = this.#conversions.filter(({ credit }) => credit?.partner === name);
		const expected = own.map((conversion) => {
			const { status, commission, programme, reason, credit, soldAtMs } = conversion;
			const amount = writeAmount(commission, programme.currency);
			const id = this.#names.conversions.get(conversion);
			return [id, status, amount, programme.currency, reason ?? "", credit?.word, dayOf(soldAtMs)].join(" ");
		});
		const listed = await driver.readAll(
			(target) => driver.asPartner(name, target),
			"/v1/partner/conversions",
		);
		this.#comparison.sameItems(
			`calls of ${name}`,
			listed.map((one) =>
				[
					...[one["id"], one["status"], one["commission"], one["currency"], one["reason"] ?? ""],
					...[one["creditedBy"], dayOf(Date.parse(text(one["occurredAt"])))],
				].join(" "),
			),
			expected,
		);
		const file = await driver.page(browser, `/partner/${id}/conversions/export.csv`);
		this.#comparison.sameItems(
			`file of ${name}`,
			readCsv(file).map((line) =>
				[
					...["conversionId", "status", "commission", "currency", "reason", "creditedBy"].map(
						(column) => line[column],
					),
					line["occurredAt"]?.slice(0, 10),
				].join(" "),
			),
			expected,
		);
	}

	/** What the partner's sales of each month earn, by call, on its page and in the file of staff. */
	async compareEarnings({ name, id, browser }: DrivenPartner): Promise<void> {
		const driver = this.#driver;
		const own = this.#conversions.filter(({ credit }) => credit?.partner === name);
		const months = [...new Set(this.#conversions.map(({ soldAtMs }) => dayOf(soldAtMs).slice(0, 7)))];
		for (const month of months) {
			const { from, to } = daysOf(month);
			const sold = own.filter(({ soldAtMs }) => dayOf(soldAtMs).startsWith(month));
			const target = `/v1/partner/totals?from=${from}&to=${to}&by=day`;
			const totals = await driver.countedCall(() => driver.asPartner(name, target));
			const groups = Map.groupBy(
				sold,
				({ soldAtMs, programme, status }) => `${dayOf(soldAtMs)} ${programme.currency} ${status}`,
			);
			this.#comparison.sameItems(
				`totals of ${name} in ${month}`,
				list(totals["items"]).map((item) =>
					[item["day"], item["currency"], item["status"], item["count"], item["commission"]].join(" "),
				),
				[...groups].map(([group, some]) => `${group} ${some.length} ${commissionOf(some)}`),
			);
			const page = await driver.countedPage(browser, `/partner/${id}/earnings?from=${from}&to=${to}`);
			this.#comparison.sameItems(
				`earnings of ${name} in ${month}`,
				readTable(page, "Programmes, one per row").map((row) => tellEarned(row)),
				[...this.#model.programmes.values()]
					.filter(({ members }) => members.has(name))
					.map((programme) => {
						const inProgramme = sold.filter((conversion) => conversion.programme === programme);
						return [programme.name, ...tellEarnedByModel(inProgramme)].join(" ");
					}),
			);
			const file = await driver.page(
				driver.staff,
				`/partners/totals.csv?from=${from}&to=${to}&search=${name}`,
			);
			const byStatus = Map.groupBy(sold, ({ programme, status }) => `${programme.name} ${status}`);
			this.#comparison.sameItems(
				`file of staff about ${name} in ${month}`,
				readCsv(file).map((line) =>
					["programme", "status", "sales", "basketValue", "commission"]
						.map((column) => line[column])
						.join(" "),
				),
				[...byStatus].map(([group, some]) => {
					const baskets = sumsOf(some).map(({ basket, currency }) => writeAmount(basket, currency));
					return [group, some.length, ...baskets, commissionOf(some)].join(" ");
				}),
			);
		}
	}

	/** The partner's balances and entries, by the calls of the network and of the partner, and on pages. */
	async compareAccount({ name, id, browser }: DrivenPartner): Promise<void> {
		const driver = this.#driver;
		const entries = this.#model.entries.filter(({ partner }) => partner === name);
		const currencies = [...new Set(entries.map(({ currency }) => currency))];
		const balances = currencies.map((currency) => this.#balanceOf(name, currency));
		const asCalled = balances.map(({ currency, open, due, carried }) =>
			[currency, ...[open, due, carried].map((amount) => writeAmount(amount, currency))].join(" "),
		);
		const tell = ({ currency, open, due, carried }: Json) => [currency, open, due, carried].join(" ");
		const ofNetwork = await driver.network("GET", `/v1/network/partners/${id}/balances`);
		this.#comparison.sameItems(`balances of ${name}`, list(ofNetwork["items"]).map(tell), asCalled);
		const ofPartner = await driver.asPartner(name, "/v1/partner/balances");
		this.#comparison.sameItems(`own balances of ${name}`, list(ofPartner["items"]).map(tell), asCalled);
		const page = await driver.page(browser, `/partner/${id}/statements`);
		this.#comparison.sameItems(
			`balances on the page of ${name}`,
			[...page.matchAll(/<dt>(Open balance|To be paid to you)<\/dt><dd>(.*?)<\/dd>/gs)].map(
				([, label, value = ""]) => `${label} ${amountIn(plain(value))}`,
			),
			balances.flatMap(({ currency, open, due, carried }) => [
				`Open balance ${writeAmount(open + carried, currency)} ${currency}`,
				`To be paid to you ${writeAmount(due, currency)} ${currency}`,
			]),
		);
		this.#comparison.sameItems(
			`statements on the page of ${name}`,
			readTable(page, "Statements, the newest first").map((row) =>
				[row["Number"], amountIn(row["Total"] ?? ""), stateIn(row["State"])].join(" "),
			),
			this.#model.statements
				.filter(({ partner }) => partner === name)
				.map((statement) => {
					const { total, currency, state } = statement;
					return [this.#numberOf(statement), writeAmount(total, currency), currency, state].join(" ");
				}),
		);
		const read = (target: string) => driver.network("GET", target);
		const listed = await driver.readAll(read, `/v1/network/partners/${id}/entries`);
		this.#comparison.sameItems(
			`entries of ${name}`,
			listed.map((entry) =>
				[
					...[entry["kind"], entry["amount"], entry["currency"], entry["conversionId"]],
					...[entry["statementId"], entry["reason"], dayOf(Date.parse(text(entry["at"])))],
				]
					.map(String)
					.join(" "),
			),
			entries.map((entry) => this.#tellEntry(entry)),
		);
	}

	#tellEntry({ kind, amount, currency, conversion, statement, reason, atMs }: Entry): string {
		const conversionId = conversion === null ? null : this.#names.conversions.get(conversion);
		const statementId = statement === null ? null : this.#names.statements.get(statement)?.id;
		const written = writeAmount(amount, currency);
		return [kind, written, currency, conversionId, statementId, reason, dayOf(atMs)].map(String).join(" ");
	}

	#balanceOf(partner: string, currency: Currency) {
		const ofAccount = <Item extends { partner: string; currency: Currency }>(items: readonly Item[]) =>
			items.filter((item) => item.partner === partner && item.currency === currency);
		const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
		const open = ofAccount(this.#model.entries).filter(
			({ kind, statement }) => kind !== "PAID" && statement === null,
		);
		const statements = ofAccount(this.#model.statements);
		const due = statements.filter(({ state }) => state === "to_pay");
		const last = statements.at(-1);
		return {
			currency,
			open: sum(open.map(({ amount }) => amount)),
			due: sum(due.map(({ total }) => total)),
			carried: last?.state === "carried" ? last.total : 0n,
		};
	}

	#numberOf(statement: Statement): string {
		const name = this.#names.statements.get(statement);
		ok(name);
		return name.number;
	}

	/** A statement by both calls, on its page and in its file, which has a line for each entry. */
	async compareStatement(statement: Statement): Promise<void> {
		const driver = this.#driver;
		const name = this.#names.statements.get(statement);
		ok(name);
		const { id, number } = name;
		const { partner: partnerName, currency, month, state } = statement;
		const partner = driver.partner(partnerName);
		const { opening, earned, changed, adjusted, total, paidOn, reference, lines } = statement;
		const amounts = [opening, earned, changed, adjusted, total];
		const written = amounts.map((amount) => writeAmount(amount, currency));
		const expected = [
			[number, month, currency, ...written, state, paidOn, reference].join(" "),
			...lines.map(({ programme, sales, ...line }) =>
				[programme, sales, writeAmount(line.earned, currency), writeAmount(line.changed, currency)].join(" "),
			),
		];
		const tell = (answer: Json) => [
			["number", "month", "currency", "opening", "earned", "changed", "adjusted", "total", "state", "paidOn"]
				.concat("paymentReference")
				.map((field) => part(answer, "statement", field) ?? "")
				.join(" "),
			...list(answer["lines"]).map((line) =>
				[line["programmeName"], line["sales"], line["earned"], line["changed"]].join(" "),
			),
		];
		const ofNetwork = await driver.network("GET", `/v1/network/statements/${id}`);
		this.#comparison.sameItems(`statement ${number}`, tell(ofNetwork), expected);
		const ofPartner = await driver.asPartner(partnerName, `/v1/partner/statements/${id}`);
		this.#comparison.sameItems(`own statement ${number}`, tell(ofPartner), expected);
		const path = `/partner/${partner.id}/statements/${id}`;
		const page = await driver.page(partner.browser, path);
		this.#comparison.sameItems(
			`page of statement ${number}`,
			readTable(page, "Amounts of this statement").map((row) => {
				const [earnedText = "", changedText = ""] = [row["Earned"], row["Changed"]].map((cell) =>
					amountIn(cell ?? ""),
				);
				const amount = amountIn(row["Amount"] ?? "");
				const [item = ""] =
					/^(?:Opening balance|Total|Bonus or correction|\w+)/.exec(row["Item"] ?? "") ?? [];
				return [item, row["Sales"], earnedText, changedText, amount].join("|");
			}),
			this.#pageLines(statement),
		);
		const file = await driver.page(partner.browser, `${path}/sales.csv`);
		this.#comparison.sameItems(
			`file of statement ${number}`,
			readCsv(file).map((line) =>
				[
					...["conversionId", "programme", "commission", "change", "adjusted", "currency", "reason"].map(
						(column) => line[column],
					),
					...["decidedAt", "enteredAt"].map((at) => line[at]?.slice(0, 10)),
				].join("|"),
			),
			statement.entries.map((entry) => this.#tellProof(entry)),
		);
	}

	#pageLines({ currency, opening, total, lines, entries }: Statement): string[] {
		const money = (amount: bigint) => `${writeAmount(amount, currency)} ${currency}`;
		const sales = lines.map(({ programme, sales: count, earned, changed }) =>
			[programme, count, money(earned), money(changed), money(earned + changed)].join("|"),
		);
		const adjustments = entries
			.filter(({ kind }) => kind === "ADJUSTED")
			.map(({ amount }) => `Bonus or correction|| | |${money(amount)}`);
		return [`Opening balance|| | |${money(opening)}`, ...sales, ...adjustments, `Total|| | |${money(total)}`];
	}

	#tellProof({ kind, amount, currency, conversion, reason, decidedAtMs, atMs }: Entry): string {
		const id = conversion === null ? "" : this.#names.conversions.get(conversion);
		const of = (column: Entry["kind"]) => (kind === column ? writeAmount(amount, currency) : "");
		const decided = decidedAtMs === null ? "" : dayOf(decidedAtMs);
		const amounts = [of("EARNED"), of("CHANGED"), of("ADJUSTED")];
		const programme = conversion?.programme.name ?? "";
		return [id, programme, ...amounts, currency, reason ?? "", decided, dayOf(atMs)].join("|");
	}

	/** Each status change has arrived at its receivers as exactly one event with its amounts. */
	async compareCallbacks(): Promise<void> {
		const { programmes, partners } = this.#driver;
		const ids = new Map(
			[...this.#names.conversions].map(([conversion, id]) => [
				`${conversion.programme.name} ${conversion.eventType} ${conversion.orderId}`,
				id,
			]),
		);
		const idOf = ({ programme, eventType, orderId }: ModelEvent) =>
			ids.get(`${programme} ${eventType} ${orderId}`);
		for (const { name, shop } of programmes.values()) {
			this.#comparison.sameItems(
				`callbacks to ${name}`,
				shop.received.map(({ body }) => `${body.event} ${body.conversionId} ${tellEvent(body)}`),
				this.#model.events
					.filter(({ receiver }) => receiver.kind === "shop" && receiver.programme === name)
					.map((event) => {
						const amounts = [event.basket, event.commission, event.fee].map((amount) =>
							writeAmount(amount, event.currency),
						);
						return [
							...[event.name, idOf(event), event.orderId, event.status, event.eventType],
							...[...amounts, event.currency, event.reason ?? "-"],
						].join(" ");
					}),
			);
		}
		for (const { name, called } of partners.values()) {
			const received = await called.received();
			this.#comparison.sameItems(
				`callbacks to ${name}`,
				received.map((body) =>
					["event", "conversionId", "eventType", "commission", "currency", "reason"]
						.map((field) => body[field] ?? "-")
						.join(" "),
				),
				this.#model.events
					.filter(({ receiver }) => receiver.kind === "partner" && receiver.partner === name)
					.map((event) => {
						const amount = writeAmount(event.commission, event.currency);
						const about = [event.name, idOf(event), event.eventType];
						return [...about, amount, event.currency, event.reason ?? "-"].join(" ");
					}),
			);
		}
	}
}

function tellEvent(body: object): string {
	return ["orderId", "status", "eventType", "basketValue", "commission", "networkFee", "currency", "reason"]
		.map((field) => part(body, field) ?? "-")
		.join(" ");
}

interface Sums {
	status: Status;
	currency: Currency;
	count: number;
	basket: bigint;
	commission: bigint;
	fee: bigint;
}

function sumsOf(conversions: readonly Conversion[]): Sums[] {
	const groups = Map.groupBy(conversions, ({ programme, status }) => `${programme.currency} ${status}`);
	return [...groups.values()].map((group) => {
		const [first] = group;
		ok(first);
		const sum = (of: "basket" | "commission" | "fee") =>
			group.reduce((total, conversion) => total + conversion[of], 0n);
		return {
			...{ status: first.status, currency: first.programme.currency, count: group.length },
			...{ basket: sum("basket"), commission: sum("commission"), fee: sum("fee") },
		};
	});
}

function tellModelSums({ status, currency, count, basket, commission, fee }: Sums): string {
	const amounts = [basket, commission, fee].map((amount) => `${writeAmount(amount, currency)} ${currency}`);
	return [status, count, ...amounts].join(" ").toLowerCase();
}

/** Returns the sums by status on a page. A status without a conversion may have a row. */
function readSums(page: string): string[] {
	const rows = readTable(page, "Sums by status").filter((row) => row["Conversions"] !== "0");
	return rows.map((row) => {
		const amounts = ["Basket", "Commission", "Network fee"].map((title) => amountIn(row[title] ?? ""));
		return [row["Status"]?.split(" ")[0], row["Conversions"], ...amounts].join(" ").toLowerCase();
	});
}

const EARNED_TITLES = ["Approved", "Recorded", "Rejected", "Reversed"] as const;

/** Returns the commissions and the numbers of sales of a programme on the page with earnings. */
function tellEarned(row: Record<string, string>): string {
	const cells = EARNED_TITLES.map((title) => {
		const cell = row[title] ?? "";
		return cell === "—" ? cell : `${amountIn(cell)} ${/(\d+) sales?$/.exec(cell)?.[1]}`;
	});
	return [row["Programme"]?.split(" ")[0], ...cells].join(" ");
}

function tellEarnedByModel(conversions: readonly Conversion[]): string[] {
	return EARNED_TITLES.map((title) => {
		const some = conversions.filter(({ status }) => status === title.toUpperCase());
		const [first] = some;
		return first === undefined ? "—" : `${commissionOf(some)} ${first.programme.currency} ${some.length}`;
	});
}

/** Returns the sum of the commissions of at least one conversion. All have the same currency. */
function commissionOf(conversions: readonly Conversion[]): string {
	const [first] = conversions;
	ok(first);
	const sum = conversions.reduce((total, { commission }) => total + commission, 0n);
	return writeAmount(sum, first.programme.currency);
}

function zeroIn(currency: Currency): string {
	return writeAmount(0n, currency);
}

function stateIn(cell: string | undefined): string {
	if (cell?.startsWith("Carried forward") === true) return "carried";
	return cell?.startsWith("Paid") === true ? "paid" : "to_pay";
}
