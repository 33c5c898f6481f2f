// Simulates actions of shops, owners and staff: sales, pixels, confirmations, decisions, repeats, and several at once.
// Each uses the real use case in one of the processes. Every answer is compared with the workload's own ledger.

import { decidedAnswer } from "#core/api/answers.ts";
import { type Decision, decisionRequest } from "#core/conversions/decide.ts";
import { refuseBusy } from "#core/conversions/order-request.ts";
import { reportRequest } from "#core/conversions/record.ts";
import { EVENT_TYPES, REASONS } from "#core/domain/conversion.ts";
import { succeed } from "#core/domain/fault.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { resendFailed, type SeenDelivery, sendSeen } from "#core/programmes/resend.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { refundRequest } from "#modules/refunds/use-cases/refund.ts";
import { Broken, demand } from "../support/broken.ts";
import { START_MS } from "../support/clock.ts";
import { type Act, type Answered, coinsOf, type MoneyAct, writeCoins } from "../support/lifecycle-model.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Crediting } from "./crediting.ts";
import { DatabaseFailed, Killed } from "./mishaps.ts";
import type { Order, OrderLedger } from "./order-ledger.ts";
import type { ProgrammeRecord } from "./programme-record.ts";
import type { ServiceProcess } from "./service-process.ts";

export interface WorkloadSite {
	random: SeededRandom;
	programmes: readonly ProgrammeRecord[];
	ledger: OrderLedger;
	crediting: Crediting;
	/** Returns a random process that can be called now, or undefined if none is running. */
	pickProcess(): ServiceProcess | undefined;
	/** Returns a random delivery of this shop that is not pending. */
	pickFinished(programme: ProgrammeRecord): FinishedDelivery | undefined;
	/** Returns how many deliveries of this shop failed between these times and were not set aside. */
	countFailed(programme: ProgrammeRecord, sinceMs: number, untilMs: number): number;
	/** Returns a count that grows whenever results are stored. */
	settledCount(): number;
	trace(line: string): void;
	/** Fails the run if the promise rejects. */
	supervise(work: Promise<void>): void;
}

export interface FinishedDelivery extends SeenDelivery {
	state: string;
}

/** Actions that a shop makes through the API. */
type ShopAct = Act | Extract<MoneyAct, { kind: "refund" }>;
type Report = Extract<Act, { kind: "report" }>;

export type Workload = ReturnType<typeof createWorkload>;

const MAX_BASKET_COINS = 99_999_999;
/** Share of actions that begin a new order. The others continue the life of an existing order. */
const NEW_ORDER_SHARE = 0.45;
const RESEND_SHARE = 0.12;
const BURST_SHARE = 0.2;
const MAX_BURST = 4;
/** Share of actions that are bulk calls with several requests about one order. */
const BULK_SHARE = 0.2;
const MAX_IN_BULK = 5;
/** Share of actions in which the shop's server reports an order that only a pixel has reported. */
const SERVER_SHARE = 0.3;
const MAX_RESEND_AGE_MS = 5 * 24 * 60 * 60_000;

export function createWorkload(site: WorkloadSite) {
	const { random, ledger } = site;
	const resent = new Map(site.programmes.map((programme) => [programme, { surely: 0, perhaps: 0 }]));
	let nextOrder = 1;
	let nextRefund = 1;

	function act(): void {
		const programme = random.pick(site.programmes);
		if (random.chance(RESEND_SHARE)) {
			site.supervise(resend(programme));
			return;
		}
		const orders = new Set([pickOrder(programme)]);
		// Calls of several shops at the same moment are stored together if they reach the same process.
		const others = random.chance(BURST_SHARE) ? random.between(1, MAX_BURST) : 0;
		for (let n = 0; n < others; n++) orders.add(pickOrder(random.pick(site.programmes)));
		for (const order of orders)
			site.supervise(random.chance(BULK_SHARE) ? advanceInBulk(order) : advance(order));
	}

	function pickOrder(programme: ProgrammeRecord): Order {
		const orders = ledger.orders.filter((order) => order.programme === programme);
		const unsigned = orders.filter(({ states }) => states.some(({ isUnsigned }) => isUnsigned));
		if (unsigned.length > 0 && random.chance(SERVER_SHARE)) return random.pick(unsigned);
		if (orders.length > 0 && !random.chance(NEW_ORDER_SHARE)) return random.pick(orders);
		const eventType = random.chance(0.8) ? "SALE" : random.pick(EVENT_TYPES);
		return ledger.open(programme, `order-${nextOrder++}`, eventType);
	}

	/**
	 * Carries out the next actions of an order. If several calls are made at once through different processes, the
	 * answers must fit some order of the calls.
	 */
	async function advance(order: Order): Promise<void> {
		const together = random.chance(0.25) ? random.between(2, 3) : 1;
		const asked = Array.from({ length: together }, () => {
			const process = site.pickProcess();
			const nowMs = process?.clock.nowMs() ?? START_MS;
			return { process, act: site.crediting.complete(order, drawAct(order), nowMs), nowMs };
		});
		ledger.ask(order, asked);
		const answered = await Promise.all(asked.map((one) => carryOut(order, one)));
		ledger.note(order, answered);
	}

	/** Carries out several actions of an order in one call, which handles them in turn. */
	async function advanceInBulk(order: Order): Promise<void> {
		const process = site.pickProcess();
		const nowMs = process?.clock.nowMs() ?? START_MS;
		const acts = drawInBulk(order, nowMs);
		const asked = acts.map((act) => ({ act, nowMs }));
		ledger.ask(order, asked);
		const answers =
			process === undefined ? null : await answerOrNothing(() => callShopInBulk(process, order, acts));
		site.trace(`bulk ${process?.number} ${order.orderId} ${JSON.stringify(acts)} ${answers}`);
		const answered = asked.map((one, index) => ({ ...one, answer: answers?.[index] ?? null }));
		ledger.note(order, answered, { inTurn: true });
	}

	/** Draws actions for a bulk call, which are often a whole life: a sale, its approval and a refund. */
	function drawInBulk(order: Order, nowMs: number): ShopAct[] {
		const states = ledger.statesNow(order);
		const isNew = states.every(({ status }) => status === "NONE");
		const { currencyDigits } = order.programme.terms;
		let value = states[0]?.basketValue || "0";
		return Array.from({ length: random.between(2, MAX_IN_BULK) }, (_, index): ShopAct => {
			const kind = random.pick(["report", "approve", "refund", "refund", "any"] as const);
			if ((isNew && index === 0) || kind === "report") {
				const report = drawReport(order, random.pick(["postback", "postback", "pixel"] as const));
				if (index === 0) value = report.basketValue;
				return site.crediting.complete(order, report, nowMs);
			}
			if (kind === "approve") return { kind };
			if (kind === "any") return site.crediting.complete(order, drawAct(order), nowMs);
			const coins = BigInt(random.between(1, Math.max(1, Number(coinsOf(value)) / 2)));
			const amount = writeCoins(coins, currencyDigits);
			return { kind, refundId: `bulk ${nextRefund++}`, amount, reason: random.pick(REASONS) };
		});
	}

	function drawAct(order: Order): Act {
		const states = ledger.statesNow(order);
		const isNew = states.every(({ status }) => status === "NONE");
		const awaitsServer = states.some(({ isUnsigned }) => isUnsigned) && random.chance(SERVER_SHARE);
		const kind =
			isNew || awaitsServer ? "report" : random.pick(["report", "approve", "reject", "reverse"] as const);
		if (kind === "approve") return { kind };
		if (kind !== "report") return { kind, reason: random.pick(REASONS) };
		const source = awaitsServer
			? "postback"
			: random.pick(["postback", "postback", "pixel", "pixel", "test"] as const);
		return drawReport(order, source);
	}

	function drawReport({ programme }: Order, source: Report["source"]): Report {
		const coins = String(random.between(0, MAX_BASKET_COINS)).padStart(
			programme.terms.currencyDigits + 1,
			"0",
		);
		const digits = programme.terms.currencyDigits;
		return {
			kind: "report",
			source,
			basketValue: digits === 0 ? coins : `${coins.slice(0, -digits)}.${coins.slice(-digits)}`,
			occurredAtMs: random.chance(0.5) ? Date.UTC(2026, 0, 1) + random.between(0, 1_000_000_000) : null,
			isTest: source === "test" || (source === "postback" && random.chance(0.1)),
		};
	}

	async function carryOut(
		order: Order,
		{ process, act, nowMs }: { process: ServiceProcess | undefined; act: Act; nowMs: number },
	): Promise<Answered> {
		if (process === undefined) return { act, nowMs, answer: null };
		const answer = await answerOrNothing(() => callShop(process, order, act));
		site.trace(`act ${process.number} ${order.orderId} ${JSON.stringify(act)} ${answer}`);
		return { act, nowMs, answer };
	}

	async function resend(programme: ProgrammeRecord): Promise<void> {
		const process = site.pickProcess();
		const count = resent.get(programme);
		if (process === undefined || count === undefined) return;
		if (random.chance(0.3)) {
			const nowMs = process.clock.nowMs();
			const sinceMs = nowMs - random.between(0, MAX_RESEND_AGE_MS);
			const failed = site.countFailed(programme, sinceMs, nowMs);
			const settledBefore = site.settledCount();
			// The deliveries count as possibly resent until there is an answer, because a process that is killed never
			// answers.
			count.perhaps += failed;
			const result = await answerOrNothing(() =>
				resendFailed(process, { receivers: [programme], actor: COMMAND_LINE }, { fromMs: sinceMs }),
			);
			if (result !== null) count.perhaps -= failed;
			if (result?.ok === true) count.surely += result.value.count;
			// The numbers are compared only if no results were stored in the meantime, because more deliveries may have
			// failed then.
			if (result?.ok === true && site.settledCount() === settledBefore) {
				demand(
					result.value.count === failed,
					"nothing unexpected happens",
					() => `${result.value.count} of ${failed} were sent again`,
				);
			}
			site.trace(`resend all of ${programme.id}: ${JSON.stringify(result)}`);
			return;
		}
		const finished = site.pickFinished(programme);
		if (finished === undefined) return;
		count.perhaps++;
		const result = await answerOrNothing(() =>
			sendSeen(process, { receiver: programme, actor: COMMAND_LINE }, [finished]),
		);
		const started = result?.ok === true ? result.value.resent : 0;
		if (result !== null) count.perhaps--;
		count.surely += started;
		demand(
			finished.state !== "cancelled" || started === 0,
			"nothing unexpected happens",
			() => "a cancelled delivery was sent again",
		);
		site.trace(`resend ${finished.publicId}: ${JSON.stringify(result)}`);
	}

	return {
		act,
		/** Number of runs that people requested, by shop. Requests without an answer are counted separately. */
		resent,
	};
}

/** Calls the intake as the API does, in one batch with the other calls of its process at that moment. */
export async function callShop(process: ServiceProcess, order: Order, act: ShopAct): Promise<string> {
	const programme = await process.findProgramme(order.programme.publicId);
	const result = await process.intake.accept({
		inbound: { kind: "api", method: "POST", target: "/", requestId: null, findBlock: () => null },
		programme,
		caller: null,
		orderId: order.orderId,
		requests: [requestFor(process, programme, order, act)],
		answer: ([decided = refuseBusy()]) =>
			decided.ok ? succeed(decidedAnswer(decided.value, programme)) : decided,
	});
	if (result === undefined)
		throw new Broken("nothing unexpected happens", "more calls wait than a process takes");
	return result.ok ? result.value.outcome : result.fault.code;
}

/** Sends a bulk call about one order. Returns the answers to its items. */
async function callShopInBulk(
	process: ServiceProcess,
	order: Order,
	acts: readonly ShopAct[],
): Promise<readonly string[]> {
	const programme = await process.findProgramme(order.programme.publicId);
	let answers: readonly string[] = [];
	const result = await process.intake.accept({
		inbound: { kind: "api", method: "POST", target: "/", requestId: null, findBlock: () => null },
		programme,
		caller: null,
		orderId: null,
		size: acts.length,
		requests: acts.map((act) => requestFor(process, programme, order, act)),
		answer(results) {
			answers = results.map((decided) => (decided.ok ? decided.value.outcome : decided.fault.code));
			return succeed({ outcome: "BATCH", httpStatus: 200, body: null, conversionId: null });
		},
	});
	if (result === undefined)
		throw new Broken("nothing unexpected happens", "more calls wait than a process takes");
	return result.ok ? answers : acts.map(() => result.fault.code);
}

function requestFor(
	process: ServiceProcess,
	programme: Programme,
	{ orderId, ...order }: Order,
	act: ShopAct,
) {
	const eventType = EVENT_TYPES.find((known) => known === order.eventType) ?? "SALE";
	if (act.kind === "report") {
		const { kind: _, ...report } = act;
		return reportRequest(process, programme, { ...report, orderId, eventType });
	}
	const reason = act.kind === "approve" ? undefined : REASONS.find((known) => known === act.reason);
	if (act.kind === "refund") {
		const { refundId, amount } = act;
		const refund = { move: "refund", decidedBy: "shop", refundId } as const;
		return refundRequest(
			programme,
			{ orderId, eventType },
			{ ...refund, value: { amount }, reason: reason ?? "OTHER" },
		);
	}
	const decision: Decision =
		act.kind === "approve"
			? { move: act.kind, decidedBy: "shop" }
			: { move: act.kind, decidedBy: "shop", reason: reason ?? "OTHER" };
	return decisionRequest(programme, { orderId, eventType }, decision);
}

/** Resolves to null if the process died or its database failed, because the caller then does not know the result. */
export async function answerOrNothing<Value>(work: () => Promise<Value>): Promise<Value | null> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof Killed || error instanceof DatabaseFailed) return null;
		throw error;
	}
}
