// Steps about sales: reports, decisions, refunds, changes of the partner, and files with decisions. Each step is made at
// the service and in the model, and the answers are compared at once.

import { equal, ok } from "node:assert/strict";
import { writeAmount } from "./arithmetic.ts";
import { DAY_MS } from "./berlin.ts";
import type { Comparison } from "./comparison.ts";
import type { Draws } from "./draws.ts";
import { codeOf, type Driver, type Json, list, part, text } from "./driver.ts";
import type {
	Answer,
	Conversion,
	Credit,
	Decision,
	ModelProgramme,
	MoneyModel,
	Report,
	Status,
} from "./model.ts";
import { amountIn, readCsv, readTable } from "./pages.ts";

/** A report with the fields of its click ID and coupon code. */
type SentReport = Report & { fields: Json };

const DECISION_PATHS = {
	approve: "/v1/approvals",
	reject: "/v1/rejections",
	reverse: "/v1/reversals",
} as const satisfies Record<Decision, string>;
const DECISIONS = ["approve", "reject", "reverse"] as const;
const NOBODY: Credit = { word: "NO_SIGNAL", partner: null };
/** Share of sales that the shop reports days after they were made. */
const LATE_REPORTS = 0.15;
const FILE_SALES = 8;

export class SalesSteps {
	/** Ids of the service by the conversion. */
	readonly ids = new Map<Conversion, string>();
	readonly #driver: Driver;
	readonly #model: MoneyModel;
	readonly #comparison: Comparison;
	readonly #draws: Draws;
	#orders = 0;
	#refunds = 0;

	constructor(driver: Driver, model: MoneyModel, comparison: Comparison, draws: Draws) {
		this.#driver = driver;
		this.#model = model;
		this.#comparison = comparison;
		this.#draws = draws;
	}

	/** Reports new sales. Several are sent in one call. */
	async report(programme: ModelProgramme, count: number): Promise<void> {
		const reports: SentReport[] = [];
		for (let index = 0; index < count; index++) reports.push(await this.#drawReport(programme));
		const { nowMs } = this.#driver;
		const bodies = reports.map((report) => bodyOf(programme, report));
		const [first] = bodies;
		if (first === undefined) return;
		if (bodies.length === 1) {
			const { json } = await this.#driver.callAsShop(programme.name, "/v1/conversions", first);
			return this.#compareReports(programme, reports, [json], nowMs);
		}
		const path = "/v1/conversions/batch";
		const { json } = await this.#driver.callAsShop(programme.name, path, { items: bodies });
		this.#compareReports(programme, reports, list(json["results"]), nowMs);
	}

	async #drawReport(programme: ModelProgramme): Promise<SentReport> {
		const { random } = this.#draws;
		const { nowMs } = this.#driver;
		const eventType = this.#draws.eventType();
		const soldAtMs = nowMs - (random.chance(LATE_REPORTS) ? random.between(0, 3 * DAY_MS) : 0);
		const brought = await this.#drawCredit(programme, soldAtMs === nowMs);
		const basket = this.#draws.basket(eventType);
		return { orderId: `A-${++this.#orders}`, eventType, basket, soldAtMs, ...brought };
	}

	/** Draws who brought a sale. A click is made just now, so it credits only a sale that is made now. */
	async #drawCredit(
		programme: ModelProgramme,
		isSoldNow: boolean,
	): Promise<{ credit: Credit; fields: Json }> {
		const { random } = this.#draws;
		if (!programme.creditsPartners) return { credit: NOBODY, fields: {} };
		const partner = random.pick([...programme.members.keys()]);
		const drawn = random.fraction();
		if (drawn < 0.55) return withCode(partner);
		if (drawn < 0.75 && isSoldNow) {
			const clickId = await this.#driver.click(programme.name, partner);
			return { credit: { word: "CLICK", partner }, fields: { clickId } };
		}
		if (drawn > 0.9) {
			return { credit: { word: "UNKNOWN_CODE", partner: null }, fields: { couponCode: "NOBODY" } };
		}
		return { credit: NOBODY, fields: {} };
	}

	#compareReports(
		programme: ModelProgramme,
		reports: readonly SentReport[],
		answers: readonly Json[],
		nowMs: number,
	): void {
		for (const [index, report] of reports.entries()) {
			const expected = this.#model.report(programme, report, nowMs);
			const answer = answers[index] ?? {};
			this.#compareAnswer(`report of ${programme.name} ${report.orderId}`, answer, expected);
			if (!("conversion" in expected)) continue;
			const { conversion, differs } = expected;
			this.ids.set(conversion, text(part(answer, "conversion", "id")));
			const about = `${programme.name} ${report.orderId}`;
			// A repeat that names neither a click nor a code is not told the credit.
			const isTold = expected.outcome === "RECORDED" || Object.keys(report.fields).length > 0;
			const credited = isTold ? conversion.credit?.word : undefined;
			this.#comparison.same(`credit of ${about}`, answer["credit"], credited);
			this.#comparison.same(`differs of ${about}`, String(answer["differs"] ?? ""), String(differs ?? ""));
		}
	}

	#compareAnswer(what: string, answer: Json, expected: Answer): void {
		if ("refused" in expected) {
			const code = answer["code"] ?? part(answer, "problem", "code") ?? JSON.stringify(answer);
			this.#comparison.same(what, code, expected.refused);
			return;
		}
		ok(part(answer, "conversion") !== undefined, `${what}: ${JSON.stringify(answer)}`);
		this.#comparison.same(`${what}: outcome`, answer["outcome"], expected.outcome);
		this.#comparison.same(what, tellService(part(answer, "conversion")), tellModel(expected.conversion));
	}

	/** Makes one step with a conversion of the programme, if there is one for it. */
	async act(programme: ModelProgramme): Promise<void> {
		const { random } = this.#draws;
		const drawn = random.fraction();
		const find = (...statuses: readonly Status[]) => this.#find(programme, statuses);
		if (drawn < 0.35) return this.#decide(find("RECORDED"), "approve");
		if (drawn < 0.42) return this.#decide(find("RECORDED"), "reject");
		if (drawn < 0.52) return this.#decide(find("RECORDED", "APPROVED"), "reverse");
		if (drawn < 0.7) return this.#refund(find("RECORDED", "APPROVED"));
		if (drawn < 0.76) return this.#repeatReport(find("RECORDED", "APPROVED", "REJECTED", "REVERSED"));
		if (drawn < 0.82) return this.#decide(find("APPROVED", "REJECTED", "REVERSED"), random.pick(DECISIONS));
		if (drawn < 0.86) return this.#repeatRefund(programme);
		if (programme.creditsPartners) return this.#assign(find("RECORDED", "APPROVED"));
	}

	/** Approves what waits, so that a month end has entries on both sides of it. */
	async approveOne(programme: ModelProgramme): Promise<void> {
		await this.#decide(this.#find(programme, ["RECORDED"]), "approve");
	}

	#find(programme: ModelProgramme, statuses: readonly Status[]): Conversion | undefined {
		const found = [...this.#model.conversions.values()].filter(
			(conversion) => conversion.programme === programme && statuses.includes(conversion.status),
		);
		return found.length === 0 ? undefined : this.#draws.random.pick(found);
	}

	async #decide(conversion: Conversion | undefined, move: Decision): Promise<void> {
		if (conversion === undefined) return;
		const { programme, orderId, eventType } = conversion;
		const reason = move === "approve" ? null : this.#draws.reason();
		const { nowMs } = this.#driver;
		const { json } = await this.#driver.callAsShop(programme.name, DECISION_PATHS[move], {
			...{ orderId, eventType },
			...(reason === null ? {} : { reason }),
		});
		const expected = this.#model.decide(conversion, move, reason, nowMs);
		this.#compareAnswer(`${move} of ${programme.name} ${orderId}`, json, expected);
	}

	/** Refunds a part, or sometimes all that is left. */
	async #refund(conversion: Conversion | undefined): Promise<void> {
		if (conversion === undefined || conversion.basket < 2n) return;
		const { basket } = conversion;
		const drawn = this.#draws.random.fraction();
		const amount = drawn < 0.1 ? basket : drawn < 0.15 ? basket + 1n : this.#draws.partOf(basket);
		const refund = { refundId: `R-${++this.#refunds}`, amount, reason: this.#draws.reason() };
		await this.#sendRefund(conversion, refund, drawn > 0.6);
	}

	async #repeatRefund(programme: ModelProgramme): Promise<void> {
		const refunded = [...this.#model.conversions.values()].filter(
			(conversion) => conversion.programme === programme && conversion.refunds.length > 0,
		);
		if (refunded.length === 0) return;
		const conversion = this.#draws.random.pick(refunded);
		const refund = this.#draws.random.pick(conversion.refunds);
		const other = this.#draws.random.chance(0.3) ? refund.amount + 1n : refund.amount;
		await this.#sendRefund(conversion, { ...refund, amount: other }, false);
	}

	/** Sends a refund by its amount, or by the value that it leaves. */
	async #sendRefund(
		conversion: Conversion,
		refund: Conversion["refunds"][number],
		saysWhatIsLeft: boolean,
	): Promise<void> {
		const { programme, orderId, eventType, basket } = conversion;
		const { currency } = programme;
		const { refundId, amount, reason } = refund;
		const value =
			saysWhatIsLeft && amount <= basket
				? { basketValue: writeAmount(basket - amount, currency) }
				: { amount: writeAmount(amount, currency) };
		const { nowMs } = this.#driver;
		const body = { orderId, eventType, refundId, reason, ...value };
		const { json } = await this.#driver.callAsShop(programme.name, "/v1/refunds", body);
		const expected = this.#model.refund(conversion, refund, nowMs);
		this.#compareAnswer(`refund ${refundId} of ${programme.name} ${orderId}`, json, expected);
	}

	/** Sends a report again, perhaps with another basket, or with a code that the first report lacked. */
	async #repeatReport(conversion: Conversion | undefined): Promise<void> {
		if (conversion === undefined) return;
		const { random } = this.#draws;
		const { programme, orderId, eventType, soldAtMs, credit } = conversion;
		const basket = conversion.basket + conversion.refunded + (random.chance(0.3) ? 100n : 0n);
		// Documents do not say which of two codes is better, so a sale with a code gets no other one.
		const canGetCode = credit !== null && credit.word !== "CODE";
		const brought = canGetCode
			? withCode(random.pick([...programme.members.keys()]))
			: { credit: NOBODY, fields: {} };
		const report = { orderId, eventType, soldAtMs, basket, ...brought };
		const { nowMs } = this.#driver;
		const body = bodyOf(programme, report);
		const { json } = await this.#driver.callAsShop(programme.name, "/v1/conversions", body);
		this.#compareReports(programme, [report], [json], nowMs);
	}

	/** Staff give the sale to another partner, or to nobody, on its page. */
	async #assign(conversion: Conversion | undefined): Promise<void> {
		if (conversion === undefined) return;
		const { programme, orderId } = conversion;
		const { currency, members } = programme;
		const { staff, nowMs } = this.#driver;
		const partner = this.#draws.random.chance(0.2) ? null : this.#draws.random.pick([...members.keys()]);
		if (partner === (conversion.credit?.partner ?? null)) return;
		const before = [conversion.commission, conversion.fee];
		const path = `/conversions/${this.ids.get(conversion)}/partner`;
		const asked = await staff.submit(path, { partner: partner ?? "", reason: "Agreed" });
		const [, shown = ""] = /name="shown" value="([^"]*)"/.exec(asked.text) ?? [];
		const [, chosen = ""] = /name="partner" value="([^"]*)"/.exec(asked.text) ?? [];
		const confirmed = await staff.submit(path, {
			partner: chosen,
			reason: "Agreed",
			shown: readAttribute(shown),
		});
		equal(confirmed.status, 303, `${asked.text}${confirmed.text}`);
		this.#model.assign(conversion, partner, nowMs);
		const rows = readTable(asked.text, "Partner and amounts before and after the change");
		for (const [index, after] of [conversion.commission, conversion.fee].entries()) {
			const what = `preview of another partner of ${programme.name} ${orderId}, row ${index + 1}`;
			const row = rows[index + 1] ?? {};
			const amounts = [before[index] ?? 0n, after].map(
				(each) => `${writeAmount(each, currency)} ${currency}`,
			);
			this.#comparison.same(
				what,
				`${amountIn(row["Now"] ?? "")} ${amountIn(row["After"] ?? "")}`,
				amounts.join(" "),
			);
		}
	}

	/** The owner uploads a file, in which several lines can be about one sale. They are judged in their order. */
	async uploadDecisions(programme: ModelProgramme): Promise<void> {
		const driver = this.#driver;
		const lines: { line: string; apply(): Answer }[] = [];
		for (const conversion of this.#pickSome(programme)) lines.push(...this.#drawLines(conversion));
		if (lines.length === 0) return;
		const path = `/programmes/${driver.programme(programme.name).shop.programId}/conversions/bulk`;
		const header = "orderId,eventType,decision,reason,amount,refundId";
		const job = await driver.upload(driver.owner, path, [header, ...lines.map(({ line }) => line)]);
		await driver.jobPage(driver.owner, job, "previewed");
		const applied = await driver.owner.submit(`${job}/apply`, {});
		equal(applied.location, job);
		await driver.jobPage(driver.owner, job, "done");
		const result = readCsv(await driver.page(driver.owner, `${job}/result.csv`));
		equal(result.length, lines.length);
		for (const [index, { line, apply }] of lines.entries()) {
			const expected = "refused" in apply() ? "refused" : "changed";
			this.#comparison.same(`line "${line}" of a file`, result[index]?.["result"], expected);
		}
	}

	#pickSome(programme: ModelProgramme): Conversion[] {
		const open = [...this.#model.conversions.values()].filter(
			(conversion) => conversion.programme === programme && conversion.status === "RECORDED",
		);
		const some: Conversion[] = [];
		while (some.length < FILE_SALES && open.length > 0) {
			some.push(...open.splice(this.#draws.random.between(0, open.length - 1), 1));
		}
		return some;
	}

	/** Draws up to two refunds and a decision, in any order. A sale may be decided only once in a file. */
	#drawLines(conversion: Conversion): { line: string; apply(): Answer }[] {
		const { random } = this.#draws;
		const { programme, orderId, eventType, basket } = conversion;
		const model = this.#model;
		const { nowMs } = this.#driver;
		const move = random.pick(DECISIONS);
		const reason = move === "approve" ? null : this.#draws.reason();
		const lines = [
			{
				line: `${orderId},${eventType},${move},${reason ?? ""},,`,
				apply: () => model.decide(conversion, move, reason, nowMs),
			},
		];
		for (let left = basket < 4n ? 0 : random.between(0, 2); left > 0; left--) {
			// Two refunds together can be more than there is. The second one is then refused.
			const amount = this.#draws.partOf(basket);
			const refund = { refundId: `R-${++this.#refunds}`, amount, reason: this.#draws.reason() };
			const written = writeAmount(amount, programme.currency);
			lines.splice(random.between(0, lines.length), 0, {
				line: `${orderId},${eventType},refund,${refund.reason},${written},${refund.refundId}`,
				apply: () => model.refund(conversion, refund, nowMs),
			});
		}
		return lines;
	}
}

function withCode(partner: string): { credit: Credit; fields: Json } {
	return { credit: { word: "CODE", partner }, fields: { couponCode: codeOf(partner) } };
}

function bodyOf({ currency }: ModelProgramme, report: SentReport): Json {
	const { orderId, eventType, basket, soldAtMs, fields } = report;
	const occurredAt = new Date(soldAtMs).toISOString();
	return { orderId, eventType, basketValue: writeAmount(basket, currency), occurredAt, ...fields };
}

function readAttribute(attribute: string): string {
	return attribute.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

/** Returns a conversion of the model as one text, for comparisons. */
export function tellModel(conversion: Conversion): string {
	const { programme, orderId, eventType, status, basket, refunded, commission, fee, reason } = conversion;
	const { currency } = programme;
	const amounts = [basket, refunded, commission, fee].map((each) => writeAmount(each, currency));
	return [orderId, eventType, status, ...amounts, currency, reason ?? "-"].join(" ");
}

/** Returns the same of a conversion in an answer, an export or a list. */
export function tellService(conversion: unknown): string {
	const names = [
		"orderId",
		"eventType",
		"status",
		"basketValue",
		"refundedValue",
		"commission",
		"networkFee",
	];
	const values = [...names, "currency"].map((name) => String(part(conversion, name)));
	return [...values, part(conversion, "reason") || "-"].join(" ");
}
