// The orders of a round: the steps that the shop reports, and how its endpoint answers the callbacks.

import type { SeededRandom } from "../support/seeded-random.ts";

export type Step = "pixel" | "record" | "repeat" | "approve" | "refund" | "reject" | "reverse";

export type Manner =
	| { kind: "answers"; httpStatus: number; delayMs: number }
	/** Reads the request and closes the connection, so that the sender cannot know whether it arrived. */
	| { kind: "hangs up" };

export interface PlannedOrder {
	orderId: string;
	/** Number of the shop that sells the order, counted from 0. */
	shop: number;
	steps: readonly Step[];
	/** Answer of the shop to the first request of each event. */
	firstManner: Manner;
	/** Answer of the shop to later requests of the same event. */
	laterManner: Manner;
}

/** Status of the conversion after each answered step. */
export const STATUS_AFTER: Readonly<Record<Step, string>> = {
	pixel: "PARKED",
	record: "RECORDED",
	repeat: "RECORDED",
	approve: "APPROVED",
	refund: "APPROVED",
	reject: "REJECTED",
	reverse: "REVERSED",
};

/** Value of every order, and what a refund leaves of it. */
export const BASKET_VALUE = "10.00";
export const REFUNDED = { refundId: "r-1", amount: "4.00", left: "6.00" } as const;

const STORIES: readonly (readonly Step[])[] = [
	["record"],
	["record"],
	["record", "repeat"],
	["record", "approve"],
	["record", "reject"],
	["record", "approve", "reverse"],
	["record", "repeat", "reverse"],
	["record", "repeat", "approve", "refund"],
	["record", "repeat", "approve", "reverse"],
	["pixel", "record", "approve"],
];

/**
 * Range of the time that a slow answer takes. A crash then hits requests in flight, and it is far below the
 * five seconds of an attempt.
 */
const SLOW_MS: readonly [least: number, most: number] = [60, 250];
const USUAL_MS: readonly [least: number, most: number] = [0, 20];

/** Draws orders, which are distributed over `shops` shops in turn. */
export function drawOrders(random: SeededRandom, name: string, count: number, shops = 1): PlannedOrder[] {
	return Array.from({ length: count }, (_, index) => {
		const firstManner = drawManner(random);
		return {
			orderId: `${name}-${index}`,
			shop: index % shops,
			steps: random.pick(STORIES),
			firstManner,
			laterManner: isTrouble(firstManner) && random.chance(0.6) ? well(random) : firstManner,
		};
	});
}

/**
 * Returns the same orders with shops that answer slowly, so that their limits of requests in flight are
 * reached now and then.
 */
export function slowed(random: SeededRandom, orders: readonly PlannedOrder[]): PlannedOrder[] {
	return orders.map((order) => {
		const { firstManner } = order;
		if (firstManner.kind === "hangs up" || firstManner.httpStatus !== 204) return order;
		return { ...order, firstManner: { ...firstManner, delayMs: random.between(...SLOW_MS) } };
	});
}

/** Returns the same order with a shop that fails the first time and succeeds the second time. */
export function inTrouble(order: PlannedOrder): PlannedOrder {
	return {
		...order,
		firstManner: { kind: "answers", httpStatus: 503, delayMs: 0 },
		laterManner: { kind: "answers", httpStatus: 204, delayMs: 0 },
	};
}

function drawManner(random: SeededRandom): Manner {
	const share = random.fraction();
	if (share < 0.06) return { kind: "answers", httpStatus: 404, delayMs: random.between(...USUAL_MS) };
	if (share < 0.14) return { kind: "answers", httpStatus: 503, delayMs: random.between(...USUAL_MS) };
	if (share < 0.2) return { kind: "hangs up" };
	if (share < 0.4) return { kind: "answers", httpStatus: 204, delayMs: random.between(...SLOW_MS) };
	return well(random);
}

function well(random: SeededRandom): Manner {
	return { kind: "answers", httpStatus: 204, delayMs: random.between(...USUAL_MS) };
}

function isTrouble(manner: Manner): boolean {
	return manner.kind === "hangs up" || manner.httpStatus === 503;
}
