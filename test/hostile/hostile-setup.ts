// Runs the service in this process as in production, with the real clock and the five-second deadline. It has
// a programme for every hostile shop, and one for a healthy neighbour.

import { setTimeout as wait } from "node:timers/promises";
import { realClock } from "../../src/outside/clock.ts";
import { type ReceivedCallback, readCallback } from "../support/callback-form.ts";
import { openService } from "../support/open-service.ts";
import { startShop } from "../support/shop.ts";
import { openShopProgramme, type ShopProgramme } from "../support/shop-programme.ts";
import { until } from "../support/until.ts";
import { openHostileShops } from "./hostile-shops.ts";

export type HostileSetup = Awaited<ReturnType<typeof openHostileSetup>>;

export const BRAND = "Service";

/**
 * Opens the service and the shops. `cleaning` closes everything that was opened, even if opening the next
 * part fails.
 */
export async function openHostileSetup(cleaning: AsyncDisposableStack) {
	const shops = cleaning.adopt(await openHostileShops(), ({ close }) => close());
	const received: ReceivedCallback[] = [];
	const programmes: ShopProgramme[] = [];
	const shop = await startShop({
		answer(request) {
			const { secret } = neighbour;
			received.push({ ...readCallback(request), serviceNowMs: Date.now(), secret, answered: 204 });
			return { status: 204 };
		},
	});
	cleaning.defer(() => shop.close());
	const opened = await openService({ trustedCa: shops.trustedCa + shop.caPem });
	cleaning.defer(opened.close);
	const { service, log, stop } = opened;
	const openProgramme = async (url: string | null) => {
		const programme = await openShopProgramme(
			{
				service,
				clock,
				shop,
				brand: BRAND,
				received,
				until: (what, condition) => until(condition, () => what),
			},
			{ url },
		);
		programmes.push(programme);
		return programme;
	};
	const neighbour = await openProgramme(shop.url());
	return {
		service,
		log,
		shops,
		neighbour,
		/** Requests that the neighbour received, in the order of arrival. */
		received,
		/** Creates a programme. The URL is its Postback URL, or null to save it later. */
		openProgramme,
		/**
		 * Returns the number of stored attempts by programme. A single query reads all of them, because a hundred
		 * callers wait at the same time.
		 */
		async countAttempts() {
			const rows = await service.store.db
				.selectFrom("deliveries")
				.select((eb) => ["receiver_id", eb.fn.sum<number>("attempts").as("count")])
				.groupBy("receiver_id")
				.execute();
			return new Map(rows.map(({ receiver_id, count }) => [receiver_id, Number(count)]));
		},
		/**
		 * Returns all received requests, in the form that the checks of requests and of the delivery log need.
		 */
		gatherReceived: () => [
			...received,
			...shops.requests.map((request) => {
				const read = readCallback(request);
				const secret = programmes.find(({ programId }) => programId === read.body.programId)?.secret ?? "";
				return { ...read, serviceNowMs: request.arrivedAtMs, secret, answered: request.answered };
			}),
		],
		stop,
	};
}

/** The real clock. Moving it forward means waiting. */
const clock = {
	...realClock,
	moveBy: (ms: number) => wait(ms),
	moveTo: (atMs: number) => wait(Math.max(0, atMs - Date.now())),
	waitingTimers: 0,
};
