// The shops' servers. They report orders step by step at a steady pace, and repeat unanswered calls as the API's
// documents ask. They store the answers, which the service must never lose.

import type { ShopAccount } from "../support/shop-account.ts";
import { CallRefused, createShopClient, type ShopClient } from "../support/shop-client.ts";
import { type PlannedOrder, STATUS_AFTER, type Step } from "./orders.ts";

export interface AnsweredOrder {
	conversionId: string;
	/** Status in the last answer. */
	status: string;
	/** Status after the next step, which may have been requested and not answered yet. */
	nextStatus: string | null;
}

export type Intake = ReturnType<typeof createIntake>;

export interface IntakeOptions {
	/** Accounts by the number of the shop. */
	accounts: readonly ShopAccount[];
	/** `owed` is the delivery that results from the answer, named as in the ledger. */
	onAnswer: (owed: string | null) => void;
}

/** Enough parallel calls that several are stored together and a kill hits several of them. */
const SENDERS = 8;
/** Pause before an unanswered call is repeated. */
const PAUSE_MS = 15;
const ANNOUNCES: Readonly<Record<Step, string | null>> = {
	pixel: null,
	record: "conversion.recorded",
	repeat: null,
	approve: "conversion.approved",
	reject: "conversion.rejected",
	reverse: "conversion.reversed",
};
const DECISIONS = { approve: "/v1/approvals", reject: "/v1/rejections", reverse: "/v1/reversals" } as const;

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
			const query = new URLSearchParams({ orderId: order.orderId, basketValue: "10.00", currency: "EUR" });
			const response = await fetch(`${door}/pixel/${account.programmeId}.gif?${query}`);
			await response.arrayBuffer();
			return;
		}
		const name = `${door} ${account.apiKey}`;
		const client = clients.get(name) ?? createShopClient(door, account.apiKey, account.secret, Date.now);
		clients.set(name, client);
		const { conversion } = await client.post(pathOf(step), bodyOf(order.orderId, step));
		const known = answered.get(order.orderId)?.conversionId ?? conversion.id;
		if (known !== conversion.id || conversion.status !== STATUS_AFTER[step]) {
			throw new Error(`${step} of order ${order.orderId} (${known}) answered ${JSON.stringify(conversion)}`);
		}
		const next = order.steps[done + 1];
		const nextStatus = next === undefined ? null : STATUS_AFTER[next];
		answered.set(order.orderId, { conversionId: conversion.id, status: conversion.status, nextStatus });
		counts.answered++;
		// A pixel's sale is confirmed, which creates no event.
		const event = order.steps[done - 1] === "pixel" ? null : ANNOUNCES[step];
		onAnswer(event === null ? null : `${conversion.id} ${event}`);
	}

	/** Returns true if the call was answered. */
	async function takeStep(door: string, task: Task, step: Step): Promise<boolean> {
		try {
			await ask(door, task, step);
			task.done++;
			return true;
		} catch (error) {
			if (error instanceof CallRefused) {
				// The service is unavailable at the moment, perhaps because the machine was blocked for seconds. Shops
				// repeat the call.
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
		/** Answers by order, from the signed API only. A pixel's image contains no answer. */
		answered,
		counts,
		get isDone() {
			return !isFed && waiting.length + underWay === 0;
		},
		add(orders: readonly PlannedOrder[]) {
			for (const order of orders) waiting.push({ order, done: 0 });
		},
		/**
		 * Reports one order after the other at this interval until it is ended. The remaining orders are never
		 * reported.
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
		/** Runs until every step is answered or no service is left. `doors` are the addresses of listening services. */
		async work(doors: () => readonly string[], isOver: () => boolean) {
			await Promise.all(Array.from({ length: SENDERS }, () => send(doors, isOver)));
		},
	};
}

function pathOf(step: Exclude<Step, "pixel">): string {
	return step === "record" || step === "repeat" ? "/v1/conversions" : DECISIONS[step];
}

function bodyOf(orderId: string, step: Exclude<Step, "pixel">): object {
	const sale = { orderId, basketValue: "10.00", currency: "EUR" };
	if (step === "record") return sale;
	// A repeat adds a code that the first report left out, so that the credit changes.
	if (step === "repeat") return { ...sale, couponCode: "UNKNOWN" };
	return step === "approve" ? { orderId } : { orderId, reason: "RETURN" };
}

/** Errors of fetch if the server disappears before or during its answer. */
function isBrokenConnection(error: unknown): boolean {
	return error instanceof TypeError && error.cause instanceof Error;
}

function pause(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
