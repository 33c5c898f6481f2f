// What must become of the money of a network, by the documents alone: docs/contract.md (statuses and events),
// docs/order-to-money.md (repeats, refunds, decisions), docs/partners.md (rates, credits, callbacks to partners) and
// docs/decisions/money.md and statements.md. It imports nothing of src/. Amounts are in the smallest unit of their
// currency, and times are those of the service's clock.

import { amountAt, type Currency, type Rate } from "./arithmetic.ts";
import { DAY_MS, monthEndMs } from "./berlin.ts";

export type Status = "RECORDED" | "APPROVED" | "REJECTED" | "REVERSED";
export type EventType = "SALE" | "LEAD" | "SIGNUP";
export type Decision = "approve" | "reject" | "reverse";

/** Commission and network fee. */
export interface Rates {
	commission: Rate;
	fee: Rate;
}

export interface ProgrammeRates extends Rates {
	byType: Partial<Record<EventType, Rates>>;
}

/** The commission that was agreed with a partner. `general` is null if it is the programme's. */
export interface OwnCommission {
	general: Rate | null;
	byType: Partial<Record<EventType, Rate>>;
}

interface Since<Value> {
	fromMs: number;
	value: Value;
}

interface Membership {
	joinedAtMs: number;
	commissions: Since<OwnCommission>[];
}

export interface ModelProgramme {
	name: string;
	currency: Currency;
	creditsPartners: boolean;
	approvalDays: number;
	rates: Since<ProgrammeRates>[];
	members: Map<string, Membership>;
}

/** The word of the credit, and the partner's name, which is null for nobody. */
export interface Credit {
	word: "CODE" | "CLICK" | "NO_SIGNAL" | "UNKNOWN_CODE" | "ASSIGNED";
	partner: string | null;
}

export interface Refund {
	refundId: string;
	amount: bigint;
	reason: string;
}

export interface Conversion {
	programme: ModelProgramme;
	orderId: string;
	eventType: EventType;
	status: Status;
	/** The value that is left after refunds. */
	basket: bigint;
	refunded: bigint;
	refunds: Refund[];
	commission: bigint;
	fee: bigint;
	reason: string | null;
	recordedAtMs: number;
	soldAtMs: number;
	windowEndsAtMs: number;
	decidedAtMs: number | null;
	decidedBy: "shop" | "review" | "window" | null;
	/** Null if the programme credits no partners. */
	credit: Credit | null;
	/** Rate of the present commission, and the rate of the fee, which stays for good. */
	commissionRate: Rate;
	feeRate: Rate;
	/** The first partner with the commission that was recorded for it. */
	first: { partner: string; rate: Rate } | null;
}

/** A callback that must have arrived exactly once. */
export interface ModelEvent {
	receiver: { kind: "shop"; programme: string } | { kind: "partner"; partner: string };
	name: string;
	programme: string;
	orderId: string;
	eventType: EventType;
	status: Status;
	basket: bigint;
	commission: bigint;
	fee: bigint;
	currency: Currency;
	reason: string | null;
}

export interface Entry {
	kind: "EARNED" | "CHANGED" | "ADJUSTED" | "PAID";
	partner: string;
	currency: Currency;
	amount: bigint;
	conversion: Conversion | null;
	reason: string | null;
	/** Time of the decision of the conversion when the entry was written. */
	decidedAtMs: number | null;
	atMs: number;
	statement: Statement | null;
}

export interface StatementLine {
	programme: string;
	sales: number;
	earned: bigint;
	changed: bigint;
}

export interface Statement {
	partner: string;
	currency: Currency;
	month: string;
	opening: bigint;
	earned: bigint;
	changed: bigint;
	adjusted: bigint;
	total: bigint;
	state: "to_pay" | "paid" | "carried";
	paidOn: string | null;
	reference: string | null;
	entries: Entry[];
	lines: StatementLine[];
}

/** A call's expected answer: the outcome, or the code of the refusal. */
export type Answer = { outcome: string; conversion: Conversion } | { refused: string };

export interface Report {
	orderId: string;
	eventType: EventType;
	basket: bigint;
	soldAtMs: number;
	/** Credit that the report's click or code leads to. */
	credit: Credit;
}

const ZERO: Rate = { percent: "0", fixed: "0" };
const MOVED = { approve: "APPROVED", reject: "REJECTED", reverse: "REVERSED" } as const;
const MOVES_FROM: Readonly<Record<Decision, readonly Status[]>> = {
	approve: ["RECORDED"],
	reject: ["RECORDED"],
	reverse: ["RECORDED", "APPROVED"],
};
/** The better credit comes first. What is equal replaces nothing. */
const BETTER: readonly Credit["word"][] = ["CODE", "CLICK", "UNKNOWN_CODE", "NO_SIGNAL"];

export class MoneyModel {
	readonly programmes = new Map<string, ModelProgramme>();
	readonly conversions = new Map<string, Conversion>();
	readonly events: ModelEvent[] = [];
	readonly entries: Entry[] = [];
	readonly statements: Statement[] = [];
	readonly minimums = new Map<Currency, bigint>();

	addProgramme(
		programme: Omit<ModelProgramme, "rates" | "members">,
		rates: ProgrammeRates,
		atMs: number,
	): void {
		const history = [{ fromMs: atMs, value: rates }];
		this.programmes.set(programme.name, { ...programme, rates: history, members: new Map() });
	}

	changeRates(programme: ModelProgramme, rates: ProgrammeRates, atMs: number): void {
		programme.rates.push({ fromMs: atMs, value: rates });
	}

	join(programme: ModelProgramme, partner: string, own: OwnCommission, atMs: number): void {
		programme.members.set(partner, { joinedAtMs: atMs, commissions: [{ fromMs: atMs, value: own }] });
	}

	changeCommission(programme: ModelProgramme, partner: string, own: OwnCommission, atMs: number): void {
		memberOf(programme, partner).commissions.push({ fromMs: atMs, value: own });
	}

	/** A report of the shop's server. A repeat changes at most the credit. */
	report(programme: ModelProgramme, report: Report, atMs: number): Answer & { differs?: readonly string[] } {
		const { orderId, eventType, basket, soldAtMs } = report;
		const key = keyOf(programme.name, eventType, orderId);
		const existing = this.conversions.get(key);
		if (existing !== undefined) {
			this.#creditByRepeat(existing, report.credit, atMs);
			const differs = basket === existing.basket + existing.refunded ? [] : ["basketValue"];
			return { outcome: "DUPLICATE", conversion: existing, differs };
		}
		const credit = programme.creditsPartners ? report.credit : null;
		const partner = credit?.partner ?? null;
		const rates = this.#ratesOfSale(programme, partner, eventType, atMs);
		const conversion: Conversion = {
			...{ programme, orderId, eventType, basket, soldAtMs, credit },
			...{ status: "RECORDED", refunded: 0n, refunds: [], commission: 0n, fee: 0n, reason: null },
			...{ recordedAtMs: atMs, windowEndsAtMs: atMs + programme.approvalDays * DAY_MS },
			...{ decidedAtMs: null, decidedBy: null },
			...{ commissionRate: rates.commission, feeRate: rates.fee },
			first: partner === null ? null : { partner, rate: rates.commission },
		};
		price(conversion);
		this.conversions.set(key, conversion);
		this.#announce(conversion, "conversion.recorded");
		return { outcome: "RECORDED", conversion };
	}

	/** A decision of the shop. The review team can only reject. */
	decide(
		conversion: Conversion,
		move: Decision,
		reason: string | null,
		atMs: number,
		decidedBy: "shop" | "review" | "window" = "shop",
	): Answer {
		const outcome = MOVED[move];
		// A repeated decision changes nothing, and the first reason stays.
		if (conversion.status === outcome) return { outcome, conversion };
		if (!MOVES_FROM[move].includes(conversion.status)) return { refused: "move_not_allowed" };
		const before = owed(conversion);
		conversion.status = outcome;
		conversion.reason = reason;
		conversion.decidedAtMs = atMs;
		conversion.decidedBy = decidedBy;
		this.#enter(conversion, before, reason, atMs);
		this.#announce(conversion, `conversion.${outcome.toLowerCase()}`);
		return { outcome, conversion };
	}

	/** A refund of a part. If it leaves nothing, it is a reversal, and the amounts stay as they were. */
	refund(conversion: Conversion, refund: Refund, atMs: number): Answer {
		const known = conversion.refunds.find(({ refundId }) => refundId === refund.refundId);
		if (known !== undefined) {
			return known.amount === refund.amount
				? { outcome: "REFUNDED", conversion }
				: { refused: "refund_id_used" };
		}
		if (!MOVES_FROM.reverse.includes(conversion.status)) return { refused: "move_not_allowed" };
		if (refund.amount > conversion.basket) return { refused: "refund_above_value" };
		if (refund.amount === conversion.basket) {
			return this.decide(conversion, "reverse", refund.reason, atMs);
		}
		const before = owed(conversion);
		conversion.refunds.push(refund);
		conversion.refunded += refund.amount;
		conversion.basket -= refund.amount;
		price(conversion);
		this.#enter(conversion, before, refund.reason, atMs);
		return { outcome: "REFUNDED", conversion };
	}

	/** Staff give the sale to a partner, or to nobody. Naming the partner that has it changes nothing. */
	assign(conversion: Conversion, partner: string | null, atMs: number): void {
		if (partner !== null && conversion.credit?.partner === partner) return;
		this.#credit(conversion, { word: "ASSIGNED", partner }, atMs);
	}

	/** Returns the conversions whose approval window has ended, and approves them. */
	endWindows(atMs: number): Conversion[] {
		const ended = this.#due(atMs);
		for (const conversion of ended) this.decide(conversion, "approve", null, atMs, "window");
		return ended;
	}

	hasEndedWindows(atMs: number): boolean {
		return this.#due(atMs).length > 0;
	}

	#due(atMs: number): Conversion[] {
		return [...this.conversions.values()].filter(
			({ status, windowEndsAtMs }) => status === "RECORDED" && windowEndsAtMs <= atMs,
		);
	}

	adjust(partner: string, currency: Currency, amount: bigint, reason: string, atMs: number): void {
		this.entries.push({
			...{ kind: "ADJUSTED", partner, currency, amount, conversion: null, reason },
			...{ decidedAtMs: null, atMs, statement: null },
		});
	}

	/** Returns the statements that a month would have now. */
	due(month: string): Statement[] {
		const endMs = monthEndMs(month);
		const open = this.entries.filter(
			({ kind, statement, atMs }) => kind !== "PAID" && statement === null && atMs < endMs,
		);
		const accounts = new Map<string, { partner: string; currency: Currency }>();
		for (const { partner, currency } of [...open, ...this.statements]) {
			accounts.set(`${partner} ${currency}`, { partner, currency });
		}
		return [...accounts.values()].flatMap(({ partner, currency }) => {
			const entries = open.filter((entry) => entry.partner === partner && entry.currency === currency);
			const last = this.statements.findLast(
				(statement) => statement.partner === partner && statement.currency === currency,
			);
			const opening = last?.state === "carried" ? last.total : 0n;
			const sum = (kind: Entry["kind"]) =>
				entries.reduce((total, entry) => total + (entry.kind === kind ? entry.amount : 0n), 0n);
			const [earned, changed, adjusted] = [sum("EARNED"), sum("CHANGED"), sum("ADJUSTED")];
			const total = opening + earned + changed + adjusted;
			const isCarried = total <= 0n || total < (this.minimums.get(currency) ?? 0n);
			// If nothing is new and nothing can be paid, the last statement stays the newest.
			if (entries.length === 0 && isCarried) return [];
			const statement: Statement = {
				...{ partner, currency, month, opening, earned, changed, adjusted, total, entries },
				...{ state: isCarried ? "carried" : "to_pay", paidOn: null, reference: null },
				lines: linesOf(entries),
			};
			return [statement];
		});
	}

	issue(month: string): Statement[] {
		const issued = this.due(month);
		for (const statement of issued) {
			this.statements.push(statement);
			for (const entry of statement.entries) entry.statement = statement;
		}
		return issued;
	}

	pay(statement: Statement, paidOn: string, reference: string, atMs: number): void {
		statement.state = "paid";
		statement.paidOn = paidOn;
		statement.reference = reference;
		this.#enterPayment(statement, -statement.total, reference, atMs);
	}

	undoPayment(statement: Statement, reason: string, atMs: number): void {
		statement.state = "to_pay";
		statement.paidOn = null;
		statement.reference = null;
		this.#enterPayment(statement, statement.total, reason, atMs);
	}

	#enterPayment(statement: Statement, amount: bigint, reason: string, atMs: number): void {
		const { partner, currency } = statement;
		this.entries.push({
			...{ kind: "PAID", partner, currency, amount, conversion: null, reason },
			...{ decidedAtMs: null, atMs, statement },
		});
	}

	/** Returns the rates of a sale that is reported now. Nobody pays for a sale that no partner brought. */
	#ratesOfSale(programme: ModelProgramme, partner: string | null, eventType: EventType, atMs: number): Rates {
		const rates = at(programme.rates, atMs);
		const fee = (rates.byType[eventType] ?? rates).fee;
		if (partner !== null) return { fee, commission: commissionAt(programme, partner, eventType, atMs) };
		const commission = (rates.byType[eventType] ?? rates).commission;
		return { fee, commission: programme.creditsPartners ? ZERO : commission };
	}

	#creditByRepeat(conversion: Conversion, candidate: Credit, atMs: number): void {
		const { credit, status } = conversion;
		if (credit === null || status !== "RECORDED" || credit.word === "ASSIGNED") return;
		if (BETTER.indexOf(candidate.word) < BETTER.indexOf(credit.word))
			this.#credit(conversion, candidate, atMs);
	}

	#credit(conversion: Conversion, credit: Credit, atMs: number): void {
		const { partner } = credit;
		const former = conversion.credit?.partner ?? null;
		const before = owed(conversion);
		const known = { ...conversion };
		conversion.credit = credit;
		if (partner !== former) {
			conversion.commissionRate = partner === null ? ZERO : rateOfLaterCredit(conversion, partner);
			price(conversion);
			if (partner !== null) conversion.first ??= { partner, rate: conversion.commissionRate };
			this.#enter(conversion, before, "REASSIGNED", atMs);
			// The former partner knows the amounts from before the change.
			if (former !== null && this.#wasTold(conversion, former)) {
				this.#tellPartner(known, former, "conversion.reversed", "REASSIGNED");
			}
		}
		if (partner !== null) {
			this.#tellPartner(
				conversion,
				partner,
				`conversion.${conversion.status.toLowerCase()}`,
				conversion.reason,
			);
		}
	}

	/** Writes what changed in the accounts of partners. */
	#enter(conversion: Conversion, before: Owed, reason: string | null, atMs: number): void {
		const after = owed(conversion);
		const { decidedAtMs } = conversion;
		const kind = before.isApproved ? "CHANGED" : "EARNED";
		const partners = new Set([before.partner, after.partner]);
		for (const partner of partners) {
			if (partner === null) continue;
			const amount =
				(after.partner === partner ? after.amount : 0n) - (before.partner === partner ? before.amount : 0n);
			if (amount === 0n) continue;
			const { currency } = conversion.programme;
			this.entries.push({
				...{ kind, partner, currency, amount, conversion, atMs, decidedAtMs, statement: null },
				reason: kind === "EARNED" ? null : reason,
			});
		}
	}

	#announce(conversion: Conversion, name: string): void {
		const { programme, reason } = conversion;
		this.events.push(eventOf(conversion, { kind: "shop", programme: programme.name }, name, reason));
		const partner = conversion.credit?.partner ?? null;
		if (partner !== null) this.#tellPartner(conversion, partner, name, reason);
	}

	/** A partner hears of each event of a sale once, and of nothing after it was reversed. */
	#tellPartner(conversion: Conversion, partner: string, name: string, reason: string | null): void {
		const told = this.#toldTo(conversion, partner);
		if (told.includes(name) || told.includes("conversion.reversed")) return;
		this.events.push(eventOf(conversion, { kind: "partner", partner }, name, reason));
	}

	#wasTold(conversion: Conversion, partner: string): boolean {
		return this.#toldTo(conversion, partner).length > 0;
	}

	#toldTo({ programme, orderId, eventType }: Conversion, partner: string): string[] {
		return this.events.flatMap(({ receiver, name, ...event }) => {
			const isAbout =
				event.orderId === orderId && event.eventType === eventType && event.programme === programme.name;
			return isAbout && receiver.kind === "partner" && receiver.partner === partner ? [name] : [];
		});
	}
}

export function keyOf(programme: string, eventType: string, orderId: string): string {
	return `${programme} ${eventType} ${orderId}`;
}

/** What a conversion earns its partner now. */
interface Owed {
	isApproved: boolean;
	partner: string | null;
	amount: bigint;
}

function owed({ status, commission, credit }: Conversion): Owed {
	const isApproved = status === "APPROVED";
	return { isApproved, partner: credit?.partner ?? null, amount: isApproved ? commission : 0n };
}

/** Computes commission and fee of what is left. Nothing is charged for a sale that no partner brought. */
function price(conversion: Conversion): void {
	const { programme, credit, basket, commissionRate, feeRate } = conversion;
	const { currency } = programme;
	const isCharged = !programme.creditsPartners || (credit?.partner ?? null) !== null;
	conversion.commission = isCharged ? amountAt(basket, commissionRate, currency) : 0n;
	conversion.fee = isCharged ? amountAt(basket, feeRate, currency) : 0n;
}

/** Returns the commission of a partner that gets the sale later: the recorded one, or what it had then. */
function rateOfLaterCredit(conversion: Conversion, partner: string): Rate {
	const { first, programme, eventType, recordedAtMs } = conversion;
	if (first?.partner === partner) return first.rate;
	return commissionAt(programme, partner, eventType, recordedAtMs);
}

/**
 * Returns the commission of a partner at a time, by what it names: partner and event type, programme and event type,
 * partner, programme. A partner that joined later has its first one.
 */
function commissionAt(programme: ModelProgramme, partner: string, eventType: EventType, atMs: number): Rate {
	const { joinedAtMs, commissions } = memberOf(programme, partner);
	const sinceMs = Math.max(atMs, joinedAtMs);
	const own = at(commissions, sinceMs);
	const general = at(programme.rates, sinceMs);
	return own.byType[eventType] ?? general.byType[eventType]?.commission ?? own.general ?? general.commission;
}

function memberOf({ members, name }: ModelProgramme, partner: string): Membership {
	const found = members.get(partner);
	if (found === undefined) throw new Error(`${partner} is no partner of ${name}`);
	return found;
}

function at<Value>(history: readonly Since<Value>[], atMs: number): Value {
	const found = history.findLast(({ fromMs }) => fromMs <= atMs) ?? history[0];
	if (found === undefined) throw new Error("there is no rate");
	return found.value;
}

function eventOf(
	conversion: Conversion,
	receiver: ModelEvent["receiver"],
	name: string,
	reason: string | null,
): ModelEvent {
	const { programme, orderId, eventType, status, basket, commission, fee } = conversion;
	const { currency } = programme;
	return {
		...{ receiver, name, programme: programme.name, orderId, eventType },
		...{ status, basket, commission, fee, currency, reason },
	};
}

function linesOf(entries: readonly Entry[]): StatementLine[] {
	const byProgramme = Map.groupBy(entries, ({ conversion }) => conversion?.programme.name ?? "");
	return [...byProgramme].flatMap(([programme, own]) => {
		if (programme === "") return [];
		const of = (kind: Entry["kind"]) => own.filter((entry) => entry.kind === kind);
		const sum = (some: readonly Entry[]) => some.reduce((total, { amount }) => total + amount, 0n);
		const earned = of("EARNED");
		return [{ programme, sales: earned.length, earned: sum(earned), changed: sum(of("CHANGED")) }];
	});
}
