// A running service with a shop and a mail server, on a clock that the test moves.

import type { TestContext } from "node:test";
import type { QueuedMail } from "#core/store/queries/mail-queue.ts";
import type { Notice } from "#core/store/queries/notices.ts";
import { findPersonByEmail, type Person } from "#core/store/queries/people.ts";
import type { Store } from "#core/store/store.ts";
import type { Service } from "../../src/service.ts";
import { createClock, type MovableClock, START_MS } from "../support/clock.ts";
import type { KeptLog } from "../support/log.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { prepareService } from "../support/open-service.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { type AccountOptions, openAccount, type ShopAccount } from "../support/shop-account.ts";
import { createShopClient } from "../support/shop-client.ts";
import type { DatabaseKind } from "../support/test-database.ts";
import { type Condition, untilOnClock } from "../support/until.ts";

export interface Setup {
	clock: MovableClock;
	log: KeptLog;
	shop: Shop;
	mail: MailServer;
	/** The running service. Reading it before the start or after the stop is an error. */
	service(): Service;
	/** A store that only the test uses. */
	store: Store;
	start(options?: { withoutMail?: boolean; withoutPublicUrl?: boolean; hasMetrics?: boolean }): Promise<void>;
	stop(): Promise<void>;
	addShop(options?: AccountOptions): Promise<ShopAccount>;
	/** Records the given number of sales, each of which owes the shop one callback. */
	sell(account: ShopAccount, count?: number): Promise<void>;
	notices(account: ShopAccount): Promise<Notice[]>;
	/** Returns the mails that wait to be sent or were given up. */
	unsent(): Promise<QueuedMail[]>;
	person(email: string): Promise<Person>;
	/** Lets the clock run with real time until the condition is true. */
	until(isTrue: Condition): Promise<void>;
	/**
	 * Lets the clock run a hundred times as fast until the condition is true, for work that happens every half
	 * a minute.
	 */
	untilLater(isTrue: Condition): Promise<void>;
}

/** Number of milliseconds that the clock moves for each millisecond of waiting. */
const LATER_TICK_MS = 100;
/**
 * Maximum step of the clock. Tests move it by quarters of an hour, in steps below the half minute after which
 * the engine's lease ends.
 */
const LEAP_MS = 20_000;

/** Opens the setup and starts its service. */
export async function startSetup(
	t: TestContext,
	kind: DatabaseKind,
	options?: Parameters<Setup["start"]>[0],
): Promise<Setup> {
	const clock = createClock(START_MS, { leapMs: LEAP_MS });
	// Everything is closed in reverse order, because a database can be removed only when nobody is connected.
	const opened = new AsyncDisposableStack();
	t.after(() => opened.disposeAsync());
	const shop = opened.adopt(await startShop({ answer: () => ({ status: 404 }) }), (open) => open.close());
	const mail = opened.adopt(await startMailServer(clock.nowMs), (open) => open.goAway());
	const prepared = await prepareService({ database: kind, clock, trustedCa: shop.caPem });
	opened.defer(prepared.close);
	const store = prepared.database.open();
	let orders = 0;

	const setup: Setup = {
		clock,
		log: prepared.log,
		shop,
		mail,
		store,
		service: () => prepared.service,
		async start({ withoutMail = false, withoutPublicUrl = false, hasMetrics = false } = {}) {
			await prepared.start({
				...(withoutPublicUrl ? {} : { PUBLIC_URL: "https://ringback.example" }),
				...(hasMetrics ? { RINGBACK_METRICS_ADDRESS: "127.0.0.1:0" } : {}),
				...(withoutMail ? {} : { SMTP_URL: mail.url, MAIL_FROM: "Ringback <rb@network.example>" }),
			});
		},
		stop: prepared.stop,
		async addShop(options) {
			const account = await openAccount(setup.service(), {
				postbackUrl: shop.url(),
				owners: ["owner@shop.example"],
				...options,
			});
			// The programme counts as opened long ago, so its owners are not mailed about its key and URL.
			await store.db.deleteFrom("changes_to_tell").execute();
			return account;
		},
		async sell({ apiKey, secret }, count = 1) {
			const client = createShopClient(setup.service().url, apiKey, secret, clock.nowMs);
			for (let sold = 0; sold < count; sold++) {
				const sale = { orderId: String(++orders), basketValue: "10.00", currency: "EUR" };
				await client.post("/v1/conversions", sale);
			}
		},
		notices: ({ programme }) =>
			store.db
				.selectFrom("notices")
				.selectAll()
				.where("receiver_id", "=", programme.receiver_id)
				.orderBy("id")
				.execute(),
		unsent: () =>
			store.db.selectFrom("mail_queue").selectAll().where("sent_at_ms", "is", null).orderBy("id").execute(),
		async person(email) {
			const found = await findPersonByEmail(store.db, email);
			if (found === undefined) throw new Error(`nobody has ${email}`);
			return found;
		},
		until: (isTrue) => untilOnClock(clock, `${isTrue}`, isTrue),
		untilLater: (isTrue) => untilOnClock(clock, `${isTrue}`, isTrue, LATER_TICK_MS),
	};
	await setup.start(options);
	return setup;
}
