// Sends the calls that order-watch.ts has written. The library's outbox keeps the order of calls about one sale, repeats
// what is worth repeating, and says what needs a person.

import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from "@nestjs/common";
import { type Client, createClient } from "@ringback/receiver";
import {
	createOutbox,
	type Outbox,
	type OutboxEntry,
	type OutboxProblem,
	type OutboxProgress,
} from "@ringback/receiver/outbox";
import {
	EventBus,
	Logger,
	OrderPlacedEvent,
	OrderStateTransitionEvent,
	ProcessContext,
	RefundStateTransitionEvent,
	TransactionalConnection,
} from "@vendure/core";
import { MoreThan, Not } from "typeorm";
import { RingbackCall } from "./entities";
import { LOG_CONTEXT } from "./log-context";
import { type BasketRule, SETTINGS, type Settings } from "./options";
import { RuleCheck } from "./rule-check";
import { SaleState } from "./sale-state";

@Injectable()
export class CallSender implements OnApplicationBootstrap, OnApplicationShutdown {
	readonly client: Client;
	readonly ruleCheck: RuleCheck;
	private readonly basketRule: BasketRule;
	private readonly outbox: Outbox;

	constructor(
		private readonly eventBus: EventBus,
		private readonly connection: TransactionalConnection,
		private readonly processContext: ProcessContext,
		private readonly saleState: SaleState,
		@Inject(SETTINGS) { url, apiKey, secret, brand, basketRule }: Settings,
	) {
		this.client = createClient({ url, apiKey, secret, brand });
		this.ruleCheck = new RuleCheck(this.client, basketRule);
		this.basketRule = basketRule;
		this.outbox = createOutbox({
			client: this.client,
			load: (afterId, limit) => this.load(afterId, limit),
			save: (entry, progress) => this.save(entry, progress),
			onProblem: (problem) => this.logProblem(problem),
		});
	}

	onApplicationBootstrap(): void {
		// Two senders could send the calls about one order in the wrong order.
		if (!this.processContext.isServer) return;
		this.outbox.start();
		// These subscribers are called after the commit.
		const wake = () => this.outbox.wake();
		this.eventBus.ofType(OrderPlacedEvent).subscribe(wake);
		this.eventBus.ofType(OrderStateTransitionEvent).subscribe(wake);
		this.eventBus.ofType(RefundStateTransitionEvent).subscribe(wake);
	}

	async onApplicationShutdown(): Promise<void> {
		this.ruleCheck.stop();
		await this.outbox.stop();
	}

	private async load(afterId: number, limit: number): Promise<OutboxEntry[]> {
		if (!(await this.ruleCheck.allowsSending())) return [];
		if (afterId === 0) await this.refuseOtherRules();
		const rows = await this.connection.rawConnection.getRepository(RingbackCall).find({
			where: { state: "open", id: MoreThan(afterId) },
			order: { id: "ASC" },
			take: limit,
		});
		return rows.map(({ id, call, attempts, dueAtMs }) => ({ id, call, attempts, dueAtMs: Number(dueAtMs) }));
	}

	/** Refuses sales whose value was computed by another rule, while the option was wrong. */
	private async refuseOtherRules(): Promise<void> {
		const calls = this.connection.rawConnection.getRepository(RingbackCall);
		const others = await calls.findBy({ state: "open", basketRule: Not(this.basketRule) });
		for (const { id, orderCode, basketRule } of others) {
			const detail = `Its value was computed by the rule ${basketRule}, and the programme's rule is ${this.basketRule}.`;
			await calls.update({ id }, { state: "refused", detail });
			Logger.error(`The sale of order ${orderCode} is not reported. ${detail}`, LOG_CONTEXT);
		}
	}

	private async save({ id }: OutboxEntry, progress: OutboxProgress): Promise<void> {
		const calls = this.connection.rawConnection.getRepository(RingbackCall);
		switch (progress.state) {
			case "open": {
				const { attempts, dueAtMs, detail } = progress;
				await calls.update({ id }, { attempts, dueAtMs: String(dueAtMs), detail });
				return;
			}
			case "settled":
			case "refused":
				await calls.update({ id }, { state: progress.state, detail: progress.detail });
				return;
			case "done": {
				const { conversion, credit } = progress;
				await this.saleState.noteAnswer({ ...conversion, conversionId: conversion.id, credit });
				await calls.update({ id }, { state: "done", detail: null });
				return;
			}
			default:
				return progress satisfies never;
		}
	}

	private logProblem(problem: OutboxProblem): void {
		if (problem.kind === "storage") {
			Logger.error(`The outbox cannot be read or written: ${problem.error}`, LOG_CONTEXT);
			return;
		}
		const { call } = problem.entry;
		const text = `${call.call} of order ${call.orderId}: ${problem.detail}`;
		if (problem.kind === "delayed") Logger.warn(`${text} It is tried again.`, LOG_CONTEXT);
		else Logger.error(text, LOG_CONTEXT);
	}
}
