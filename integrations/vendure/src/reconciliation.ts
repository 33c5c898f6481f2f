// Compares the books once a night. It finds what no retry can repair, such as a change of the partner by the network's
// staff, which no callback announces.

import { Injectable } from "@nestjs/common";
import type { Conversion } from "@ringback/receiver";
import { type Difference, reconcile } from "@ringback/receiver/reconcile";
import { Logger, ScheduledTask, TransactionalConnection } from "@vendure/core";
import { MoreThan } from "typeorm";
import { CallSender, LOG_CONTEXT } from "./call-sender";
import { RingbackCall, RingbackSale } from "./entities";
import { SaleState } from "./sale-state";

/** Time that is compared in each run. A run that fails for some nights loses nothing. */
const WINDOW_MS = 14 * 86_400_000;

export interface ReconciliationResult {
	compared: number;
	/** Number of sales whose values were corrected here. */
	corrected: number;
	/** Number of orders that are reported again, because the network does not have them. */
	reportedAgain: number;
	/** IDs of orders that only the network has. A person must look at them. */
	unknownHere: string[];
}

@Injectable()
export class Reconciliation {
	constructor(
		private readonly connection: TransactionalConnection,
		private readonly callSender: CallSender,
		private readonly saleState: SaleState,
	) {}

	async run(): Promise<ReconciliationResult> {
		const since = new Date(Date.now() - WINDOW_MS);
		const sales = await this.connection.rawConnection
			.getRepository(RingbackSale)
			.find({ where: { changedAt: MoreThan(since) } });
		const found = await reconcile({
			client: this.callSender.client,
			// A sale without a status was not answered yet, and the outbox takes care of it.
			orders: sales.flatMap(({ orderCode: orderId, status, basketValue, commission, networkFee }) =>
				status === null || basketValue === null || commission === null || networkFee === null
					? []
					: [{ orderId, status, basketValue, commission, networkFee }],
			),
			since: since.toISOString(),
		});
		if (!found.ok) throw new Error(`The books could not be compared: ${found.detail}`);
		const result = { compared: found.compared, corrected: 0, reportedAgain: 0, unknownHere: [] as string[] };
		for (const difference of found.differences) await this.repair(difference, result);
		const text = `Compared ${result.compared} sales: ${result.corrected} corrected, ${result.reportedAgain} reported again, ${result.unknownHere.length} unknown here.`;
		if (result.unknownHere.length === 0) Logger.info(text, LOG_CONTEXT);
		else Logger.warn(`${text} Unknown: ${result.unknownHere.join(", ")}`, LOG_CONTEXT);
		return result;
	}

	private async repair(difference: Difference, result: ReconciliationResult): Promise<void> {
		switch (difference.kind) {
			case "differs":
				await this.correct(difference.conversion);
				result.corrected++;
				return;
			case "missing_at_shop": {
				const { orderId } = difference.conversion;
				const sales = this.connection.rawConnection.getRepository(RingbackSale);
				// It changed at the network only, or it is an order of another system.
				if (await sales.existsBy({ orderCode: orderId })) await this.correct(difference.conversion);
				else result.unknownHere.push(orderId);
				return;
			}
			case "missing_at_service":
				await this.reportAgain(difference.order.orderId);
				result.reportedAgain++;
				return;
			default:
				return difference satisfies never;
		}
	}

	private correct(conversion: Conversion): Promise<void> {
		return this.saleState.correct({ ...conversion, conversionId: conversion.id });
	}

	/** Opens the calls about an order again. Repeating a call does no harm. */
	private async reportAgain(orderId: string): Promise<void> {
		const calls = this.connection.rawConnection.getRepository(RingbackCall);
		await calls.update({ orderCode: orderId }, { state: "open", dueAtMs: "0" });
	}
}

/** The task for Vendure's scheduler. */
export const reconcileTask = new ScheduledTask({
	id: "ringback-reconcile",
	description: "Compares the orders with the network's conversions",
	schedule: (cron) => cron.everyDayAt(3, 30),
	execute: ({ injector }) => injector.get(Reconciliation).run(),
});
