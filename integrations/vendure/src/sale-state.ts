// The state of a sale at the network, as this shop knows it. The table ringback_sale has it, and the order's custom
// fields show it to people. The fields alone would not do: a request of Vendure that has loaded the order before writes
// the old values back when it saves the order.

import { Injectable, type OnApplicationBootstrap } from "@nestjs/common";
import { outranks } from "@ringback/receiver/durable";
import { EventBus, Order, OrderEvent, OrderStateTransitionEvent, TransactionalConnection } from "@vendure/core";
import { RingbackSale } from "./entities";

/** The values that the answers of the API and callbacks have in common. */
export interface SaleNews {
	orderId: string;
	conversionId: string;
	status: string;
	basketValue: string;
	commission: string;
	networkFee: string;
	credit?: string | undefined;
}

@Injectable()
export class SaleState implements OnApplicationBootstrap {
	/** The last change. Changes are made one after the other, because each reads what the previous one has written. */
	private lastChange: Promise<unknown> = Promise.resolve();

	constructor(
		private readonly eventBus: EventBus,
		private readonly connection: TransactionalConnection,
	) {}

	onApplicationBootstrap(): void {
		// Subscribers are called after the commit. If Vendure has just written old values back, they are corrected.
		for (const event of [OrderStateTransitionEvent, OrderEvent]) {
			this.eventBus.ofType<OrderStateTransitionEvent | OrderEvent>(event).subscribe(({ order }) => {
				void this.inTurn(() => this.show(order.code)).catch(() => undefined);
			});
		}
	}

	/** Stores an event. A late event must not replace a later status, and one of equal rank has nothing new. */
	noteEvent(news: SaleNews): Promise<void> {
		return this.note(news, (known) => known === null || outranks(news.status, known));
	}

	/** Stores an answer of the API. It is newer than everything of the same status. */
	noteAnswer(news: SaleNews): Promise<void> {
		return this.note(news, (known) => known === null || known === news.status || outranks(news.status, known));
	}

	/** Stores values that were read for a comparison of the books. They are right, whatever is stored here. */
	correct(news: SaleNews): Promise<void> {
		return this.note(news, () => true);
	}

	private note(news: SaleNews, isNew: (knownStatus: string | null) => boolean): Promise<void> {
		return this.inTurn(async () => {
			const sales = this.connection.rawConnection.getRepository(RingbackSale);
			const sale = await sales.findOneBy({ orderCode: news.orderId });
			// A test conversion, or an order that another system has reported.
			if (sale === null || !isNew(sale.status)) return;
			const { orderId: orderCode, conversionId, status, basketValue, commission, networkFee, credit } = news;
			await sales.update(
				{ orderCode },
				{
					...{ conversionId, status, basketValue, commission, networkFee },
					...(credit === undefined ? {} : { credit }),
				},
			);
			await this.show(orderCode);
		});
	}

	/** Copies the state of a sale to the custom fields of its order. */
	private async show(orderCode: string): Promise<void> {
		const { rawConnection } = this.connection;
		const sale = await rawConnection.getRepository(RingbackSale).findOneBy({ orderCode });
		if (sale === null || sale.status === null) return;
		await rawConnection.getRepository(Order).update(
			{ code: orderCode },
			{
				customFields: {
					ringbackStatus: sale.status,
					ringbackBasketValue: sale.basketValue,
					ringbackCommission: sale.commission,
					ringbackNetworkFee: sale.networkFee,
					ringbackCredit: sale.credit,
				},
			},
		);
	}

	private inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
		const change = this.lastChange.then(work, work);
		this.lastChange = change.catch(() => undefined);
		return change;
	}
}
