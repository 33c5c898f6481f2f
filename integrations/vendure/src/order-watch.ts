// Watches the orders of the shop, and writes a call to the network for each of their steps. The handlers are blocking,
// so a call is stored in the transaction of the order. Either both are stored, or neither is.

import { Inject, Injectable, type OnModuleInit } from "@nestjs/common";
import type { OutboxCall } from "@ringback/receiver/outbox";
import {
	ConfigService,
	EventBus,
	type Order,
	OrderPlacedEvent,
	OrderStateTransitionEvent,
	Refund,
	RefundStateTransitionEvent,
	type RequestContext,
	TransactionalConnection,
} from "@vendure/core";
import { basketValueOf, valueLeft, writeAmount } from "./amounts";
import { ClickKeeper } from "./click-keeper";
import { RingbackCall, RingbackSale } from "./entities";
import { SETTINGS, type Settings } from "./options";

/** States in which the customer has the goods, so that a cancellation is a return. */
const HAS_GOODS = ["PartiallyShipped", "Shipped", "PartiallyDelivered", "Delivered"];

@Injectable()
export class OrderWatch implements OnModuleInit {
	constructor(
		private readonly eventBus: EventBus,
		private readonly connection: TransactionalConnection,
		private readonly configService: ConfigService,
		private readonly clickKeeper: ClickKeeper,
		@Inject(SETTINGS) private readonly settings: Settings,
	) {}

	onModuleInit(): void {
		this.eventBus.registerBlockingEventHandler({
			id: "ringback-order-state",
			event: OrderStateTransitionEvent,
			handler: (event) => this.noteState(event),
		});
		this.eventBus.registerBlockingEventHandler({
			id: "ringback-order-placed",
			event: OrderPlacedEvent,
			handler: ({ ctx, order }) => this.notePlaced(ctx, order),
		});
		this.eventBus.registerBlockingEventHandler({
			id: "ringback-refund",
			event: RefundStateTransitionEvent,
			handler: (event) => this.noteRefund(event),
		});
	}

	private async noteState({ ctx, order, fromState, toState }: OrderStateTransitionEvent): Promise<void> {
		if (toState === "ArrangingPayment") this.keepClick(ctx, order);
		// An order that was never placed was not reported.
		if (!order.orderPlacedAt) return;
		const { keyDecides, approvesDelivered } = this.settings;
		if (toState === "Delivered" && keyDecides && approvesDelivered) {
			await this.write(ctx, { call: "approve", orderId: order.code });
		}
		if (toState === "Cancelled") {
			const hasGoods = HAS_GOODS.includes(fromState);
			await this.write(ctx, {
				call: keyDecides && !hasGoods ? "reject" : "reverse",
				orderId: order.code,
				reason: hasGoods ? "RETURN" : "CANCELLED",
			});
		}
	}

	/**
	 * Copies the click ID from the customer's cookie to the order. The customer's own request leads to this state, and
	 * the request that places the order may come from a payment provider. Vendure saves the order after this event.
	 */
	private keepClick(ctx: RequestContext, order: Order): void {
		const clickId = this.clickKeeper.read(ctx.req?.headers.cookie);
		if (clickId !== undefined) order.customFields.ringbackClickId = clickId;
	}

	private async notePlaced(ctx: RequestContext, order: Order): Promise<void> {
		const reported = basketValueOf(order, this.settings.basketRule);
		const { ringbackClickId } = order.customFields;
		await this.connection
			.getRepository(ctx, RingbackSale)
			.save({ orderCode: order.code, reported, paid: order.totalWithTax });
		await this.write(ctx, {
			call: "record",
			orderId: order.code,
			basketValue: this.amount(reported, order),
			currency: order.currencyCode,
			occurredAt: (order.orderPlacedAt ?? new Date()).toISOString(),
			...(ringbackClickId ? { clickId: ringbackClickId } : {}),
			...(order.couponCodes.length > 0 ? { couponCodes: order.couponCodes.slice(0, 10) } : {}),
		});
	}

	private async noteRefund({ ctx, order, refund, toState }: RefundStateTransitionEvent): Promise<void> {
		if (toState !== "Settled") return;
		const sale = await this.connection
			.getRepository(ctx, RingbackSale)
			.findOneBy({ orderCode: order.code });
		if (sale === null) return;
		const settled = await this.connection.getRepository(ctx, Refund).find({
			where: { state: "Settled", payment: { order: { id: order.id } } },
		});
		const refunded = settled.reduce((sum, { total }) => sum + total, 0);
		await this.write(ctx, {
			call: "refund",
			orderId: order.code,
			refundId: `refund-${refund.id}`,
			basketValue: this.amount(valueLeft(sale, refunded), order),
			reason: "RETURN",
		});
	}

	private amount(value: number, order: Order): string {
		const { precision = 2 } = this.configService.entityOptions.moneyStrategy;
		return writeAmount(value, order.currencyCode, precision);
	}

	private async write(ctx: RequestContext, call: OutboxCall): Promise<void> {
		await this.connection.getRepository(ctx, RingbackCall).insert({
			call,
			orderCode: call.orderId,
			basketRule: call.call === "record" ? this.settings.basketRule : null,
		});
	}
}
