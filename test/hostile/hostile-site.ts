// The service in this process as in production, real clock and five-second deadline included, with a programme
// at every hostile shop and one at a healthy neighbour's.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Config, readConfig } from "../../src/config.ts";
import { realClock } from "../../src/outside/clock.ts";
import { type Service, startService } from "../../src/service.ts";
import { type ReceivedCallback, readCallback } from "../support/callback-form.ts";
import { createLog, type KeptLog } from "../support/log.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { openShopProgramme, type ShopProgramme } from "../support/shop-programme.ts";
import { until } from "../support/until.ts";
import { openShopStreet, type ShopStreet } from "./shop-street.ts";

export interface HostileSite {
	readonly service: Service;
	readonly log: KeptLog;
	readonly street: ShopStreet;
	readonly neighbour: ShopProgramme;
	/** What the neighbour's shop got, in the order of arrival. */
	readonly received: readonly ReceivedCallback[];
	/** Null: its URL is saved later. */
	openProgramme(url: string | null): Promise<ShopProgramme>;
	/** Attempts stored so far, by programme; asked for all at once, because a hundred wait at the same time. */
	countAttempts(): Promise<ReadonlyMap<number, number>>;
	/** Everything received anywhere, as the auditors of requests and books want it. */
	gatherReceived(): readonly ReceivedCallback[];
	stop(): Promise<void>;
}

export const BRAND = "Service";

/** Whatever is opened is closed by `cleaning`, also when opening the next thing fails. */
export async function openHostileSite(cleaning: AsyncDisposableStack): Promise<HostileSite> {
	const street = cleaning.adopt(await openShopStreet(), ({ close }) => close());
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
	const folder = mkdtempSync(join(tmpdir(), "ringback-hostile-"));
	cleaning.defer(() => rmSync(folder, { recursive: true }));
	const log = createLog();
	const service = await startService(configOf(folder, street, shop), { log });
	let stopped: Promise<void> | undefined;
	const stop = () => {
		stopped ??= service.stop();
		return stopped;
	};
	cleaning.defer(stop);
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
		street,
		neighbour,
		received,
		openProgramme,
		async countAttempts() {
			const rows = await service.store.db
				.selectFrom("deliveries")
				.select((eb) => ["programme_id", eb.fn.sum<number>("attempts").as("count")])
				.groupBy("programme_id")
				.execute();
			return new Map(rows.map(({ programme_id, count }) => [programme_id, Number(count)]));
		},
		gatherReceived: () => [
			...received,
			...street.requests.map((request) => {
				const read = readCallback(request);
				const secret = programmes.find(({ programId }) => programId === read.body.programId)?.secret ?? "";
				return { ...read, serviceNowMs: request.arrivedAtMs, secret, answered: request.answered };
			}),
		],
		stop,
	};
}

function configOf(folder: string, street: ShopStreet, shop: Shop): Config {
	const read = readConfig({
		DATABASE_URL: `sqlite:${join(folder, "ringback.db")}`,
		PORT: "0",
		RINGBACK_METRICS_ADDRESS: "off",
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
	});
	if (!read.ok) throw new Error(read.problems.join(" "));
	return { ...read.config, trustedCa: street.trustedCa + shop.caPem };
}

/** Real time passes by itself; whoever wants to be later waits. */
const clock = {
	...realClock,
	moveBy: (ms: number) => wait(ms),
	moveTo: (atMs: number) => wait(Math.max(0, atMs - Date.now())),
	waitingTimers: 0,
};
