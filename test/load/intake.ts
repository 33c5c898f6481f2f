// Shops that report sales as fast as the service accepts them. Each of several senders sends its next report as soon as the
// last one is answered. Every answer must be that of a new sale.

import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";

export interface AnsweredShop {
	/** Public id of the conversion, by order. */
	conversions: Map<string, string>;
	/** Events that must reach the shop, such as `cnv_… conversion.recorded`. */
	events: Set<string>;
}

export type Intake = ReturnType<typeof startIntake>;

/** Number of senders, enough to keep a service of one process busy all the time. */
const SENDERS = 16;
/** Share of sales that are also approved, so that their shops get a second event. */
const APPROVED_SHARE = 0.1;
const MAX_TRIES = 5;
const PAUSE_MS = 500;
/** Time after which a call without an answer counts as failed. */
const ANSWER_TIMEOUT_MS = 30_000;

export function startIntake(
	serviceUrl: string,
	shops: readonly Pick<ShopAccount, "apiKey" | "secret">[],
	seed: number,
) {
	const random = createSeededRandom(seed);
	const accounts = shops.map(({ apiKey: key, secret }) => ({
		key,
		secret,
		conversions: new Map<string, string>(),
		events: new Set<string>(),
	}));
	const latenciesMs: number[] = [];
	const timeouts = { headersTimeout: ANSWER_TIMEOUT_MS, bodyTimeout: ANSWER_TIMEOUT_MS };
	const pool = new Pool(serviceUrl, { connections: SENDERS, ...timeouts });
	const state = { orders: 0, busy: 0, isStopping: false };

	async function call(
		account: (typeof accounts)[number],
		path: string,
		report: object,
		tries = 1,
	): Promise<string> {
		const body = JSON.stringify(report);
		const { headers } = signedRequest("POST", path, account, { body, nowMs: Date.now() });
		const startedMs = performance.now();
		const response = await pool.request({ path, method: "POST", headers: Object.fromEntries(headers), body });
		const text = await response.body.text();
		latenciesMs.push(performance.now() - startedMs);
		// On a machine that stalls for seconds, a call may be refused with 503. It is then sent again, as shops
		// do.
		if (response.statusCode === 503 && tries < MAX_TRIES) {
			state.busy++;
			await wait(PAUSE_MS);
			return call(account, path, report, tries + 1);
		}
		const wanted = path === "/v1/conversions" ? '201 {"outcome":"RECORDED"' : '200 {"outcome":"APPROVED"';
		const [, id] = /"id":"(cnv_\w+)"/.exec(text) ?? [];
		if (id === undefined || !`${response.statusCode} ${text}`.startsWith(wanted)) {
			throw new Error(`${path} answered ${response.statusCode} to ${body}: ${text}`);
		}
		return id;
	}

	async function send(): Promise<void> {
		while (!state.isStopping) {
			const account = random.pick(accounts);
			const orderId = `order-${state.orders++}`;
			const basketValue = `${random.between(0, 9_999)}.${random.between(10, 99)}`;
			const id = await call(account, "/v1/conversions", { orderId, basketValue });
			account.conversions.set(orderId, id);
			account.events.add(`${id} conversion.recorded`);
			if (!random.chance(APPROVED_SHARE)) continue;
			await call(account, "/v1/approvals", { orderId });
			account.events.add(`${id} conversion.approved`);
		}
	}

	/** Rejects with the first wrong answer. It resolves only after `stop` was called. */
	const done = Promise.all(Array.from({ length: SENDERS }, send)).then(() => pool.close());
	// The caller handles a failure later. Until then the rejection must not end the process.
	done.catch(() => pool.destroy());
	return {
		/** Answers by shop, in the order of the shops. */
		answered: accounts as readonly AnsweredShop[],
		/** Duration of each call. */
		latenciesMs,
		/** Number of calls that were answered with 503. */
		get busy() {
			return state.busy;
		},
		done,
		/** Sends no more reports. Resolves when all senders have their answers. */
		async stop(): Promise<void> {
			state.isStopping = true;
			await done;
		},
	};
}
