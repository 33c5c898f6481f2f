// What customers and the shop's staff do, through Vendure's own Shop API and Admin API.

import { ok } from "node:assert/strict";
import { GraphQlSession, type ReconciliationResult } from "./vendure-shop.ts";

export interface PlacedOrder {
	id: string;
	code: string;
	state: string;
}

export interface OrderInBooks extends PlacedOrder {
	orderPlacedAt: string | null;
	totalWithTax: number;
	/** Value of the goods without VAT. */
	subTotal: number;
	customFields: {
		ringbackStatus: string | null;
		ringbackBasketValue: string | null;
		ringbackCommission: string | null;
		ringbackNetworkFee: string | null;
		ringbackCredit: string | null;
	};
	lines: { id: string; quantity: number }[];
	payments: { id: string; state: string; amount: number; refunds: { state: string; total: number }[] }[];
}

/** A task of Vendure's scheduler. */
export interface Task {
	id: string;
	lastExecutedAt: string | null;
	lastResult: ReconciliationResult | { error: string } | null;
}

export interface Basket {
	variantIds: readonly string[];
	coupons: readonly string[];
}

const ADDRESS = {
	fullName: "Ada Example",
	streetLine1: "Street 1",
	city: "Berlin",
	postalCode: "10115",
	countryCode: "DE",
};

/** A customer who orders. Each step is a request of its own, as a storefront makes it. */
export class Customer {
	readonly #session: GraphQlSession;
	readonly #email: string;
	code = "";

	constructor(shopUrl: string, number: number, cookie: string) {
		this.#session = new GraphQlSession(`${shopUrl}/shop-api`, cookie);
		this.#email = `customer-${number}@example.com`;
	}

	/** Fills the basket up to the point where only the payment is missing. */
	async fillBasket({ variantIds, coupons }: Basket): Promise<void> {
		for (const id of variantIds) {
			await this.#session.ask(
				`mutation ($id: ID!) { addItemToOrder(productVariantId: $id, quantity: 1) {
					... on Order { id } ... on ErrorResult { errorCode message } } }`,
				{ id },
			);
		}
		for (const couponCode of coupons) {
			await this.#session.ask(
				`mutation ($couponCode: String!) { applyCouponCode(couponCode: $couponCode) {
					... on Order { id } ... on ErrorResult { errorCode message } } }`,
				{ couponCode },
			);
		}
		await this.#session.ask(
			`mutation ($input: CreateCustomerInput!) { setCustomerForOrder(input: $input) {
				... on Order { id } ... on ErrorResult { errorCode message } } }`,
			{ input: { firstName: "Ada", lastName: "Example", emailAddress: this.#email } },
		);
		await this.#session.ask(
			`mutation ($input: CreateAddressInput!) { setOrderShippingAddress(input: $input) {
				... on Order { id } ... on ErrorResult { errorCode message } } }`,
			{ input: ADDRESS },
		);
		const { eligibleShippingMethods } = await this.#session.ask<{
			eligibleShippingMethods: { id: string }[];
		}>("{ eligibleShippingMethods { id } }");
		const [method] = eligibleShippingMethods;
		ok(method !== undefined, "the shop has a shipping method");
		await this.#session.ask(
			`mutation ($ids: [ID!]!) { setOrderShippingMethod(shippingMethodId: $ids) {
				... on Order { id } ... on ErrorResult { errorCode message } } }`,
			{ ids: [method.id] },
		);
		const { transitionOrderToState } = await this.#session.ask<{ transitionOrderToState: PlacedOrder }>(
			`mutation { transitionOrderToState(state: "ArrangingPayment") {
				... on Order { id code state } ... on ErrorResult { errorCode message } } }`,
		);
		this.code = transitionOrderToState.code;
	}

	async pay(): Promise<PlacedOrder> {
		const { addPaymentToOrder } = await this.#session.ask<{ addPaymentToOrder: PlacedOrder }>(
			`mutation { addPaymentToOrder(input: { method: "standard-payment", metadata: {} }) {
				... on Order { id code state } ... on ErrorResult { errorCode message } } }`,
		);
		return addPaymentToOrder;
	}
}

const ORDER_FIELDS = `id code state orderPlacedAt totalWithTax subTotal
	customFields { ringbackStatus ringbackBasketValue ringbackCommission ringbackNetworkFee ringbackCredit }
	lines { id quantity } payments { id state amount refunds { state total } }`;

/** The shop's staff. */
export class ShopStaff {
	readonly #url: string;
	#session: GraphQlSession;

	constructor(shopUrl: string) {
		this.#url = `${shopUrl}/admin-api`;
		this.#session = new GraphQlSession(this.#url);
	}

	async signIn(): Promise<void> {
		this.#session = new GraphQlSession(this.#url);
		await this.#session.ask(
			`mutation { login(username: "superadmin", password: "superadmin") {
				... on CurrentUser { id } ... on ErrorResult { errorCode message } } }`,
		);
	}

	async createPromotion(couponCode: string, percent: number): Promise<void> {
		await this.#session.ask(
			`mutation ($input: CreatePromotionInput!) { createPromotion(input: $input) {
				... on Promotion { id } ... on ErrorResult { errorCode message } } }`,
			{
				input: {
					enabled: true,
					couponCode,
					translations: [{ languageCode: "en", name: couponCode }],
					conditions: [],
					actions: [
						{ code: "order_percentage_discount", arguments: [{ name: "discount", value: String(percent) }] },
					],
				},
			},
		);
	}

	async listVariants(): Promise<string[]> {
		const { productVariants } = await this.#session.ask<{ productVariants: { items: { id: string }[] } }>(
			"{ productVariants { items { id } } }",
		);
		return productVariants.items.map(({ id }) => id);
	}

	async findOrder(code: string): Promise<OrderInBooks> {
		const { orders } = await this.#session.ask<{ orders: { items: OrderInBooks[] } }>(
			`query ($code: String!) { orders(options: { filter: { code: { eq: $code } } }) { items { ${ORDER_FIELDS} } } }`,
			{ code },
		);
		const [order] = orders.items;
		ok(order !== undefined, `the shop has the order ${code}`);
		return order;
	}

	async listOrders(): Promise<OrderInBooks[]> {
		const { orders } = await this.#session.ask<{ orders: { items: OrderInBooks[] } }>(
			`{ orders(options: { take: 100 }) { items { ${ORDER_FIELDS} } } }`,
		);
		return orders.items;
	}

	/** Asks the scheduler to run a task soon, as staff do under Settings, Scheduled tasks. */
	async runTask(id: string): Promise<void> {
		const { runScheduledTask } = await this.#session.ask<{ runScheduledTask: { success: boolean } }>(
			"mutation ($id: String!) { runScheduledTask(id: $id) { success } }",
			{ id },
		);
		ok(runScheduledTask.success, `the scheduler has the task ${id}`);
	}

	async findTask(id: string): Promise<Task> {
		const { scheduledTasks } = await this.#session.ask<{ scheduledTasks: Task[] }>(
			"{ scheduledTasks { id lastExecutedAt lastResult } }",
		);
		const task = scheduledTasks.find((one) => one.id === id);
		ok(task !== undefined, `the scheduler has the task ${id}`);
		return task;
	}

	async deliver(code: string): Promise<void> {
		const { lines } = await this.findOrder(code);
		const { addFulfillmentToOrder } = await this.#session.ask<{ addFulfillmentToOrder: { id: string } }>(
			`mutation ($input: FulfillOrderInput!) { addFulfillmentToOrder(input: $input) {
				... on Fulfillment { id } ... on ErrorResult { errorCode message } } }`,
			{
				input: {
					lines: lines.map(({ id, quantity }) => ({ orderLineId: id, quantity })),
					handler: {
						code: "manual-fulfillment",
						arguments: [
							{ name: "method", value: "Post" },
							{ name: "trackingCode", value: "1" },
						],
					},
				},
			},
		);
		for (const state of ["Shipped", "Delivered"]) {
			await this.#session.ask(
				`mutation ($id: ID!, $state: String!) { transitionFulfillmentToState(id: $id, state: $state) {
					... on Fulfillment { id } ... on ErrorResult { errorCode message } } }`,
				{ id: addFulfillmentToOrder.id, state },
			);
		}
	}

	/** Refunds a part of what was paid, or everything that is left, and settles the refund. */
	async refund(code: string, share: number): Promise<void> {
		const { payments } = await this.findOrder(code);
		const [payment] = payments;
		ok(payment !== undefined, "the order was paid");
		const refunded = payment.refunds.reduce((sum, { total }) => sum + total, 0);
		const left = payment.amount - refunded;
		const amount = share === 1 ? left : Math.floor(payment.amount * share);
		const { refundOrder } = await this.#session.ask<{ refundOrder: { id: string } }>(
			`mutation ($input: RefundOrderInput!) { refundOrder(input: $input) {
				... on Refund { id } ... on ErrorResult { errorCode message } } }`,
			{ input: { lines: [], shipping: 0, adjustment: 0, amount, paymentId: payment.id, reason: "returned" } },
		);
		await this.#session.ask(
			`mutation ($input: SettleRefundInput!) { settleRefund(input: $input) {
				... on Refund { id } ... on ErrorResult { errorCode message } } }`,
			{ input: { id: refundOrder.id, transactionId: `refund-${refundOrder.id}` } },
		);
	}

	async cancel(code: string): Promise<void> {
		const { id } = await this.findOrder(code);
		await this.#session.ask(
			`mutation ($input: CancelOrderInput!) { cancelOrder(input: $input) {
				... on Order { id } ... on ErrorResult { errorCode message } } }`,
			{ input: { orderId: id, reason: "cancelled", cancelShipping: true } },
		);
	}
}
