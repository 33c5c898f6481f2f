// Compares the books once a night. It finds what no retry can repair, such as a change of the partner by the network's
// staff, which no callback announces.

import { Injectable } from "@nestjs/common";
import { type Difference, reconcile } from "@ringback/receiver/reconcile";
import { Logger, ScheduledTask, TransactionalConnection } from "@vendure/core";
import { MoreThan } from "typeorm";
import { CallSender } from "./call-sender";
import { RingbackCall, RingbackSale } from "./entities";
import { LOG_CONTEXT } from "./log-context";
import { SaleState } from "./sale-state";

/** Period of changes that each run compares. If the task fails for some nights, a later run makes up for it. */
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
		await this.callSender.ruleCheck.compare();
		const since = new Date(Date.now() - WINDOW_MS);
		const sales = await this.connection.rawConnection
			.getRepository(RingbackSale)
			.find({ where: { changedAt: MoreThan(since) } });
		const found = await reconcile({
			client: this.callSender.client,
			// A sale without a status was not answered yet. The outbox still has its call.
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
			case "missing_at_shop": {
				// An order that is not in the compared period here may have changed at the network.
				const { conversion } = difference;
				const isOurs = await this.saleState.correct({ ...conversion, conversionId: conversion.id });
				if (isOurs) result.corrected++;
				else result.unknownHere.push(conversion.orderId);
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

	/** Opens the calls about an order again. Repeating a call does no harm. */
	private async reportAgain(orderId: string): Promise<void> {
		const calls = this.connection.rawConnection.getRepository(RingbackCall);
		await calls.update({ orderCode: orderId }, { state: "open", dueAtMs: "0" });
	}
}

/** The task for Vendure's scheduler. */
export const reconcileTask = new ScheduledTask({
	id: "ringback-reconcile",
	description: "Compares the orders of the last 14 days with the network's conversions",
	schedule: (cron) => cron.everyDayAt(3, 30),
	// Vendure's default of one minute is too short for a shop with many sales.
	timeout: "30m",
	execute: ({ injector }) => injector.get(Reconciliation).run(),
});
