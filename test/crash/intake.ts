// The shops' servers. They report orders step by step at a steady pace, and repeat unanswered calls as the
// API's documentation asks. They remember the answers, which the service must never lose.

import type { ShopAccount } from "../support/shop-account.ts";
import { CallRefused, createShopClient, type ShopClient } from "../support/shop-client.ts";
import { COUPON_CODE } from "./money.ts";
import { BASKET_VALUE, type PlannedOrder, REFUNDED, STATUS_AFTER, type Step } from "./orders.ts";

export interface AnsweredOrder {
	conversionId: string;
	/** Status in the last answer. */
	status: string;
	/** Status after the next step. The step may have been requested and not answered yet. */
	nextStatus: string | null;
	/** True if a refund was answered, and false if none was requested. Null if one may have been stored. */
	isRefunded: boolean | null;
}

export type Intake = ReturnType<typeof createIntake>;

export interface IntakeOptions {
	/** Account of each shop, by the number of the shop. */
	accounts: readonly ShopAccount[];
	/**
	 * Called for each answer. `owed` is the key of the delivery that results from it, as in the ledger, or
	 * null.
	 */
	onAnswer: (owed: string | null) => void;
}

/** Number of parallel calls. With this many, several are stored together, and a kill hits several of them. */
const SENDERS = 8;
/** Pause before an unanswered call is repeated. */
const PAUSE_MS = 15;
const ANNOUNCES: Readonly<Record<Step, string | null>> = {
	pixel: null,
	record: "conversion.recorded",
	repeat: null,
	approve: "conversion.approved",
	refund: null,
	reject: "conversion.rejected",
	reverse: "conversion.reversed",
};
const DECISIONS = {
	approve: "/v1/approvals",
	refund: "/v1/refunds",
	reject: "/v1/rejections",
	reverse: "/v1/reversals",
} as const;

interface Task {
	order: PlannedOrder;
	done: number;
}

export function createIntake({ accounts, onAnswer }: IntakeOptions) {
	const answered = new Map<string, AnsweredOrder>();
	const counts = { answered: 0, refused: 0, broken: 0 };
	const waiting: Task[] = [];
	const clients = new Map<string, ShopClient>();
	let calls = 0;
	let underWay = 0;
	let isFed = false;

	async function ask(door: string, { order, done }: Task, step: Step): Promise<void> {
		const account = accounts[order.shop];
		if (account === undefined) throw new RangeError(`there is no shop ${order.shop}`);
		if (step === "pixel") {
			const query = new URLSearchParams({
				orderId: order.orderId,
				basketValue: BASKET_VALUE,
				currency: "EUR",
			});
			const response = await fetch(`${door}/pixel/${account.programmeId}.gif?${query}`);
			await response.arrayBuffer();
			return;
		}
		const name = `${door} ${account.apiKey}`;
		const client = clients.get(name) ?? createShopClient(door, account.apiKey, account.secret, Date.now);
		clients.set(name, client);
		const { conversion } = await client.post(pathOf(step), bodyOf(order.orderId, step));
		const expectedId = answered.get(order.orderId)?.conversionId ?? conversion.id;
		if (expectedId !== conversion.id || conversion.status !== STATUS_AFTER[step]) {
			throw new Error(
				`${step} of order ${order.orderId} (${expectedId}) answered ${JSON.stringify(conversion)}`,
			);
		}
		const next = order.steps[done + 1];
		const nextStatus = next === undefined ? null : STATUS_AFTER[next];
		const isRefunded = next === "refund" ? null : step === "refund";
		const { id: conversionId, status } = conversion;
		answered.set(order.orderId, { conversionId, status, nextStatus, isRefunded });
		counts.answered++;
		// The step confirms a sale of a pixel, which creates no event.
		const event = order.steps[done - 1] === "pixel" ? null : ANNOUNCES[step];
		onAnswer(event === null ? null : `${conversion.id} ${event}`);
	}

	/** Makes one call. Returns true if it was answered. */
	async function takeStep(door: string, task: Task, step: Step): Promise<boolean> {
		try {
			await ask(door, task, step);
			task.done++;
			return true;
		} catch (error) {
			if (error instanceof CallRefused) {
				// The service is unavailable at the moment, perhaps because the machine was blocked for seconds. The
				// call is repeated, as shops do.
				if (error.httpStatus !== 503) throw error;
				counts.refused++;
			} else if (isBrokenConnection(error)) counts.broken++;
			else throw error;
			return false;
		}
	}

	async function send(doors: () => readonly string[], isOver: () => boolean): Promise<void> {
		while (isFed || waiting.length + underWay > 0) {
			const open = doors();
			const door = open[calls++ % Math.max(1, open.length)];
			if (door === undefined && isOver()) return;
			const task = door === undefined ? undefined : waiting.shift();
			const step = task?.order.steps[task.done];
			if (door === undefined || task === undefined || step === undefined) {
				await pause();
				continue;
			}
			underWay++;
			const isAnswered = await takeStep(door, task, step).finally(() => underWay--);
			if (task.done < task.order.steps.length) waiting.push(task);
			if (!isAnswered) await pause();
		}
	}

	return {
		/** Answers of the signed API, by order. A pixel's image contains no answer. */
		answered,
		counts,
		get isDone() {
			return !isFed && waiting.length + underWay === 0;
		},
		add(orders: readonly PlannedOrder[]) {
			for (const order of orders) waiting.push({ order, done: 0 });
		},
		/**
		 * Reports one order after the other at this interval until the feed is ended. The remaining orders are
		 * never reported.
		 */
		feed(orders: readonly PlannedOrder[], everyMs: number) {
			let next = 0;
			isFed = true;
			const timer = setInterval(() => {
				const order = orders[next++];
				if (order !== undefined) waiting.push({ order, done: 0 });
			}, everyMs);
			const end = () => {
				isFed = false;
				clearInterval(timer);
			};
			return { end };
		},
		/**
		 * Makes calls until every step is answered or no service is left. `doors` returns the addresses of
		 * listening services.
		 */
		async work(doors: () => readonly string[], isOver: () => boolean) {
			await Promise.all(Array.from({ length: SENDERS }, () => send(doors, isOver)));
		},
	};
}

function pathOf(step: Exclude<Step, "pixel">): string {
	return step === "record" || step === "repeat" ? "/v1/conversions" : DECISIONS[step];
}

function bodyOf(orderId: string, step: Exclude<Step, "pixel">): object {
	const sale = { orderId, basketValue: BASKET_VALUE, currency: "EUR" };
	if (step === "record") return sale;
	// The repeat adds a coupon code that the first report did not have, so that a partner is credited.
	if (step === "repeat") return { ...sale, couponCode: COUPON_CODE };
	if (step === "refund")
		return { orderId, refundId: REFUNDED.refundId, amount: REFUNDED.amount, reason: "RETURN" };
	return step === "approve" ? { orderId } : { orderId, reason: "RETURN" };
}

/** Returns true for the errors of fetch if the server disappears before or during its answer. */
function isBrokenConnection(error: unknown): boolean {
	return error instanceof TypeError && error.cause instanceof Error;
}

function pause(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
