// The state of a sale at the network, as far as this shop has heard of it. It is stored in the table ringback_sale and
// copied to the order's custom fields for people. The fields alone would not be enough, because a request of Vendure that
// loaded the order earlier writes the old values back when it saves the order.

import { Injectable, type OnApplicationBootstrap } from "@nestjs/common";
import { outranks } from "@ringback/receiver/durable";
import {
	EventBus,
	Logger,
	Order,
	OrderEvent,
	OrderStateTransitionEvent,
	TransactionalConnection,
} from "@vendure/core";
import { RingbackSale } from "./entities";
import { LOG_CONTEXT } from "./log-context";

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

/** Shown as credit after the network's staff have credited another partner. */
const CHANGED_BY_NETWORK = "CHANGED_BY_NETWORK";

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
				// A basket changes often, and nothing is known of it at the network.
				if (order.orderPlacedAt) void this.showAgain(order.code);
			});
		}
	}

	/** Shows the state of a sale again. Never rejects. */
	private async showAgain(orderCode: string): Promise<void> {
		try {
			await this.inTurn(() => this.show(orderCode));
		} catch (error) {
			Logger.error(`The fields of order ${orderCode} could not be written: ${error}`, LOG_CONTEXT);
		}
	}

	/** Stores an event. A late event must not replace a later status, and one of equal rank has nothing new. */
	async noteEvent(news: SaleNews): Promise<void> {
		await this.note(news, (stored) => outranks(news.status, stored));
	}

	/** Stores an answer of the API. It is newer than everything of the same status. */
	async noteAnswer(news: SaleNews): Promise<void> {
		await this.note(news, (stored) => stored === news.status || outranks(news.status, stored));
	}

	/**
	 * Stores values that were read for a comparison of the books. They replace everything that is stored. Returns false if
	 * this shop has not reported the order.
	 */
	correct(news: SaleNews): Promise<boolean> {
		return this.note(news, () => true, (sale) => (isReassigned(sale, news) ? CHANGED_BY_NETWORK : undefined));
	}

	/** Stores the values if they are newer than the stored ones. Returns false if this shop has not reported the order. */
	private note(
		news: SaleNews,
		isNewer: (storedStatus: string | null) => boolean,
		creditOf: (sale: RingbackSale) => string | undefined = () => news.credit,
	): Promise<boolean> {
		return this.inTurn(async () => {
			const sales = this.connection.rawConnection.getRepository(RingbackSale);
			const sale = await sales.findOneBy({ orderCode: news.orderId });
			// It is a test conversion, or another system has reported the order.
			if (sale === null) return false;
			if (!isNewer(sale.status)) return true;
			const { orderId: orderCode, conversionId, status, basketValue, commission, networkFee } = news;
			const credit = creditOf(sale);
			await sales.update(
				{ orderCode },
				{
					...{ conversionId, status, basketValue, commission, networkFee },
					...(credit === undefined ? {} : { credit }),
				},
			);
			await this.show(orderCode);
			return true;
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

	/** Runs the work after all earlier changes. */
	private inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
		const change = this.lastChange.then(work, work);
		this.lastChange = change.catch(() => undefined);
		return change;
	}
}

/**
 * Returns true if the commission of an unchanged sale differs. The network's staff have then credited another partner, and
 * no call tells a shop which.
 */
function isReassigned(sale: RingbackSale, { status, basketValue, commission }: SaleNews): boolean {
	return sale.status === status && sale.basketValue === basketValue && sale.commission !== commission;
}
