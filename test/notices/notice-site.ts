// A running service with a shop and a mail server around it, on a clock that the test moves.

import type { TestContext } from "node:test";
import { readConfig } from "../../src/config.ts";
import { type Service, startService } from "../../src/service.ts";
import type { Notice } from "../../src/store/notices.ts";
import type { Store } from "../../src/store/store.ts";
import { type AccountOptions, openAccount, type ShopAccount } from "../command/shop-account.ts";
import { createClock, type MovableClock } from "../support/clock.ts";
import { createTestDatabase, type TestDatabase } from "../support/databases.ts";
import { createLog, type KeptLog } from "../support/log.ts";
import type { DatabaseKind } from "../support/open-store.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { createShopClient } from "../support/shop-client.ts";
import { type Condition, untilOnClock } from "../support/until.ts";
import { type MailServer, startMailServer } from "./mail-server.ts";

export interface Site {
	clock: MovableClock;
	log: KeptLog;
	shop: Shop;
	mail: MailServer;
	/** Of a service that is started; before that, and after it stopped, there is none. */
	service(): Service;
	/** A store of the test's own, migrated. */
	store: Store;
	start(options?: { withoutMail?: boolean; withoutPublicUrl?: boolean }): Promise<void>;
	stop(): Promise<void>;
	addShop(options?: AccountOptions): Promise<ShopAccount>;
	/** So many sales; each owes the shop one callback. */
	sell(account: ShopAccount, count?: number): Promise<void>;
	notices(account: ShopAccount): Promise<Notice[]>;
	/** Lets the clock run along with real time until it is true. */
	until(isTrue: Condition): Promise<void>;
	/** The same a hundred times as fast: for what happens every half a minute. */
	untilLater(isTrue: Condition): Promise<void>;
}

/** Of the clock, for each millisecond of waiting. */
const LATER_TICK_MS = 100;
const SECRET_KEY = "ab".repeat(32);

export async function openSite(t: TestContext, kind: DatabaseKind): Promise<Site> {
	const clock = createClock();
	const log = createLog();
	// Undone from the last to the first: a database goes only when nobody is connected any more.
	const opened = new AsyncDisposableStack();
	t.after(() => opened.disposeAsync());
	const shop = opened.adopt(await startShop({ answer: () => ({ status: 404 }) }), (open) => open.close());
	const mail = opened.adopt(await startMailServer(clock.nowMs), (open) => open.goAway());
	const database = opened.adopt(await createTestDatabase(kind), (open) => open.remove());
	const store = database.open();
	await store.migrate(clock.nowMs());
	let service: Service | null = null;
	let orders = 0;

	const site: Site = {
		clock,
		log,
		shop,
		mail,
		store,
		service() {
			if (service === null) throw new Error("the service is not started");
			return service;
		},
		async start({ withoutMail = false, withoutPublicUrl = false } = {}) {
			const url = withoutMail ? null : mail.url;
			const config = configFor(database, shop, url);
			service = await startService(withoutPublicUrl ? { ...config, publicUrl: null } : config, {
				clock,
				log,
			});
		},
		async stop() {
			const stopping = service;
			service = null;
			await stopping?.stop();
		},
		async addShop(options) {
			const account = await openAccount(site.service(), { postbackUrl: shop.url(), ...options });
			// As if it had been opened long ago: its owners know of its key and URL.
			await store.db.deleteFrom("changes_to_tell").execute();
			return account;
		},
		async sell({ apiKey, secret }, count = 1) {
			const client = createShopClient(site.service().url, apiKey, secret, clock.nowMs);
			for (let sold = 0; sold < count; sold++) {
				const sale = { orderId: String(++orders), basketValue: "10.00", currency: "EUR" };
				await client.post("/v1/conversions", sale);
			}
		},
		notices: ({ programmeRow }) =>
			store.db
				.selectFrom("notices")
				.selectAll()
				.where("programme_id", "=", programmeRow)
				.orderBy("id")
				.execute(),
		until: (isTrue) => untilOnClock(clock, `${isTrue}`, isTrue),
		untilLater: (isTrue) => untilOnClock(clock, `${isTrue}`, isTrue, LATER_TICK_MS),
	};
	opened.defer(() => site.stop());
	return site;
}

function configFor(database: TestDatabase, shop: Shop, smtpUrl: string | null) {
	const read = readConfig({
		PORT: "0",
		RINGBACK_METRICS_ADDRESS: "off",
		PUBLIC_URL: "https://ringback.example",
		DATABASE_URL: database.kind === "SQLite" ? `sqlite:${database.location}` : database.location,
		RINGBACK_SECRET_KEY: SECRET_KEY,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		...(smtpUrl === null ? {} : { SMTP_URL: smtpUrl, MAIL_FROM: "Ringback <rb@network.example>" }),
	});
	if (!read.ok) throw new Error(read.problems.join("\n"));
	return { ...read.config, trustedCa: shop.caPem };
}
